/** Inspects files, each in its own process: pictures with picture-process.ts, others with document-process.ts. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { extname } from "node:path";
import { codeOf } from "../../lib/errors.ts";
import { formatBytes } from "../../lib/text/format-bytes.ts";
import type { FileInspector, FileLook } from "../../ports/file-inspector.ts";
import { firstDescriptor } from "../isolated-process.ts";
import type { Content } from "./content-type.ts";
import type { DocumentFile } from "./documents.ts";
import { maxFileBytes } from "./limits.ts";
import { detect, sizeOf } from "./open-file.ts";
import { createProcessQueue } from "./process-queue.ts";
import { askDocument } from "./read-document.ts";
import { foreignPictureProblem, scaleAtOnce } from "./scale-picture.ts";

export function createFileInspector(): FileInspector {
  const inQueue = createProcessQueue();
  return {
    inspect: ({ path, name }, signal) => inQueue(() => inspectPath(path, name, signal), signal),
  };
}

async function inspectPath(path: string, name: string, signal: AbortSignal): Promise<FileLook> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    await using handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!(await handle.stat()).isFile()) return unreadable("It is no ordinary file.");
    return await inspectFile({ descriptor: handle.fd, name }, signal);
  } catch (thrown) {
    if (signal.aborted || codeOf(thrown) === undefined) throw thrown;
    return unreadable("The file can't be opened. It may have been deleted.");
  }
}

/** Rejects only when the signal aborts. `name` only helps to distinguish text formats. */
async function inspectFile(
  { descriptor, name }: { descriptor: number; name: string },
  signal: AbortSignal,
): Promise<FileLook> {
  const content = detect(descriptor);
  const size = sizeOf(descriptor);
  if (content.kind === "empty") return { mimeType: "application/x-empty", summary: "The file is empty." };
  const shown = formatBytes(size);
  if (size > maxFileBytes) {
    const problem = `The file has ${shown}. The limit for a look at its content is ${formatBytes(maxFileBytes)}.`;
    return { mimeType: content.mimeType, summary: shown, problem };
  }
  if (content.kind === "foreign-picture") {
    const { mimeType } = content;
    return { mimeType, summary: `${content.name} picture, ${shown}`, problem: foreignPictureProblem(content.name) };
  }
  if (content.kind === "picture") return await pictureLook(descriptor, content, shown, signal);
  const file: DocumentFile = { descriptor: firstDescriptor, size, content, ending: extname(name).toLowerCase() };
  const answer = await askDocument({ type: "inspect", file }, descriptor, signal);
  if (answer.type === "look") return answer.look;
  const problem = answer.type === "problem" ? answer.message : "The file can't be read.";
  return { mimeType: content.mimeType, summary: `${nameOf(content)}, ${shown}`, problem };
}

function nameOf(content: Content): string {
  return "name" in content
    ? content.name
    : { pdf: "PDF", zip: "zip archive", text: "text", empty: "empty file" }[content.kind];
}

async function pictureLook(
  descriptor: number,
  { name, mimeType }: Extract<Content, { kind: "picture" }>,
  size: string,
  signal: AbortSignal,
): Promise<FileLook> {
  const scaled = await scaleAtOnce(descriptor, signal);
  if (scaled.type === "problem") return { mimeType, summary: `${name} picture, ${size}`, problem: scaled.message };
  const { width, height, originalWidth, originalHeight, frames, base64 } = scaled;
  const isSmaller = width !== originalWidth;
  const notes = [
    `${name} picture`,
    `${originalWidth} × ${originalHeight} pixels`,
    size,
    ...(isSmaller ? [`shown at ${width} × ${height}`] : []),
    ...(frames > 1 ? [`the first of ${frames} frames is shown`] : []),
  ];
  return { mimeType, summary: notes.join(", "), image: { mimeType: scaled.mimeType, base64 } };
}

function unreadable(problem: string): FileLook {
  return { mimeType: "application/octet-stream", summary: "unreadable", problem };
}
