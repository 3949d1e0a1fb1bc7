/** Lists a zip archive and unpacks named parts. Checks a part's stated size first, and enforces it while unpacking. */
import { unzipSync } from "fflate";
import { formatNumber } from "../../lib/text/format-number.ts";
import { maxPartBytes, maxUnpackedBytes, maxZipEntries, maxZipRatio, minCheckedPartBytes } from "./limits.ts";
import { DocumentProblem } from "./problem.ts";

export interface ZipEntry {
  name: string;
  /** As the archive says. */
  bytes: number;
  packedBytes: number;
}

export interface ZipArchive {
  entries: ReadonlyMap<string, ZipEntry>;
  /** The part as text in UTF-8 or UTF-16; undefined if no part has this name. */
  text(name: string): string | undefined;
}

/** Throws a `DocumentProblem` if the archive is damaged or has too many entries. */
export function openZip(bytes: Uint8Array): ZipArchive {
  const entries = new Map<string, ZipEntry>();
  let count = 0;
  unpack(bytes, ({ name, size, originalSize }) => {
    count += 1;
    if (count > maxZipEntries) {
      throw new DocumentProblem(`The archive has more than ${formatNumber(maxZipEntries)} entries.`);
    }
    entries.set(name, { name, bytes: originalSize, packedBytes: size });
    return false;
  });
  let unpacked = 0;

  function text(name: string): string | undefined {
    const entry = entries.get(name);
    if (entry === undefined) return undefined;
    unpacked += entry.bytes;
    check(entry, unpacked);
    // fflate unpacks no more than the size that the archive states, which was checked above.
    const parts = unpack(bytes, (candidate) => candidate.name === name && candidate.originalSize === entry.bytes);
    const part = parts[name];
    if (part === undefined) throw new DocumentProblem(damaged);
    const [first, second] = part;
    const encoding = first === 0xff && second === 0xfe ? "utf-16le" : "utf-8";
    return new TextDecoder(encoding).decode(part);
  }

  return { entries, text };
}

const damaged = "The file is damaged or incomplete. Send it again.";

function check({ bytes, packedBytes }: ZipEntry, unpackedBytes: number): void {
  const isBomb = bytes > minCheckedPartBytes && bytes > packedBytes * maxZipRatio;
  if (isBomb) throw new DocumentProblem("The file unpacks to far more than its size (a zip bomb), so it was not read.");
  if (bytes > maxPartBytes || unpackedBytes > maxUnpackedBytes) {
    throw new DocumentProblem("The text of the file is too large to unpack. Send a smaller file, or a part of it.");
  }
}

type Filter = NonNullable<NonNullable<Parameters<typeof unzipSync>[1]>["filter"]>;

function unpack(bytes: Uint8Array, filter: Filter): Record<string, Uint8Array> {
  try {
    return unzipSync(bytes, { filter });
  } catch (thrown) {
    if (thrown instanceof DocumentProblem) throw thrown;
    throw new DocumentProblem(damaged);
  }
}
