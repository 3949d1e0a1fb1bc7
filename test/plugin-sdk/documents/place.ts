/** Writes test files to a folder, and looks at them as Remora does. */
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { answerDocument } from "../../../src/plugin-sdk/documents/answer.ts";
import { contentOf, headBytes } from "../../../src/plugin-sdk/documents/content-type.ts";
import type { DocumentText, PageRange } from "../../../src/plugin-sdk/documents/documents.ts";
import { createFileInspector } from "../../../src/plugin-sdk/documents/file-inspector.ts";
import { readPages } from "../../../src/plugin-sdk/documents/read-document.ts";
import type { FileLook } from "../../../src/ports/file-inspector.ts";

export interface DocumentsPlace {
  folder: string;
  /** In isolated processes. */
  inspect(name: string, bytes: Uint8Array | string, signal?: AbortSignal): Promise<FileLook>;
  pages(name: string, bytes: Uint8Array, range?: Partial<PageRange>): Promise<DocumentText>;
  /** In this process, for tests of many files. Throws where an isolated process would end. */
  inspectHere(name: string, bytes: Uint8Array | string): Promise<FileLook>;
  remove(): Promise<void>;
}

export async function makeDocumentsPlace(): Promise<DocumentsPlace> {
  const folder = await mkdtemp(join(tmpdir(), "remora-documents-"));
  const inspector = createFileInspector();
  let count = 0;
  const write = async (bytes: Uint8Array | string) => {
    count += 1;
    const path = join(folder, String(count));
    await writeFile(path, bytes);
    return path;
  };
  const never = new AbortController().signal;
  return {
    folder,
    async inspect(name, bytes, signal = never) {
      return await inspector.inspect({ path: await write(bytes), name }, signal);
    },
    async pages(name, bytes, range = {}) {
      await using handle = await open(await write(bytes));
      const whole = { firstPage: 1, lastPage: 1_000, firstLine: 1, lines: 2_000 };
      return await readPages({ descriptor: handle.fd, name }, { ...whole, ...range }, never);
    },
    async inspectHere(name, given) {
      const bytes = Buffer.from(given);
      await using handle = await open(await write(bytes));
      const content = contentOf(bytes.subarray(0, headBytes));
      const file = { descriptor: handle.fd, size: bytes.length, content, ending: extname(name) };
      const answer = await answerDocument({ type: "inspect", file });
      if (answer.type === "look") return answer.look;
      const problem = answer.type === "problem" ? answer.message : "pages instead of a look";
      return { mimeType: "application/octet-stream", summary: "", problem };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
