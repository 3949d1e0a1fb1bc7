/** A model server in front of another one: while `isBroken`, it refuses each request for good. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createModelServer } from "../../bench/model-server.ts";
import { requestListener } from "./request-listener.ts";

export interface FailingModel {
  url: string;
  isBroken: boolean;
  close(): Promise<void>;
}

export async function createFailingModel(words: number): Promise<FailingModel> {
  const working = await createModelServer({ words, wordMs: 0 });
  const model: FailingModel = { url: "", isBroken: true, close: async () => {} };
  const server = createServer(
    requestListener(async (request, response) => {
      const body = await text(request);
      if (model.isBroken) {
        response.writeHead(400, { "content-type": "application/json" });
        response.end(JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: "broken" } }));
        return;
      }
      const { "anthropic-version": version = "", authorization = "" } = request.headers;
      const headers = { "anthropic-version": String(version), authorization };
      const answer = await fetch(working.url + (request.url ?? ""), { method: "POST", headers, body });
      response.writeHead(answer.status, { "content-type": "text/event-stream" });
      response.end(await answer.text());
    }),
  );
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  model.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  model.close = async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    await working.close();
  };
  return model;
}
