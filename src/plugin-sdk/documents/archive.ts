/** Summarises an archive as a list of its entries, without unpacking it. */
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { formatNumber } from "../../lib/text/format-number.ts";
import { oneLine } from "../../lib/text/sanitize.ts";
import type { FileLook } from "../../ports/file-inspector.ts";
import type { ZipArchive } from "./zip.ts";

const maxListedEntries = 50;
const maxNameCharacters = 120;

export function archiveLook({ entries }: ZipArchive, size: number): FileLook {
  const files = [...entries.values()].filter(({ name }) => !name.endsWith("/"));
  const unpacked = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const lines = files
    .slice(0, maxListedEntries)
    .map(({ name, bytes }) => `${oneLine(name, maxNameCharacters)}  ${formatBytes(bytes)}`);
  const more = files.length - lines.length;
  const count = `${formatNumber(files.length)} ${files.length === 1 ? "file" : "files"}`;
  const head = `zip archive, ${count}, ${formatBytes(size)}, unpacked ${formatBytes(unpacked)} by its own account`;
  const rest = more > 0 ? [`(and ${formatNumber(more)} more)`] : [];
  return { mimeType: "application/zip", summary: [head, ...lines, ...rest].join("\n") };
}
