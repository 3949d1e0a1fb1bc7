/** A model server with Anthropic's protocol that records when each request arrived and when its last word was sent. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { performance } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import { modelCheckText } from "../test/doubles/model-check.ts";
import { refuses } from "../test/doubles/model-rules/refuses.ts";

export interface ModelServer {
  url: string;
  /** `performance.now()` when the newest request was complete, and when the newest answer's last word was written. */
  requestAt(): number;
  lastTokenAt(): number;
  requests(): number;
  close(): Promise<void>;
}

export interface ModelServerOptions {
  /** Words per answer. */
  words: number;
  /** Milliseconds between two words; 0: all in one turn of the event loop. */
  wordMs: number;
  /** Milliseconds before the first word; default 0. */
  thinkMs?: number;
  /** Receives every raw request body. */
  onRequest?(body: string): void;
}

export async function createModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const { words, wordMs, thinkMs = 0, onRequest } = options;
  let [requestAt, lastTokenAt, requests] = [0, 0, 0];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    // A request that only opens the connection.
    if (request.method !== "POST") return response.writeHead(404).end();
    if (refuses(request, body, response)) return;
    if (!body.includes(modelCheckText)) {
      requestAt = performance.now();
      requests++;
      onRequest?.(body);
    }
    if (thinkMs > 0) await new Promise((resolve) => setTimeout(resolve, thinkMs));
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (type: string, fields: object) =>
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = {
      id: "m",
      type: "message",
      role: "assistant",
      model: "any",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    };
    send("message_start", { message });
    send("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
    for (let word = 0; word < words; word++) {
      if (wordMs > 0) await new Promise((resolve) => setTimeout(resolve, wordMs));
      send("content_block_delta", { index: 0, delta: { type: "text_delta", text: `word${word} ` } });
    }
    lastTokenAt = performance.now();
    send("content_block_stop", { index: 0 });
    send("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage });
    send("message_stop", {});
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requestAt: () => requestAt,
    lastTokenAt: () => lastTokenAt,
    requests: () => requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
