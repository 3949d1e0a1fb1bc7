/** Reads a request's body: JSON, or a form with `payload_json` and `files[n]`. */
import type { IncomingMessage } from "node:http";
import { refusal, wrongField } from "./api-error.ts";
import { fileLimits, type UploadedFile } from "./message-form.ts";

export interface Body {
  json: unknown;
  files: UploadedFile[];
}

/** Room for the parts' headers beside the files. */
const slack = 1024 * 1024;

export async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function parseBody(bytes: Buffer, contentType: string): Promise<Body> {
  if (bytes.length === 0) return { json: {}, files: [] };
  if (bytes.length > fileLimits.request + slack) throw refusal("entityTooLarge");
  if (contentType.startsWith("multipart/form-data")) return await parseForm(bytes, contentType);
  if (!contentType.startsWith("application/json")) {
    throw wrongField(
      ["_content_type"],
      "CONTENT_TYPE_INVALID",
      `Expected "Content-Type" header to be one of {'application/json'}.`,
    );
  }
  return { json: parseJson(bytes.toString()), files: [] };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refusal("invalidJson");
  }
}

async function parseForm(bytes: Buffer, contentType: string): Promise<Body> {
  const form = await new Response(new Uint8Array(bytes), { headers: { "content-type": contentType } }).formData();
  const files: UploadedFile[] = [];
  const rest: Record<string, unknown> = {};
  let json: unknown;
  for (const [name, value] of form) {
    const index = /^files\[(\d+)\]$/.exec(name)?.[1];
    if (typeof value !== "string") {
      files.push({
        index: index ?? String(files.length),
        filename: value.name,
        bytes: Buffer.from(await value.arrayBuffer()),
        ...(value.type === "" ? {} : { contentType: value.type }),
      });
    } else if (name === "payload_json") json = parseJson(value);
    else rest[name] = value;
  }
  return { json: json ?? rest, files };
}
