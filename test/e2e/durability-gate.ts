/** A proxy that holds requests back until the test releases them. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { requestListener } from "../doubles/request-listener.ts";

export interface Gate {
  url: string;
  /** What has come, oldest first: path and body. */
  requests: string[];
  /**
   * From now on requests that contain the words wait: `before` the other server hears of them, or `after` it has answered,
   * so that what was asked for has happened and nobody knows.
   */
  hold(words: string, where: "before" | "after"): void;
  /** From now on requests that contain the words are refused for good, as a model server refuses an invalid request. */
  refuse(words: string): void;
  /** Number of waiting requests whose client has not given up. */
  held(): number;
  /** Releases all requests, and holds and refuses no more. */
  open(): void;
  close(): Promise<void>;
}

export async function startGate(target: string): Promise<Gate> {
  const requests: string[] = [];
  let refused: string[] = [];
  let holds: { words: string; where: "before" | "after" }[] = [];
  const waiting = new Set<() => void>();
  const server = createServer(
    requestListener(async (incoming, response) => {
      const body = await text(incoming);
      const request = `${incoming.url} ${body}`;
      requests.push(request);
      const isHeld = (where: string) => holds.some((hold) => hold.where === where && request.includes(hold.words));
      const wait = () =>
        new Promise<void>((resolve) => {
          waiting.add(resolve);
          response.once("close", () => waiting.delete(resolve));
        });
      if (isHeld("before")) await wait();
      if (response.destroyed) return;
      if (refused.some((words) => request.includes(words))) {
        response.writeHead(400, { "content-type": "application/json" });
        response.end(JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: "broken" } }));
        return;
      }
      const answer = await fetch(target + incoming.url, {
        method: incoming.method ?? "GET",
        ...(body === "" ? {} : { body, headers: { "content-type": "application/json" } }),
      });
      const answered = await answer.text();
      if (isHeld("after")) await wait();
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
      response.end(answered);
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    hold: (words, where) => holds.push({ words, where }),
    refuse: (words) => void refused.push(words),
    held: () => waiting.size,
    open() {
      holds = [];
      refused = [];
      for (const go of waiting) go();
      waiting.clear();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
