/** Answers one request about a document. Runs in an isolated process; see document-process.ts. */
import { formatBytes } from "../../lib/text/format-bytes.ts";
import type { FileLook } from "../../ports/file-inspector.ts";
import type { DocumentAnswer, DocumentFile, DocumentRequest } from "./documents.ts";
import { inspectText } from "./text.ts";

export async function answerDocument(request: DocumentRequest): Promise<DocumentAnswer> {
  switch (request.type) {
    case "inspect":
      return { type: "look", look: await inspect(request.file) };
    case "pages":
      return { type: "problem", message: "This type of file has no text that can be read by pages." };
    default:
      return request satisfies never;
  }
}

async function inspect(file: DocumentFile): Promise<FileLook> {
  const { content, size } = file;
  switch (content.kind) {
    case "text":
      return await inspectText(file, content.encoding);
    case "other":
      return { mimeType: content.mimeType, summary: `${content.name}, ${formatBytes(size)}` };
    default:
      return { mimeType: "application/octet-stream", summary: formatBytes(size) };
  }
}
