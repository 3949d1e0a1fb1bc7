/** `read_file`: returns lines of a text file, pages of a document, or a picture, and says how to continue. */
import type { FileHandle } from "node:fs/promises";
import {
  type Content,
  contentOf,
  headBytes,
  type TextEncodingName,
} from "../../src/plugin-sdk/documents/content-type.ts";
import { type LineRange, readLines } from "../../src/plugin-sdk/documents/text-lines.ts";
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import type { JsonObject, PluginContext, PluginResult } from "../../src/plugin-sdk/plugin.ts";
import { fileProblem, openForReading, type Place } from "../../src/plugin-sdk/working-folder.ts";
import { documentText } from "./document.ts";
import { atReadable } from "./outputs.ts";
import { pictureResult } from "./picture.ts";
import { atSkillFile, skillAround } from "./skill-files.ts";
import { isBinary, textIn } from "./text.ts";

const usualLines = 2_000;
/** Counting the lines of a larger file would take longer than a call may. */
const maxStreamedBytes = 1024 * 1024 * 1024;

export async function readFileText(input: JsonObject, context: PluginContext): Promise<PluginResult> {
  const path = textIn(input.path, "path");
  const range = { firstLine: numberOr(input.offset, 1), lines: numberOr(input.limit, usualLines) };
  const skill = await skillAround(path, context);
  const read = async (place: Place): Promise<PluginResult> => {
    await using handle = await openForReading(place, "file");
    const { shown } = place;
    const head = await headOf(handle);
    const content = contentOf(head);
    if (content.kind === "pdf" || content.kind === "zip") {
      const { pages } = input;
      return await documentText(handle, { ...range, pages, shown }, context.signal);
    }
    if (content.kind === "picture" || content.kind === "foreign-picture") {
      return await pictureResult(handle, { shown, name: content.name, path: skill === undefined ? path : undefined });
    }
    if (input.pages !== undefined) throw fileProblem(shown, "has no pages: use offset and limit to choose lines");
    if (content.kind === "empty") return `(${shown} is empty)`;
    const { size } = await handle.stat();
    const encoding = encodingOf(content, head);
    if (encoding === undefined) throw fileProblem(shown, `is not a text file (${formatBytes(size)} of binary data)`);
    if (size > maxStreamedBytes) {
      throw fileProblem(shown, `is ${formatBytes(size)}, too large: use shell_exec with head, tail, sed -n or grep`);
    }
    return await textLines(handle, { ...range, encoding, shown }, context.signal);
  };
  return await (skill === undefined ? atReadable(path, context, read) : atSkillFile(path, skill, read));
}

async function textLines(
  handle: FileHandle,
  { shown, ...range }: LineRange & { encoding: TextEncodingName; shown: string },
  signal: AbortSignal,
): Promise<string> {
  const { total, last, text } = await readLines(handle, range, signal);
  const first = range.firstLine;
  if (first > total) throw fileProblem(shown, `has ${total} lines, so line ${first} does not exist`);
  if (first === 1 && last === total) return text();
  const more = last < total ? `; continue with offset ${last + 1}` : "";
  return `(${shown}, lines ${first} to ${last} of ${total}${more})\n${text()}`;
}

async function headOf(handle: FileHandle): Promise<Uint8Array> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  return buffer.subarray(0, bytesRead);
}

/** Also accepts text with unusual control characters, unless it contains NUL. */
function encodingOf(content: Content, head: Uint8Array): TextEncodingName | undefined {
  if (content.kind === "text") return content.encoding;
  return isBinary(head) ? undefined : "utf-8";
}

function numberOr(value: unknown, usual: number): number {
  return typeof value === "number" && value >= 1 ? Math.floor(value) : usual;
}
