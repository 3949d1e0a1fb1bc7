/** Unanswered messages in the ledger. Each is stored once, taken into a turn, and then marked as answered. */
import { createHash } from "node:crypto";
import type { Ledger, MessageState } from "../../ports/ledger.ts";
import { deletedText, hasSameWords, type InboundMessage, messageKey } from "../../ports/message.ts";
import type { TurnRecord } from "../../ports/turn.ts";

export interface Inbox {
  /** Resolves to false and changes nothing if the message is already known. */
  keep(message: InboundMessage): Promise<boolean>;
  /** Like `keep`, but for a message that needs no turn. */
  keepAnswered(message: InboundMessage): Promise<boolean>;
  /** Oldest first. */
  queued(conversationId: string): Promise<InboundMessage[]>;
  allQueued(): Promise<InboundMessage[]>;
  /** Conversations with queued messages, and the oldest message of each. */
  waitingConversations(): Promise<Map<string, InboundMessage>>;
  /** Takes messages from the queue and returns their current content, without withdrawn messages. */
  take(messages: readonly InboundMessage[]): Promise<InboundMessage[]>;
  answered(messages: readonly InboundMessage[]): Promise<void>;
  taken(): Promise<InboundMessage[]>;
  /** The platform's queued and taken messages. */
  unanswered(platform: string): Promise<InboundMessage[]>;
  /** Resolves to the message if a turn has already taken it, and more than blanks has changed since. An answered one can still be retried. */
  edit(key: string, text: string): Promise<TakenMessage | undefined>;
  /** True if the author has changed the words of one of the messages since its turn took it. */
  isEdited(messages: readonly InboundMessage[]): Promise<boolean>;
  /** Ends a queued message without a turn, which people are then told. Resolves to false if it is no longer queued. */
  stop(message: InboundMessage): Promise<boolean>;
  /** Removes a queued message. If a turn has already taken the message, removes its words, and resolves to it. */
  withdraw(key: string): Promise<TakenMessage | undefined>;
}

interface TakenMessage {
  message: InboundMessage;
  /** Its turn has ended. */
  isAnswered: boolean;
}

/** The conversation of a message that was taken back before a turn took it. */
export async function withdrawnFrom(ledger: Ledger, platform: string, messageId: string): Promise<string | undefined> {
  const entry = await ledger.get("message", messageKey(platform, messageId));
  return entry?.state === "removed" ? entry.body.conversationId : undefined;
}

/** The id depends only on the message, so a retry creates no second turn. Ids sort by time and are safe file names. */
export function turnIdFor(first: InboundMessage): string {
  const key = messageKey(first.platform, first.id);
  const time = Math.max(0, Math.floor(first.at)).toString(36).padStart(9, "0");
  return time + createHash("sha256").update(key).digest("hex").slice(0, 10);
}

/** The service's order. A message from a pause is fetched after newer ones have arrived. */
export function byTime(one: InboundMessage, other: InboundMessage): number {
  return one.at - other.at;
}

export function hasOnlyMessage(turn: TurnRecord, key: string): boolean {
  return turn.messages.every((message) => messageKey(message.platform, message.id) === key);
}

/** Its author has deleted it after a turn had taken it. */
export function isWithdrawn({ text, attachments }: InboundMessage): boolean {
  return text === deletedText && attachments.length === 0;
}

/** A turn's messages as they arrived, because the turn's own copies no longer say where their files are. */
export async function originalsOf(ledger: Pick<Ledger, "get">, turn: TurnRecord): Promise<InboundMessage[]> {
  const original = async (message: InboundMessage) =>
    (await ledger.get("message", messageKey(message.platform, message.id)))?.body ?? message;
  return await Promise.all(turn.messages.map(original));
}

export function createInbox(ledger: Ledger): Inbox {
  const keyOf = (message: InboundMessage) => messageKey(message.platform, message.id);

  const create = (message: InboundMessage, state: MessageState) =>
    ledger.create("message", keyOf(message), { state, body: message, group: message.conversationId });

  async function changeTaken(
    key: string,
    change: (message: InboundMessage) => InboundMessage | undefined,
  ): Promise<TakenMessage | undefined> {
    for (const state of ["taken", "answered"] as const) {
      const entry = await ledger.transition("message", key, [state], state, change);
      if (entry !== undefined) return { message: entry.body, isAnswered: state === "answered" };
    }
    return undefined;
  }

  return {
    keep: (message) => create(message, "queued"),
    keepAnswered: (message) => create(message, "answered"),
    async queued(conversationId) {
      const entries = await ledger.list("message", { states: ["queued"], group: conversationId });
      return entries.map((entry) => entry.body).toSorted(byTime);
    },
    async allQueued() {
      const entries = await ledger.list("message", { states: ["queued"] });
      return entries.map((entry) => entry.body);
    },
    async waitingConversations() {
      const entries = await ledger.list("message", { states: ["queued"] });
      // The last value of a key counts, so the oldest message comes last.
      return new Map(entries.reverse().map(({ group, body }) => [group, body]));
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
    async unanswered(platform) {
      const entries = await ledger.list("message", { states: ["queued", "taken"] });
      return entries.map((entry) => entry.body).filter((message) => message.platform === platform);
    },
    async edit(key, text) {
      const edited = (message: InboundMessage) => ({ ...message, text });
      if ((await ledger.transition("message", key, ["queued"], "queued", edited)) !== undefined) return undefined;
      return await changeTaken(key, (message) =>
        hasSameWords(message.text, text) || isWithdrawn(message) ? undefined : edited(message),
      );
    },
    async isEdited(taken) {
      const now = await Promise.all(taken.map((message) => ledger.get("message", keyOf(message))));
      return now.some((entry, at) => entry !== undefined && !hasSameWords(entry.body.text, taken[at]?.text ?? ""));
    },
    async stop(message) {
      return (await ledger.transition("message", keyOf(message), ["queued"], "stopping")) !== undefined;
    },
    async withdraw(key) {
      if ((await ledger.transition("message", key, ["queued"], "removed")) !== undefined) return undefined;
      return await changeTaken(key, (message) => ({ ...message, text: deletedText, attachments: [] }));
    },
  };
}
