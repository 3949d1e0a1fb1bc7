/** Reads parts of an open file, without moving its position, which other readers may share. */
import { fstatSync, readSync } from "node:fs";
import { type Content, contentOf, headBytes } from "./content-type.ts";

/** Returns fewer bytes at the end of the file. */
export function bytesAt(descriptor: number, position: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const count = readSync(descriptor, buffer, read, length - read, position + read);
    if (count === 0) break;
    read += count;
  }
  return buffer.subarray(0, read);
}

export function sizeOf(descriptor: number): number {
  return fstatSync(descriptor).size;
}

export function detect(descriptor: number): Content {
  return contentOf(bytesAt(descriptor, 0, headBytes));
}
