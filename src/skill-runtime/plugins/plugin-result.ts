/** Turns a plugin's return value into an attempt. Accepts any value, because plugins are foreign code. */
import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { inspect } from "node:util";
import { messageOf } from "../../lib/errors.ts";
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { atPlace, explainFileProblem, fileProblem, openForReading } from "../../lib/working-folder.ts";
import type { ScalePicture, ToolAttempt, ToolFile } from "../../ports/tool.ts";
import { failed } from "./failure.ts";
import { type FilePlaces, placeOf } from "./file-places.ts";
import { readImages } from "./plugin-images.ts";

const maxPreview = 500;
/** No chat service accepts larger files. */
const maxFileBytes = 100 * 1024 * 1024;
const unabridged = { depth: 10, maxArrayLength: 10_000, maxStringLength: 100_000 };

export async function readResult(
  returned: unknown,
  place: string,
  places: FilePlaces,
  scale: ScalePicture,
  signal: AbortSignal,
): Promise<ToolAttempt> {
  if (typeof returned === "string") return succeeded(returned);
  if (returned === undefined || returned === null) return succeeded("");
  if (typeof returned !== "object" || !("success" in returned) || typeof returned.success !== "boolean") {
    const preview = toText(returned).slice(0, maxPreview);
    return failed(
      `${place} returned neither text nor { success, output }. It may or may not have taken effect. It returned: ${preview}`,
    );
  }
  const output = "output" in returned ? toText(returned.output) : "";
  if (!returned.success) {
    const error = "error" in returned ? toText(returned.error) : "";
    const isRetryable = "retryable" in returned && returned.retryable === true;
    const text = [error, output].filter((part) => part !== "").join("\n\n") || `${place} failed without a reason.`;
    return { ...failed(text, isRetryable), isAnswer: !isRetryable };
  }
  const { files, problems } = await readFiles("files" in returned ? returned.files : undefined, places);
  const pictures = await readImages("images" in returned ? returned.images : undefined, places, scale, signal);
  const text = [output, ...problems, ...pictures.problems].filter((part) => part !== "").join("\n\n");
  const { images } = pictures;
  return { ...succeeded(text), files, ...(images.length === 0 ? {} : { images }) };
}

function succeeded(text: string): ToolAttempt {
  return { isOk: true, text: text === "" ? "(done, without output)" : text, files: [], isRetryable: false };
}

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // JSON can't express the value, for example a cycle or a bigint. Show it without running its code.
    return inspect(value, { ...unabridged, customInspect: false, getters: false });
  }
}

/** Copies each file during the call so that people get the file that the tool wrote even if the path changes later. */
async function readFiles(listed: unknown, places: FilePlaces): Promise<{ files: ToolFile[]; problems: string[] }> {
  const files: ToolFile[] = [];
  const problems: string[] = [];
  for (const entry of Array.isArray(listed) ? (listed as unknown[]) : []) {
    const file = asFile(entry);
    if (file === undefined) {
      problems.push("(A file was left out: it has no path.)");
      continue;
    }
    try {
      const path = join(places.outbox, `${files.length + 1}`);
      await copyOut(file, places, path);
      files.push({ ...file, path });
    } catch (thrown) {
      const why = explainFileProblem(thrown, file.path) ?? messageOf(thrown);
      problems.push(`(The file ${file.name} was left out: ${why})`);
    }
  }
  return { files, problems };
}

async function copyOut({ path }: ToolFile, places: FilePlaces, to: string): Promise<void> {
  const { outbox } = places;
  await atPlace(placeOf(path, places), async (place) => {
    await using from = await openForReading(place, "file");
    const { size } = await from.stat();
    if (size > maxFileBytes)
      throw fileProblem(place.shown, `is ${formatBytes(size)}; the limit for sending is ${formatBytes(maxFileBytes)}`);
    await mkdir(outbox, { recursive: true });
    await pipeline(from.createReadStream({ autoClose: false }), createWriteStream(to, { flags: "w", mode: 0o600 }));
  });
}

function asFile(entry: unknown): ToolFile | undefined {
  if (typeof entry !== "object" || entry === null || !("path" in entry) || typeof entry.path !== "string")
    return undefined;
  const name = "name" in entry && typeof entry.name === "string" ? entry.name : entry.path;
  const mimeType =
    "mimeType" in entry && typeof entry.mimeType === "string" ? entry.mimeType : "application/octet-stream";
  return { name: basename(name), path: entry.path, mimeType };
}
