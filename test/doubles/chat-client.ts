/** A person on the local page, without a browser: writes, clicks and watches over the same HTTP API. */
import type { StoredMessage } from "../../src/platforms/local/chat-message.ts";
import type { AnswerChoice, AnswerReceipt } from "../../src/ports/message.ts";

export type SeenMessage = StoredMessage;

export interface Place {
  channel?: string;
  dm?: true;
  thread?: string;
}

export interface ChatClient {
  /** The newest state of every message this person has seen, by id. */
  seen: Map<string, SeenMessage>;
  say(text: string, place?: Place): Promise<SeenMessage>;
  command(name: string, rest?: string, place?: Place): Promise<SeenMessage>;
  click(card: SeenMessage, choice: AnswerChoice, more?: object): Promise<AnswerReceipt>;
  /** Resolves with the first matching message, past or future. */
  waitFor(fits: (message: SeenMessage) => boolean): Promise<SeenMessage>;
  /** The agent's finished answer to the message. */
  answerTo(said: SeenMessage): Promise<SeenMessage>;
  /** The open card for the message. */
  cardFor(said: SeenMessage): Promise<SeenMessage>;
  /** The card about changes below the message's answer, open or decided. */
  changesFor(said: SeenMessage): Promise<SeenMessage>;
  request(method: string, path: string, body?: object): Promise<Response>;
  close(): void;
}

export async function createChatClient(url: string, token: string, person = "ann"): Promise<ChatClient> {
  const seen = new Map<string, SeenMessage>();
  const watchers = new Set<(message: SeenMessage) => void>();
  const ended = new AbortController();
  const headers = { authorization: `Bearer ${token}`, origin: url };

  async function request(method: string, path: string, body?: object): Promise<Response> {
    return await fetch(url + path, {
      method,
      headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async function take(path: string, body: object): Promise<SeenMessage> {
    const response = await request("POST", path, body);
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return ((await response.json()) as { message: SeenMessage }).message;
  }

  async function watch(body: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      rest += decoder.decode(chunk, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        if (!/^event: message$/m.test(block)) continue;
        const message = JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "null") as SeenMessage;
        seen.set(message.id, message);
        for (const watcher of watchers) watcher(message);
      }
    }
  }

  const stream = await fetch(`${url}/local/api/events?person=${person}&since=0`, { headers, signal: ended.signal });
  if (stream.body === null) throw new Error(`events answered ${stream.status}`);
  watch(stream.body).catch(() => {});

  function waitFor(fits: (message: SeenMessage) => boolean): Promise<SeenMessage> {
    const known = [...seen.values()].find(fits);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve) => {
      const watcher = (message: SeenMessage) => {
        if (!fits(message)) return;
        watchers.delete(watcher);
        resolve(message);
      };
      watchers.add(watcher);
    });
  }

  const threadOf = (said: SeenMessage) => said.thread ?? (said.place.startsWith("channel:") ? said.id : null);
  const isReplyTo = (said: SeenMessage) => (message: SeenMessage) =>
    message.author.isBot && message.thread === threadOf(said) && message.sequence > said.sequence;

  return {
    seen,
    request,
    waitFor,
    say: (text, place = { channel: "general" }) => take("/local/api/messages", { person, text, ...place }),
    command: (name, rest = "", place = { channel: "general" }) =>
      take("/local/api/commands", { person, name, rest, ...place }),
    async click(card, choice, more = {}) {
      const cardOrApprovalId = card.card?.items[0]?.approvalId ?? "";
      const response = await request("POST", "/local/api/answers", {
        person,
        messageId: card.id,
        cardOrApprovalId,
        choice,
        ...more,
      });
      return (await response.json()) as { accepted: boolean; text: string };
    },
    answerTo: (said) =>
      waitFor(
        (message) =>
          isReplyTo(said)(message) &&
          message.type === "message" &&
          message.state !== "streaming" &&
          // The progress above a card has been removed.
          !message.isDeleted &&
          !hasCardAfter(message),
      ),
    cardFor: (said) =>
      waitFor((message) => isReplyTo(said)(message) && message.type === "card" && message.state === "waiting"),
    changesFor: (said) => waitFor((message) => isReplyTo(said)(message) && isAboutChanges(message)),
    close: () => ended.abort(),
  };

  /** Text above a card is not the final answer, unless the card is about the turn's changes. */
  function hasCardAfter(message: SeenMessage): boolean {
    return [...seen.values()].some(
      (other) =>
        other.type === "card" &&
        !isAboutChanges(other) &&
        other.thread === message.thread &&
        other.sequence > message.sequence,
    );
  }

  function isAboutChanges({ card }: SeenMessage): boolean {
    return card?.items[0]?.changes !== undefined;
  }
}
