/** Writes entries as a tar archive in the POSIX (pax) format, which `tar` reads. Names and targets are UTF-8. */

export type TarEntry = { name: string; mode: number; mtimeMs: number } & (
  | { type: "folder" }
  /** `content` must have exactly `size` bytes. */
  | { type: "file"; size: number; content: AsyncIterable<Uint8Array> }
  | { type: "link"; target: string }
  /** A whiteout: the device 0:0, with which a draft marks a deleted file. */
  | { type: "whiteout" }
);

export const blockBytes = 512;
/** The octal number of 11 digits that a header has space for. */
const maxHeaderNumber = 8 ** 11 - 1;
const maxHeaderName = 100;
const typeFlags = { file: "0", link: "2", whiteout: "3", folder: "5" } as const;

export async function* writeTar(entries: AsyncIterable<TarEntry>): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    const size = entry.type === "file" ? entry.size : 0;
    const target = entry.type === "link" ? entry.target : "";
    const long = longFields(entry.name, target, size);
    if (long.length > 0) {
      yield header({ name: "pax", mode: 0o600, mtimeMs: entry.mtimeMs, size: long.length, flag: "x", target: "" });
      yield padded(long);
    }
    yield header({ ...entry, size: Math.min(size, maxHeaderNumber), flag: typeFlags[entry.type], target });
    if (entry.type === "file") yield* contentOf(entry);
  }
  yield new Uint8Array(2 * blockBytes);
}

async function* contentOf({ name, size, content }: TarEntry & { type: "file" }): AsyncGenerator<Uint8Array> {
  let written = 0;
  for await (const chunk of content) {
    written += chunk.length;
    yield chunk;
  }
  if (written !== size) throw new Error(`${name} has ${written} bytes instead of ${size}`);
  if (size % blockBytes !== 0) yield new Uint8Array(blockBytes - (size % blockBytes));
}

function longFields(name: string, target: string, size: number): Buffer {
  const isLong = (text: string) => Buffer.byteLength(text) > maxHeaderName || /[^\x20-\x7e]/.test(text);
  return Buffer.concat([
    ...(isLong(name) ? [record("path", name)] : []),
    ...(isLong(target) ? [record("linkpath", target)] : []),
    ...(size > maxHeaderNumber ? [record("size", `${size}`)] : []),
  ]);
}

/** `LENGTH KEY=VALUE\n`, where the length includes its own digits. */
function record(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (length !== rest.length + `${length}`.length) length = rest.length + `${length}`.length;
  return Buffer.concat([Buffer.from(`${length}`), rest]);
}

interface HeaderFields {
  name: string;
  mode: number;
  mtimeMs: number;
  size: number;
  flag: string;
  target: string;
}

function header({ name, mode, mtimeMs, size, flag, target }: HeaderFields): Buffer {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, width: number) =>
    block.write(`${value.toString(8).padStart(width - 1, "0")}\0`, at, "latin1");
  block.write(name, 0, maxHeaderName, "utf8");
  octal(mode & 0o7777, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(Math.min(maxHeaderNumber, Math.max(0, Math.floor(mtimeMs / 1000))), 136, 12);
  block.write(" ".repeat(8), 148, "latin1");
  block.write(flag, 156, "latin1");
  block.write(target, 157, maxHeaderName, "utf8");
  block.write("ustar\x0000", 257, "latin1");
  octal(0, 329, 8);
  octal(0, 337, 8);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((blockBytes - (bytes.length % blockBytes)) % blockBytes)]);
}
