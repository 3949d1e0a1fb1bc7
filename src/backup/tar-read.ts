/**
 * Reads a tar archive from a stream, entry by entry. Knows only what tar-write.ts writes. Everything else is refused:
 * hard links, other devices, names that leave the archive, damaged headers, and an archive that ends too early.
 */
import { blockBytes } from "./tar-write.ts";

export type ReadEntry = { name: string; mode: number; mtimeMs: number } & (
  | { type: "folder" }
  | { type: "file"; size: number; content: AsyncIterable<Buffer> }
  | { type: "link"; target: string }
  | { type: "whiteout" }
);

export class DamagedArchive extends Error {}

const maxLongFieldBytes = 64 * 1024;

/** Each entry's content must be read to its end before the next entry is requested. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry> {
  const bytes = createByteReader(source);
  let long: Record<string, string> = {};
  for (;;) {
    const block = await bytes.exactly(blockBytes);
    if (block.every((byte) => byte === 0)) return;
    const fields = readHeader(block);
    if (fields.flag === "x") {
      if (fields.size > maxLongFieldBytes) throw new DamagedArchive("an entry's name is too long");
      long = readLongFields(await bytes.exactly(fields.size));
      await bytes.exactly(paddingOf(fields.size));
      continue;
    }
    const name = checkedName(long.path ?? fields.name);
    const size = long.size === undefined ? fields.size : Number(long.size);
    if (!Number.isSafeInteger(size) || size < 0) throw new DamagedArchive(`${name} has no valid size`);
    const common = { name, mode: fields.mode & 0o777, mtimeMs: fields.mtimeMs };
    const target = long.linkpath ?? fields.target;
    long = {};
    if (fields.flag === "5") yield { ...common, type: "folder" };
    else if (fields.flag === "2") yield { ...common, type: "link", target };
    else if (fields.flag === "3" && fields.device === 0) yield { ...common, type: "whiteout" };
    else if (fields.flag === "0" || fields.flag === "\0") {
      yield { ...common, type: "file", size, content: bytes.stream(size) };
      await bytes.exactly(paddingOf(size));
    } else throw new DamagedArchive(`${name} is an entry that no backup has (type ${JSON.stringify(fields.flag)})`);
  }
}

function readHeader(block: Buffer) {
  const text = (at: number, width: number) => block.toString("utf8", at, at + width).split("\0", 1)[0] ?? "";
  const octal = (at: number, width: number) => {
    const digits = text(at, width).trim();
    if (!/^[0-7]*$/.test(digits)) throw new DamagedArchive("a header is damaged");
    return Number.parseInt(digits || "0", 8);
  };
  const sum = block.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 32 : byte), 0);
  if (octal(148, 8) !== sum || text(257, 5) !== "ustar") throw new DamagedArchive("a header is damaged");
  return {
    name: text(0, 100),
    mode: octal(100, 8),
    size: octal(124, 12),
    mtimeMs: octal(136, 12) * 1000,
    flag: String.fromCharCode(block[156] ?? 0),
    target: text(157, 100),
    device: octal(329, 8) + octal(337, 8),
  };
}

function readLongFields(bytes: Buffer): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number(bytes.toString("latin1", at, space));
    const [, key, value] = /^([a-z]+)=(.*)\n$/s.exec(bytes.toString("utf8", space + 1, at + length)) ?? [];
    if (space === -1 || !Number.isSafeInteger(length) || length <= 0 || key === undefined || value === undefined)
      throw new DamagedArchive("an entry's name is damaged");
    fields[key] = value;
    at += length;
  }
  return fields;
}

/** Refuses names that a file system could read as a place outside the archive. */
function checkedName(name: string): string {
  const parts = name.replace(/\/$/, "").split("/");
  if (name.includes("\0") || parts.some((part) => part === "" || part === "." || part === ".."))
    throw new DamagedArchive(`${JSON.stringify(name)} is not a name that a backup has`);
  return parts.join("/");
}

function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

function createByteReader(source: AsyncIterable<Uint8Array>) {
  const iterator = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);

  async function more(): Promise<void> {
    const { done, value } = await iterator.next();
    if (done === true) throw new DamagedArchive("it ends too early");
    const chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
  }

  return {
    async exactly(count: number): Promise<Buffer> {
      while (rest.length < count) await more();
      const taken = rest.subarray(0, count);
      rest = rest.subarray(count);
      return taken;
    },
    async *stream(size: number): AsyncGenerator<Buffer> {
      for (let left = size; left > 0; ) {
        if (rest.length === 0) await more();
        const taken = rest.subarray(0, left);
        rest = rest.subarray(taken.length);
        left -= taken.length;
        yield taken;
      }
    },
  };
}
