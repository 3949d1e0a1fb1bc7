/** Unanswered messages in the ledger. Each is stored once, taken into a turn, and then marked as answered. */
import { createHash } from "node:crypto";
import type { Ledger, MessageState } from "../../ports/ledger.ts";
import { type Attachment, deletedText, hasSameWords, type InboundMessage, messageKey } from "../../ports/message.ts";
import type { TurnRecord } from "../../ports/turn.ts";

const moreCame = "[This came with my message a moment later.]";

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
  /**
   * Resolves to the message if a turn has already taken it, and it has more than other blanks or a preview now. An answered one can
   * still be retried.
   */
  edit(key: string, text: string, attachments?: Attachment[]): Promise<TakenMessage | undefined>;
  /** A service may send a message twice, and know more of it the second time: adds that. */
  learn(message: InboundMessage): Promise<void>;
  /** What has come of a turn's messages since it took them, as messages for it, without what it has been told. */
  changesOf(taken: readonly InboundMessage[]): Promise<InboundMessage[]>;
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
  return turn.messages.every(({ platform, id, changes }) => messageKey(platform, changes ?? id) === key);
}

/** Its author has deleted it after a turn had taken it. */
export function isWithdrawn({ text, attachments }: InboundMessage): boolean {
  return text === deletedText && attachments.length === 0;
}

/** A turn's messages as they arrived, because the turn's own copies no longer say where their files are. */
export async function originalsOf(ledger: Pick<Ledger, "get">, turn: TurnRecord): Promise<InboundMessage[]> {
  const original = async (message: InboundMessage) =>
    (await ledger.get("message", messageKey(message.platform, message.id)))?.body ?? message;
  // What came later is in the original by now.
  return await Promise.all(turn.messages.filter(({ changes }) => changes === undefined).map(original));
}

/** Those of `now` that `before` lacks. Links to files change each time, so they don't count. */
function newAmong(now: readonly Attachment[], before: readonly Attachment[]): Attachment[] {
  const known = before.map(identityOf);
  return now.filter((attachment) => {
    const at = known.indexOf(identityOf(attachment));
    if (at >= 0) known.splice(at, 1);
    return at < 0 && attachment.isPreview !== true;
  });
}

function identityOf({ source, name, bytes, text = "" }: Attachment): string {
  return JSON.stringify(source?.id ?? [name, bytes, text]);
}

/** Takes the new text only if it contains the known one, because a repeated event may be older. */
function fuller(known: InboundMessage, { text }: InboundMessage): string {
  const isMore = known.changed?.wordsAt === undefined && text.length > known.text.length && text.includes(known.text);
  return isMore ? text : known.text;
}

function changed(
  message: InboundMessage,
  text: string,
  attachments: readonly Attachment[],
): InboundMessage | undefined {
  const more = newAmong(attachments, message.attachments);
  const hasSame = hasSameWords(message.text, text);
  if (isWithdrawn(message) || (hasSame && more.length === 0)) return undefined;
  // Of two changes in one millisecond, each counts.
  const at = Math.max(Date.now(), (message.changed?.at ?? 0) + 1);
  const change = { ...message.changed, at, ...(hasSame ? {} : { wordsAt: at }) };
  return { ...message, text, attachments: [...message.attachments, ...more], changed: change };
}

/** What a turn reads of a message that has changed since it took it. `told` is all that it has of this message. */
function laterPart(now: InboundMessage, told: readonly InboundMessage[]): InboundMessage | undefined {
  const { changed: change, ...message } = now;
  const toldAt = Math.max(0, ...told.map((each) => each.changed?.at ?? 0));
  if (change === undefined || change.at <= toldAt || isWithdrawn(now)) return undefined;
  const attachments = now.attachments.slice(told.reduce((sum, each) => sum + each.attachments.length, 0));
  const text = hasNewWords(change, toldAt) ? `[I have edited my message. It says now:]\n${now.text}` : moreCame;
  return { ...message, id: `${now.id}:${change.at}`, changes: now.id, changed: change, text, attachments };
}

function hasNewWords({ wordsAt = 0 }: NonNullable<InboundMessage["changed"]>, toldAt: number): boolean {
  return wordsAt > toldAt;
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

  async function changesOf(taken: readonly InboundMessage[]): Promise<InboundMessage[]> {
    const own = taken.filter(({ changes }) => changes === undefined);
    const now = await Promise.all(own.map((message) => ledger.get("message", keyOf(message))));
    return now.flatMap((entry) => {
      if (entry?.state !== "taken") return [];
      const told = taken.filter(({ id, changes }) => (changes ?? id) === entry.body.id);
      return laterPart(entry.body, told) ?? [];
    });
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
    async edit(key, text, attachments) {
      const edited = (message: InboundMessage) => {
        const at = Date.now();
        const words = hasSameWords(message.text, text) ? {} : { changed: { at, wordsAt: at } };
        return { ...message, text, ...words, ...(attachments === undefined ? {} : { attachments }) };
      };
      if ((await ledger.transition("message", key, ["queued"], "queued", edited)) !== undefined) return undefined;
      return await changeTaken(key, (message) => changed(message, text, attachments ?? []));
    },
    async learn(message) {
      const key = keyOf(message);
      const learned = (known: InboundMessage) => changed(known, fuller(known, message), message.attachments);
      if ((await ledger.transition("message", key, ["queued"], "queued", learned)) === undefined)
        await changeTaken(key, learned);
    },
    changesOf,
    async isEdited(taken) {
      const now = await Promise.all(taken.map((message) => ledger.get("message", keyOf(message))));
      if (now.some((entry, at) => entry !== undefined && isWithdrawn(entry.body) && taken[at]?.text !== deletedText))
        return true;
      return (await changesOf(taken)).some(({ text }) => text !== moreCame);
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
