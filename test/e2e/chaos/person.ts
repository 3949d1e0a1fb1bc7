/**
 * A persistent person at the page: repeats each message until it is accepted, approves all their cards, and continues with
 * whichever process serves the page.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { StoredMessage } from "../../../src/platforms/local/chat-message.ts";
import type { AnswerChoice } from "../../../src/ports/message.ts";

export interface Person {
  /** Resolves when it was accepted; the same id is the same message. The default channel is `general`. */
  say(id: string, text: string, channel?: string): Promise<void>;
  /** Of the thread that a message has opened, oldest first. */
  thread(id: string): Promise<StoredMessage[]>;
  /** Approves the open cards in the thread. Resolves when they are answered, or if there are none. */
  approve(id: string): Promise<void>;
  /** Clicks this button on every card of the thread. */
  click(id: string, choice: AnswerChoice): Promise<void>;
}

export interface Served {
  url: string;
  token: string;
}

const againMs = 100;

/** `served` returns the page's current address, or undefined while nobody serves it. It rejects to stop the person. */
export function createPerson(served: () => Promise<Served>): Person {
  async function request(method: string, path: string, body?: object): Promise<unknown> {
    for (;;) {
      const { url, token } = await served();
      try {
        const response = await fetch(url + path, {
          method,
          headers: { authorization: `Bearer ${token}`, origin: url, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        if (response.ok) return await response.json();
        if (response.status !== 503) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      } catch (thrown) {
        if (!(thrown instanceof TypeError)) throw thrown;
      }
      await wait(againMs);
    }
  }

  async function thread(id: string): Promise<StoredMessage[]> {
    const answer = await request("GET", `/local/api/messages?person=ann&thread=${id}`);
    return (answer as { messages: StoredMessage[] }).messages;
  }

  async function click(id: string, choice: AnswerChoice): Promise<void> {
    for (const { id: messageId, card } of await thread(id)) {
      for (const item of card?.items ?? []) {
        if (!item.choices.includes(choice)) continue;
        const cardOrApprovalId = item.approvalId;
        await request("POST", "/local/api/answers", { person: "ann", messageId, cardOrApprovalId, choice });
      }
    }
  }

  return {
    async say(id, text, channel = "general") {
      await request("POST", "/local/api/messages", { person: "ann", channel, id, text: `@remora ${text}` });
    },
    thread,
    click,
    approve: (id) => click(id, "approve"),
  };
}
