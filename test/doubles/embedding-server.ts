/**
 * An embedding service with OpenAI's `/v1/embeddings` and Ollama's `/api/embed`, and their rules: keys, known models, no
 * empty texts, at most 2,048 texts. Its vectors are deterministic: words of one line of `synonyms` count as the same
 * word, and texts with the same words point the same way. That is no model of language, and no measure of one.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { conceptVector } from "./concept-vectors.ts";

/** For the next request: an answer, none at all, or vectors that break a rule. */
export type EmbeddingFault =
  | { type: "answer"; status: number; headers?: Record<string, string>; body?: string }
  | { type: "silence" }
  | { type: "vectors"; change(vectors: number[][]): unknown };

export interface EmbeddingServer {
  /** For Ollama; with `/v1` for OpenAI. */
  url: string;
  requests: { path: string; authorization: string | undefined; model: string; input: string[] }[];
  /** Every text that was embedded, in order. */
  texts(): string[];
  failNext(...faults: EmbeddingFault[]): void;
  /** Faults all requests for which it returns one. */
  failWhen(rule: ((input: string[]) => EmbeddingFault | undefined) | undefined): void;
  close(): Promise<void>;
}

export const embeddingKey = "sk-embedding-key-of-the-test";
export const embeddingModel = "concept-embed";
const maxInputs = 2_048;
const defaultDimensions = 256;

const body = z.object({
  model: z.string(),
  input: z.union([z.string().transform((one) => [one]), z.array(z.string()).max(maxInputs)]),
  dimensions: z.number().int().min(1).optional(),
  encoding_format: z.enum(["float", "base64"]).optional(),
});

export async function startEmbeddingServer(): Promise<EmbeddingServer> {
  const requests: EmbeddingServer["requests"] = [];
  const faults: EmbeddingFault[] = [];
  let rule: ((input: string[]) => EmbeddingFault | undefined) | undefined;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isOpenAi = request.url === "/v1/embeddings";
    const send = (status: number, value: unknown, headers = {}) =>
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(typeof value === "string" ? value : JSON.stringify(value));
    const fail = (status: number, message: string, code = "") =>
      send(status, isOpenAi ? { error: { message, type: "invalid_request_error", code } } : { error: message });
    if (request.method !== "POST" || (!isOpenAi && request.url !== "/api/embed")) return void fail(404, "not found");
    const parsed = body.safeParse(JSON.parse((await text(request)) || "{}"));
    if (!parsed.success) return void fail(400, z.prettifyError(parsed.error));
    const { model, input, dimensions = defaultDimensions, encoding_format: format = "float" } = parsed.data;
    const { authorization } = request.headers;
    requests.push({ path: request.url ?? "", authorization, model, input });
    const fault = faults.shift() ?? rule?.(input);
    if (fault?.type === "silence") return;
    if (fault?.type === "answer") return void send(fault.status, fault.body ?? "{}", fault.headers);
    if (isOpenAi && authorization !== `Bearer ${embeddingKey}`)
      return void fail(401, "Incorrect API key provided", "invalid_api_key");
    if (!model.startsWith(embeddingModel))
      return void fail(404, `model "${model}" not found, try pulling it first`, "model_not_found");
    if (isOpenAi && input.some((one) => one === "")) return void fail(400, "'input' cannot be an empty string");
    const made = input.map((one) => conceptVector(one, dimensions));
    const vectors = fault?.type === "vectors" ? fault.change(made) : made;
    if (!isOpenAi) return void send(200, { model, embeddings: vectors });
    const encoded = (vector: number[]) =>
      format === "float" ? vector : Buffer.from(Float32Array.from(vector).buffer).toString("base64");
    const data = Array.isArray(vectors)
      ? vectors.map((vector, index) => ({ object: "embedding", index, embedding: encoded(vector) }))
      : vectors;
    send(200, { object: "list", data, model, usage: { prompt_tokens: 1, total_tokens: 1 } });
  }

  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    texts: () => requests.flatMap(({ input }) => input),
    failNext: (...next) => void faults.push(...next),
    failWhen(next) {
      rule = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
