/**
 * `PUT /local/api/uploads/:id?person=…&name=…`: stores the body as a file that this person can attach to a later
 * message. The content type becomes the file's type. The body is stored piece by piece and limited by
 * `files.maxMegabytes`.
 */
import type { Context, Hono } from "hono";
import { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { formatBytes } from "../../lib/text/format-bytes.ts";
import type { Upload } from "./chat-files.ts";
import type { ChatStore } from "./chat-store.ts";
import { identifier } from "./requests.ts";

export interface UploadOptions {
  store: ChatStore;
  maxFileBytes: number;
  log: Log;
}

export const uploadsPath = "/local/api/uploads/";

const uploadSchema = z.object({
  id: identifier,
  person: z.string(),
  name: z.string().min(1).max(200),
  mimeType: z.string().max(100),
});

export function mountUploads(app: Hono, { store, maxFileBytes, log }: UploadOptions): void {
  const running = new Set<string>();

  function refusal(context: Context, status: 400 | 404 | 409 | 413, error: string): Response {
    return context.json({ error }, status);
  }

  app.put(`${uploadsPath}:id`, async (context) => {
    const { person, name } = context.req.query();
    const mimeType = context.req.header("content-type") ?? "application/octet-stream";
    const parsed = uploadSchema.safeParse({ id: context.req.param("id"), person, name, mimeType });
    if (!parsed.success) return refusal(context, 400, `Invalid request: ${z.prettifyError(parsed.error)}`);
    const { id } = parsed.data;
    if (!store.people().some((known) => known.id === person))
      return refusal(context, 404, `There is nobody called "${person}" here. Add the person first.`);
    if (Number(context.req.header("content-length") ?? 0) > maxFileBytes)
      return refusal(context, 413, tooLarge(maxFileBytes));
    const upload = running.has(id) ? undefined : store.files.beginUpload(parsed.data);
    if (upload === undefined)
      return refusal(context, 409, "Another file already has this id. Upload it with a new one.");
    running.add(id);
    try {
      const isComplete = await storeBody(context.req.raw.body, upload, maxFileBytes);
      if (!isComplete) return refusal(context, 413, tooLarge(maxFileBytes));
      return context.json({ file: upload.finish() }, 201);
    } catch (thrown) {
      upload.discard();
      log.warn({ file: id, error: messageOf(thrown) }, "an upload to the local chat broke off");
      return context.json({ error: `The upload broke off. Try again. (${messageOf(thrown)})` }, 503);
    } finally {
      running.delete(id);
    }
  });
}

/** False if the body is too large. */
async function storeBody(body: ReadableStream<Uint8Array> | null, upload: Upload, maxBytes: number): Promise<boolean> {
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) {
      upload.discard();
      return false;
    }
    upload.add(piece);
  }
  return true;
}

function tooLarge(maxBytes: number): string {
  return `Too large: a file can have at most ${formatBytes(maxBytes)} (setting files.maxMegabytes). Send a smaller file, or the part that matters.`;
}
