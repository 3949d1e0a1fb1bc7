/** Reads a request's body: JSON, or a form with `payload_json` and `files[n]`. */
import type { IncomingMessage } from "node:http";
import { ApiError, refusal, wrongField } from "./api-error.ts";
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

/** The body or its error; the router decides which matters. */
export async function parseBody(bytes: Buffer, contentType: string): Promise<Body | ApiError> {
  try {
    return await parse(bytes, contentType);
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
}

async function parse(bytes: Buffer, contentType: string): Promise<Body> {
  if (bytes.length === 0) return { json: {}, files: [] };
  if (bytes.length > fileLimits.request + slack) throw refusal("entityTooLarge");
  if (contentType.startsWith("multipart/form-data")) return await parseForm(bytes, contentType);
  if (!contentType.startsWith("application/json")) {
    const message = `Expected "Content-Type" header to be one of {'application/json'}.`;
    throw wrongField(["_misc"], "CONTENT_TYPE_INVALID", message);
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
  const files: UploadedFile[] = [];
  const rest: Record<string, unknown> = {};
  let json: unknown;
  for (const [name, value] of await formOf(bytes, contentType)) {
    if (typeof value !== "string") files.push(await fileOf(name, value, files.length));
    else if (name === "payload_json") json = parseJson(value);
    else rest[name] = value;
  }
  return { json: json ?? rest, files };
}

async function formOf(bytes: Buffer, contentType: string): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(bytes), { headers: { "content-type": contentType } }).formData();
  } catch {
    throw wrongField(["_misc"], "MULTIPART_INVALID", "The multipart body can't be read.");
  }
}

async function fileOf(name: string, file: File, position: number): Promise<UploadedFile> {
  const contentType = file.type === "" || file.type === "application/octet-stream" ? typeByName(file.name) : file.type;
  return {
    index: /^files\[(\d+)\]$/.exec(name)?.[1] ?? String(position),
    filename: file.name,
    bytes: Buffer.from(await file.arrayBuffer()),
    ...(contentType === undefined ? {} : { contentType }),
  };
}

const types: Record<string, string> = {
  txt: "text/plain; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  json: "application/json; charset=utf-8",
  csv: "text/csv; charset=utf-8",
  ts: "application/typescript; charset=utf-8",
  js: "application/javascript; charset=utf-8",
  html: "text/html; charset=utf-8",
  log: "text/plain; charset=utf-8",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  zip: "application/zip",
};

/** The service's guess if the sender gives none; undefined if unknown. */
export function typeByName(name: string): string | undefined {
  return types[name.split(".").at(-1)?.toLowerCase() ?? ""];
}
