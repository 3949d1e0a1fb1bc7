/**
 * Writes and reads tar archives in the POSIX (pax) format, which `tar` reads. Reading refuses what no backup has: hard
 * links, other devices, names that leave the archive, damaged headers, and an archive that ends too early.
 */
import { createTarDecoder, createTarPacker, type TarHeader } from "modern-tar";
import { codeOf, messageOf } from "../lib/errors.ts";

export type TarEntry = { name: string; mode: number; mtimeMs: number } & (
  | { type: "folder" }
  /** `content` must have exactly `size` bytes. */
  | { type: "file"; size: number; content: AsyncIterable<Uint8Array> }
  | { type: "link"; target: string }
  /** A whiteout: the device 0:0, with which a draft marks a deleted file. */
  | { type: "whiteout" }
);

export class DamagedArchive extends Error {}

const tarTypes = { file: "file", folder: "directory", link: "symlink", whiteout: "character-device" } as const;

export async function* writeTar(entries: AsyncIterable<TarEntry>): AsyncGenerator<Uint8Array> {
  const { readable, controller } = createTarPacker();
  const packed = (async () => {
    for await (const entry of entries) {
      const { name, mode, mtimeMs } = entry;
      const body = controller.add({
        ...{ name, mode, mtime: new Date(mtimeMs), type: tarTypes[entry.type] },
        size: entry.type === "file" ? entry.size : 0,
        ...(entry.type === "link" ? { linkname: entry.target } : {}),
      });
      await ReadableStream.from(entry.type === "file" ? entry.content : []).pipeTo(body);
    }
    controller.finalize();
  })().catch((thrown: unknown) => controller.error(thrown));
  yield* readable;
  await packed;
}

/** Each entry's content must be read to its end before the next entry is requested. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const entries = ReadableStream.from(source).pipeThrough(createTarDecoder({ strict: true }));
  for await (const { header, body } of explained(entries)) yield entryOf(header, explained(body));
}

function entryOf(header: TarHeader, content: AsyncIterable<Uint8Array>): TarEntry {
  const { type, size, linkname = "", mode = 0, mtime } = header;
  const name = checkedName(header.name);
  const common = { name, mode: mode & 0o777, mtimeMs: mtime?.getTime() ?? 0 };
  switch (type) {
    case "file":
      return { ...common, type: "file", size, content };
    case "directory":
      return { ...common, type: "folder" };
    case "symlink":
      return { ...common, type: "link", target: linkname };
    case "character-device":
      return { ...common, type: "whiteout" };
    default:
      throw new DamagedArchive(`${name} is an entry that no backup has (type ${type})`);
  }
}

/** Refuses names that a file system could read as a place outside the archive. */
function checkedName(name: string): string {
  const parts = name.replace(/\/$/, "").split("/");
  if (parts.some((part) => part === "" || part === "." || part === ".."))
    throw new DamagedArchive(`${JSON.stringify(name)} is not a name that a backup has`);
  return parts.join("/");
}

/** The parser's own errors have no code. Others are those of the file and of gunzip. */
async function* explained<T>(stream: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* stream;
  } catch (thrown) {
    if (codeOf(thrown) !== undefined) throw thrown;
    const isCut = /truncated/.test(messageOf(thrown));
    throw new DamagedArchive(isCut ? "it ends too early" : `a header is damaged (${messageOf(thrown)})`);
  }
}
