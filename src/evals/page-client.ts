/** A person on the local page, without a browser: writes, clicks and watches over the page's HTTP API. */
import { setTimeout as wait } from "node:timers/promises";
import type { StoredMessage } from "../platforms/local/chat-message.ts";
import type { AnswerChoice, AnswerReceipt } from "../ports/message.ts";

export interface Place {
  channel?: string;
  dm?: true;
  thread?: string;
}

export interface PageClient {
  /** The newest state of every message this person has seen, by id. */
  seen: Map<string, StoredMessage>;
  say(text: string, place?: Place, attachments?: readonly { upload: string }[]): Promise<StoredMessage>;
  /** Resolves with the id of the file, for a message that attaches it. */
  upload(id: string, file: { name: string; mimeType: string; content: string }): Promise<{ upload: string }>;
  click(card: StoredMessage, choice: AnswerChoice, more?: object): Promise<AnswerReceipt>;
  /** Resolves with the first matching message, past or future. */
  waitFor(fits: (message: StoredMessage) => boolean): Promise<StoredMessage>;
  request(method: string, path: string, body?: object): Promise<Response>;
  /** Rejects with what the page answers if it refuses. */
  post(path: string, body: object): Promise<unknown>;
  close(): void;
}

export interface PageOptions {
  url: string;
  token: string;
  /** The id of somebody who is on the page. */
  person: string;
}

/** After the page has ended a stream, which it does from time to time. */
const reconnectMs = 50;
const noReceipt = "This card has nothing to answer.";

export async function connectToPage({ url, token, person }: PageOptions): Promise<PageClient> {
  const seen = new Map<string, StoredMessage>();
  const watchers = new Set<(message: StoredMessage) => void>();
  const ended = new AbortController();
  const headers = { authorization: `Bearer ${token}`, origin: url };
  let revision = 0;

  async function request(method: string, path: string, body?: object): Promise<Response> {
    return await send(path, {
      method,
      headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async function send(path: string, init: RequestInit): Promise<Response> {
    return await fetch(url + path, { ...init, redirect: "error" });
  }

  async function post(path: string, body: object): Promise<unknown> {
    return await accepted(path, await request("POST", path, body));
  }

  async function openStream(): Promise<ReadableStream<Uint8Array>> {
    const path = `/local/api/events?person=${encodeURIComponent(person)}&since=${revision}`;
    const stream = await send(path, { headers, signal: ended.signal });
    if (stream.body === null) throw new Error(`events answered ${stream.status}`);
    return stream.body;
  }

  async function watch(stream: ReadableStream<Uint8Array>): Promise<void> {
    for (let body = stream; !ended.signal.aborted; body = await openStream()) {
      await read(body).catch(() => {});
      await wait(reconnectMs, undefined, { signal: ended.signal });
    }
  }

  async function read(body: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      rest += decoder.decode(chunk, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) if (/^event: message$/m.test(block)) see(block);
    }
  }

  function see(block: string): void {
    const message = JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "null") as StoredMessage;
    revision = Math.max(revision, message.revision);
    seen.set(message.id, message);
    for (const watcher of watchers) watcher(message);
  }

  watch(await openStream()).catch(() => {});

  return {
    ...{ seen, request, post },
    async say(text, place = { channel: "general" }, attachments = []) {
      const said = await post("/local/api/messages", { person, text, attachments, ...place });
      return (said as { message: StoredMessage }).message;
    },
    async upload(id, { name, mimeType, content }) {
      const path = `/local/api/uploads/${id}?${new URLSearchParams({ person, name })}`;
      const init = { method: "PUT", headers: { ...headers, "content-type": mimeType }, body: content };
      await accepted(path, await send(path, init));
      return { upload: id };
    },
    async click(card, choice, more = {}) {
      const cardOrApprovalId = card.card?.items[0]?.approvalId;
      if (cardOrApprovalId === undefined) return { accepted: false, text: noReceipt };
      const answer = { person, messageId: card.id, cardOrApprovalId, choice, ...more };
      const response = await request("POST", "/local/api/answers", answer);
      return (await response.json()) as AnswerReceipt;
    },
    waitFor(fits) {
      const known = [...seen.values()].find(fits);
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => {
        const watcher = (message: StoredMessage) => {
          if (!fits(message)) return;
          watchers.delete(watcher);
          resolve(message);
        };
        watchers.add(watcher);
      });
    },
    close: () => ended.abort(),
  };
}

async function accepted(path: string, response: Response): Promise<unknown> {
  if (response.ok) return await response.json();
  throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
}
