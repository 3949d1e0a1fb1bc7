/**
 * Baseline: a bot without memory, gate, queue or ledger. It accepts a message over HTTP, calls the model through the same
 * SDK, and streams the answer as Server-Sent Events, like the page's API.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import Anthropic from "@anthropic-ai/sdk";

const model = new Anthropic({ maxRetries: 0 });
const watchers = new Set<ServerResponse>();

function show(id: string, answer: string, state: "streaming" | "done"): void {
  for (const watcher of watchers)
    watcher.write(`event: message\ndata: ${JSON.stringify({ id, text: answer, state })}\n\n`);
}

async function answer(id: string, said: string): Promise<void> {
  let written = "";
  const stream = model.messages.stream({ model: "any", max_tokens: 1024, messages: [{ role: "user", content: said }] });
  for await (const event of stream) {
    if (event.type !== "content_block_delta" || event.delta.type !== "text_delta") continue;
    written += event.delta.text;
    show(id, written, "streaming");
  }
  show(id, written, "done");
}

const server = createServer(async (request, response) => {
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    watchers.add(response);
    request.once("close", () => watchers.delete(response));
    return;
  }
  const { id, text: said } = JSON.parse(await text(request)) as { id: string; text: string };
  response.writeHead(202).end();
  await answer(id, said);
});

server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
