/** Reads the text of a document by pages, in an isolated process (document-process.ts). */
import { extname } from "node:path";
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { firstDescriptor, runIsolatedProcess } from "../isolated-process.ts";
import type { DocumentAnswer, DocumentRequest, DocumentText, PageRange } from "./documents.ts";
import { documentMegabytes, documentTimeoutMs, maxFileBytes } from "./limits.ts";
import { detect, sizeOf } from "./open-file.ts";
import { inToolQueue } from "./process-queue.ts";

const module = new URL("./document-process.ts", import.meta.url);

/** Resolves to text, or to a sentence that says what is wrong. Rejects only when the signal aborts. */
export async function readPages(
  { descriptor, name }: { descriptor: number; name: string },
  range: PageRange,
  signal: AbortSignal,
): Promise<DocumentText> {
  const size = sizeOf(descriptor);
  if (size > maxFileBytes) {
    return problem(`The file has ${formatBytes(size)}. The limit is ${formatBytes(maxFileBytes)}.`);
  }
  const file = {
    ...{ descriptor: firstDescriptor, size },
    ...{ content: detect(descriptor), ending: extname(name).toLowerCase() },
  };
  const answer = await inToolQueue(() => askDocument({ type: "pages", file, range }, descriptor, signal), signal);
  return answer.type === "look" ? problem("The file has no text that can be read by pages.") : answer;
}

/** For callers with a queue of their own. */
export async function askDocument(
  request: DocumentRequest,
  descriptor: number,
  signal: AbortSignal,
): Promise<DocumentAnswer> {
  const limits = { timeoutMs: documentTimeoutMs, megabytes: documentMegabytes };
  const outcome = await runIsolatedProcess({ module, request, descriptors: [descriptor], ...limits }, signal);
  // This cast is safe, because the process runs only our own code.
  if (outcome.type === "answer") return outcome.answer as DocumentAnswer;
  switch (outcome.why) {
    case "time":
      return problem("The file took too long to read. Send a smaller one, or a part of it.");
    case "memory":
      return problem("The file needs too much memory to read. Send a smaller one, or a part of it.");
    case "error":
      return problem("The file is damaged or has an unusual format, so it can't be read.");
    default:
      return outcome.why satisfies never;
  }
}

function problem(message: string): { type: "problem"; message: string } {
  return { type: "problem", message };
}
