/**
 * An OpenAI-compatible `/v1/audio/transcriptions` on 127.0.0.1, with OpenAI's checks: key, fields, model, type and size of the
 * file. What it hears is what `speech` put into the file.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { requestListener } from "./request-listener.ts";

/** https://platform.openai.com/docs/guides/speech-to-text */
const maxBytes = 25 * 1024 * 1024;
const endings = ["flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"];
const mark = "SPEECH:";

export interface HeardRequest {
  file: { name: string; type: string; size: number };
  model: string;
  language?: string;
  authorization?: string;
}

export interface TranscriptionServer {
  /** With `/v1`. */
  url: string;
  key: string;
  model: string;
  heard: HeardRequest[];
  /** For the next requests, in order: a refusal with this status, an answer with this body, or no answer at all. */
  failNext(...faults: (number | { body: string; status?: number } | "silence")[]): void;
  close(): Promise<void>;
}

/** An Ogg, WebM or WAV file with these words, as far as this server is concerned. */
export function speech(words: string, kind: "ogg" | "webm" | "wav" = "ogg"): Buffer {
  const heads = { ogg: "OggS\0\0\0\0", webm: "\x1a\x45\xdf\xa3\0\0\0\0", wav: "RIFF\0\0\0\0WAVEfmt " };
  return Buffer.concat([Buffer.from(heads[kind], "latin1"), Buffer.from(`${mark}${words}`), Buffer.from([0])]);
}

export async function startTranscriptionServer(): Promise<TranscriptionServer> {
  const heard: HeardRequest[] = [];
  const faults: (number | { body: string; status?: number } | "silence")[] = [];
  const [key, model] = ["whisper-key", "whisper-test"];
  const server = createServer(
    requestListener(async (request, response) => {
      const body = await buffer(request);
      const fault = faults.shift();
      if (fault === "silence") return;
      if (typeof fault === "object")
        response
          .writeHead(fault.status ?? 200, { "content-type": "application/json", "retry-after-ms": "1" })
          .end(fault.body);
      else if (fault !== undefined) refuse(response, fault, "as the test wants it");
      else await answer(request, response, body, { heard, key, model });
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    ...{ key, model, heard },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    failNext: (...next) => faults.push(...next),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const type = status === 429 ? "requests" : status >= 500 ? "server_error" : "invalid_request_error";
  // Without it, the client library would wait seconds between its attempts.
  const headers = { "content-type": "application/json", "retry-after-ms": "1" };
  response.writeHead(status, headers).end(JSON.stringify({ error: { message, type, param: null, code: null } }));
}

async function answer(
  { method, url, headers }: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  { heard, key, model }: Pick<TranscriptionServer, "heard" | "key" | "model">,
): Promise<void> {
  if (method !== "POST" || url !== "/v1/audio/transcriptions") return refuse(response, 404, `Invalid URL (${url})`);
  const { authorization, "content-type": type = "" } = headers;
  if (authorization !== `Bearer ${key}`) return refuse(response, 401, "Incorrect API key provided");
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
  const file = form.get("file");
  const language = form.get("language");
  if (!(file instanceof File) || typeof form.get("model") !== "string") return refuse(response, 400, "file and model");
  heard.push({
    file: { name: file.name, type: file.type, size: file.size },
    model: String(form.get("model")),
    ...(language === null ? {} : { language: String(language) }),
    authorization,
  });
  if (form.get("model") !== model) return refuse(response, 404, `The model ${form.get("model")} does not exist`);
  if (file.size > maxBytes) return refuse(response, 413, `Maximum content size limit (${maxBytes}) exceeded`);
  if (!endings.includes(file.name.split(".").at(-1)?.toLowerCase() ?? ""))
    return refuse(response, 400, `Invalid file format. Supported formats: ${JSON.stringify(endings)}`);
  const [, words] = new RegExp(`${mark}([^\\0]*)`).exec(await file.text()) ?? [];
  if (words === undefined) return refuse(response, 400, "The audio file could not be decoded");
  const usage = { type: "duration", seconds: 42 };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ text: words, usage }));
}
