/** What a plugin returned, as an attempt: total, because plugins are other people's code and return what they like. */
import { realpath, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { inspect } from "node:util";
import type { ToolAttempt, ToolFile } from "../core/tool.ts";
import { failed } from "./failure.ts";
import { isInside } from "./find.ts";

/** Files are shown to people, so that they may only come from where the call may write. */
export interface FilePlaces {
  workingFolder: string;
  dataFolder: string;
}

const maxPreview = 500;
const unabridged = { depth: 10, maxArrayLength: 10_000, maxStringLength: 100_000 };

export async function readResult(returned: unknown, place: string, places: FilePlaces): Promise<ToolAttempt> {
  if (typeof returned === "string") return succeeded(returned);
  if (returned === undefined || returned === null) return succeeded("");
  if (typeof returned !== "object" || !("success" in returned) || typeof returned.success !== "boolean") {
    const preview = toText(returned).slice(0, maxPreview);
    return failed(
      `${place} returned neither text nor { success, output }; whether it did its work is unknown. It returned: ${preview}`,
    );
  }
  const output = "output" in returned ? toText(returned.output) : "";
  if (!returned.success) {
    const error = "error" in returned ? toText(returned.error) : "";
    const isRetryable = "retryable" in returned && returned.retryable === true;
    const text = [error, output].filter((part) => part !== "").join("\n\n") || `${place} failed and did not say why.`;
    return { ...failed(text, isRetryable), isAnswer: !isRetryable };
  }
  const { files, problems } = await readFiles("files" in returned ? returned.files : undefined, places);
  return { ...succeeded([output, ...problems].filter((text) => text !== "").join("\n\n")), files };
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
    // What JSON has no word for, such as a circle or a bigint; shown without running anything of it.
    return inspect(value, { ...unabridged, customInspect: false, getters: false });
  }
}

async function readFiles(listed: unknown, places: FilePlaces): Promise<{ files: ToolFile[]; problems: string[] }> {
  const files: ToolFile[] = [];
  const problems: string[] = [];
  const roots = await Promise.all(
    [places.workingFolder, places.dataFolder].map((root) => realpath(root).catch(() => root)),
  );
  for (const entry of Array.isArray(listed) ? (listed as unknown[]) : []) {
    const file = asFile(entry);
    if (file === undefined) {
      problems.push("(A file was left out: it has no path.)");
      continue;
    }
    const path = await realpath(resolve(places.workingFolder, file.path)).catch(() => undefined);
    const isThere = path !== undefined && roots.some((root) => isInside(path, root)) && (await stat(path)).isFile();
    if (isThere) files.push({ ...file, path });
    else problems.push(`(The file ${file.name} was left out: it is not in the working folder.)`);
  }
  return { files, problems };
}

function asFile(entry: unknown): ToolFile | undefined {
  if (typeof entry !== "object" || entry === null || !("path" in entry) || typeof entry.path !== "string")
    return undefined;
  const name = "name" in entry && typeof entry.name === "string" ? entry.name : entry.path;
  const mimeType =
    "mimeType" in entry && typeof entry.mimeType === "string" ? entry.mimeType : "application/octet-stream";
  return { name: basename(name), path: entry.path, mimeType };
}
