/**
 * What was said and is not answered yet, in the ledger: kept once, taken into a turn, answered; or withdrawn by its author
 * while it is still queued.
 */
import { createHash } from "node:crypto";
import type { Ledger, MessageState } from "../../ports/ledger.ts";
import type { InboundMessage } from "../../ports/message.ts";
import type { TurnRecord } from "../../ports/turn.ts";

export interface Inbox {
  /** False when it is known already; then nothing changed. */
  keep(message: InboundMessage): Promise<boolean>;
  /** The same for one that needs no turn; it is known from now on. */
  keepAnswered(message: InboundMessage): Promise<boolean>;
  /** Oldest first. */
  queued(conversationId: string): Promise<InboundMessage[]>;
  /** All conversations in which something waits. */
  waitingConversations(): Promise<string[]>;
  /** Takes messages out of the queue and returns them as they are now; those that were withdrawn meanwhile are left out. */
  take(messages: readonly InboundMessage[]): Promise<InboundMessage[]>;
  answered(messages: readonly InboundMessage[]): Promise<void>;
  /** Those that are part of a turn. */
  taken(): Promise<InboundMessage[]>;
  /** Changes nothing once the message is being worked on. */
  edit(key: string, text: string): Promise<void>;
  /** The message when it is being worked on; undefined when it was still queued and is removed now, or is not known. */
  withdraw(key: string): Promise<InboundMessage | undefined>;
}

/** The ledger's id of a message: unique over all platforms. */
export function messageKey(platform: string, messageId: string): string {
  return `${platform}:${messageId}`;
}

/**
 * The id of the turn that begins with a message. A message begins at most one turn, so that a turn that was written just
 * before a crash is found again instead of being made twice. Sorts by time, and is safe as a file name.
 */
export function turnIdFor(first: InboundMessage): string {
  const key = messageKey(first.platform, first.id);
  const time = Math.max(0, Math.floor(first.at)).toString(36).padStart(9, "0");
  return time + createHash("sha256").update(key).digest("hex").slice(0, 10);
}

/** The turn is about nothing but this message; a merged turn goes on for the others. */
export function consistsOf(turn: TurnRecord, key: string): boolean {
  return turn.messages.every((message) => messageKey(message.platform, message.id) === key);
}

export function createInbox(ledger: Ledger): Inbox {
  const keyOf = (message: InboundMessage) => messageKey(message.platform, message.id);

  const create = (message: InboundMessage, state: MessageState) =>
    ledger.create("message", keyOf(message), { state, body: message, group: message.conversationId });

  return {
    keep: (message) => create(message, "queued"),
    keepAnswered: (message) => create(message, "answered"),
    async queued(conversationId) {
      const entries = await ledger.list("message", { states: ["queued"], group: conversationId });
      return entries.map((entry) => entry.body);
    },
    async waitingConversations() {
      const entries = await ledger.list("message", { states: ["queued"] });
      return [...new Set(entries.map((entry) => entry.group))];
    },
    async take(messages) {
      const taken: InboundMessage[] = [];
      for (const message of messages) {
        const entry = await ledger.transition("message", keyOf(message), ["queued", "taken"], "taken");
        if (entry !== undefined) taken.push(entry.body);
      }
      return taken;
    },
    async answered(messages) {
      for (const message of messages) {
        await ledger.transition("message", keyOf(message), ["queued", "taken"], "answered");
      }
    },
    async taken() {
      const entries = await ledger.list("message", { states: ["taken"] });
      return entries.map((entry) => entry.body);
    },
    async edit(key, text) {
      await ledger.transition("message", key, ["queued"], "queued", (message) => ({ ...message, text }));
    },
    async withdraw(key) {
      if ((await ledger.transition("message", key, ["queued"], "removed")) !== undefined) return undefined;
      const entry = await ledger.get("message", key);
      return entry?.state === "taken" ? entry.body : undefined;
    },
  };
}
