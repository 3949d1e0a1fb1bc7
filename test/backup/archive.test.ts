/** The archive's format: everything that is written is read again, `tar` reads it too, and hostile archives are refused. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { readTar, type TarEntry, writeTar } from "../../src/backup/tar.ts";

const at = { mode: 0o640, mtimeMs: 1_790_000_000_000 };
const file = (name: string, text: string): TarEntry => ({
  ...{ ...at, name, type: "file", size: Buffer.byteLength(text) },
  content: (async function* () {
    yield Buffer.from(text);
  })(),
});

async function written(entries: TarEntry[]): Promise<Buffer> {
  const all = async function* () {
    yield* entries;
  };
  const chunks: Uint8Array[] = [];
  for await (const chunk of writeTar(all())) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Hands the archive over in small pieces, as a network or a slow disk does. */
async function* pieces(bytes: Buffer, size = 100): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

async function read(bytes: Buffer, size?: number) {
  const seen: (Pick<TarEntry, "name" | "type" | "mode" | "mtimeMs"> & { text?: string; target?: string })[] = [];
  for await (const entry of readTar(pieces(bytes, size))) {
    const { name, type, mode, mtimeMs } = entry;
    if (entry.type === "link") seen.push({ name, type, mode, mtimeMs, target: entry.target });
    else if (entry.type === "file") {
      const chunks: Uint8Array[] = [];
      for await (const chunk of entry.content) chunks.push(chunk);
      seen.push({ name, type, mode, mtimeMs, text: Buffer.concat(chunks).toString() });
    } else seen.push({ name, type, mode, mtimeMs });
  }
  return seen;
}

const long = `data/${"folder/".repeat(40)}Grüße, 世界.md`;
const entries = (): TarEntry[] => [
  { ...at, name: "data", type: "folder" },
  file("data/empty", ""),
  file("data/one.txt", "x".repeat(511)),
  file("data/two.txt", "y".repeat(1024)),
  file(long, "long"),
  { ...at, name: "data/link", type: "link", target: `${"a/".repeat(80)}b` },
  { ...at, name: "data/gone", type: "whiteout" },
];

test.each([1, 7, 512, 10_000])("what is written is read again, in pieces of %i bytes", async (size) => {
  const seen = await read(await written(entries()), size);
  expect(seen.map(({ name, type }) => [name, type])).toEqual(entries().map(({ name, type }) => [name, type]));
  expect(seen.map(({ text }) => text?.length)).toEqual([undefined, 0, 511, 1024, 4, undefined, undefined]);
  expect(seen[5]?.target).toBe(`${"a/".repeat(80)}b`);
  for (const { mode, mtimeMs } of seen) expect({ mode, mtimeMs }).toEqual(at);
});

test("tar lists the same names", async () => {
  const listed = execFileSync("tar", ["-t", "--quoting-style=literal"], {
    input: await written(entries()),
    encoding: "utf8",
  });
  expect(
    listed
      .trim()
      .split("\n")
      .map((name) => name.replace(/\/$/, "")),
  ).toEqual(entries().map(({ name }) => name));
});

test.each(["../x", "/etc/passwd", "data/../../x", "data//x", "./data"])("refuses the name %j", async (name) => {
  await expect(read(await written([file(name, "x")]))).rejects.toThrow("not a name");
});

test("a name ends at a zero byte, so none can hide behind it", async () => {
  for (const name of ["data/a\0/../../x", "data/é\0x"]) {
    const [found] = await read(await written([file(name, "x")]));
    expect(found?.name).toBe(name.split("\0", 1)[0]);
  }
});

test("refuses hard links, other devices and fifos", async () => {
  for (const flag of ["1", "4", "6"]) {
    const bytes = await written([file("data/x", "x")]);
    bytes.write(flag, 156, "latin1");
    const sum = bytes
      .subarray(0, 512)
      .reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 32 : byte), 0);
    bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
    await expect(read(bytes)).rejects.toThrow("no backup has");
  }
});

test("refuses an archive that is cut off anywhere, or has a damaged header", async () => {
  const bytes = await written(entries());
  for (let length = 0; length < bytes.length - 1024; length += 333)
    await expect(read(bytes.subarray(0, length), 4096)).rejects.toThrow("too early");
  bytes.write("9", 5, "latin1");
  await expect(read(bytes)).rejects.toThrow("damaged");
});
