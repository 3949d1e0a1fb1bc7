/**
 * Edits and deletions of messages that prompts have had. They reach every history with the message, and turns that are not in a
 * history yet.
 *
 *   1. before the model is asked, note which turns have which messages
 *   2. keep a change, then rewrite the histories (history-store.ts). If no turn has the message, keep it for a day only: a turn may have
 *      read it that has not asked the model yet
 *   3. when a turn is stored in the history or in memory, apply the changes that came while it ran, or before a crash
 *
 * A deletion is final, whatever comes later. Origins stay, because the turn has read the words.
 */
import { z } from "zod";
import { createKeyedMutex } from "../lib/keyed-mutex.ts";
import { createLruMap } from "../lib/lru-map.ts";
import { deletedText, hasSameWords, type InboundMessage, type MessageChange, messageKey } from "../ports/message.ts";
import type { Store } from "../ports/store.ts";
import { refusedText, type TurnRecord } from "../ports/turn.ts";
import type { StoredExchange } from "./history.ts";

const place = z.strictObject({
  conversationId: z.string(),
  turnId: z.string(),
  /** The message's id there, or the id of its copy. */
  id: z.string(),
  /** Absent if others said it before the turn. */
  said: z
    .strictObject({ scope: z.custom<TurnRecord["scope"]>(isText), at: z.number(), isOnly: z.boolean() })
    .exactOptional(),
});
export type Place = z.infer<typeof place>;
const change = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("edited"), text: z.string() }),
  z.strictObject({ type: z.literal("deleted") }),
]);

const dayMs = 86_400_000;
/** Longer than histories live (`retention.historyDays`), and for those without an end, long enough. */
const notedMs = 400 * dayMs;
/** A history has the edit. Only a turn that has not ended needs it from here. */
const editMs = 7 * dayMs;
const maxNotedTurns = 2_000;
/** Turns that have a message. What many heard before their turns would else be noted without end. */
const maxPlaces = 300;

export type MessageChanges = ReturnType<typeof createMessageChanges>;

export function createMessageChanges(store: Store) {
  const inOrder = createKeyedMutex();
  const noted = createLruMap<true>(maxNotedTurns);

  async function placesOf(key: string): Promise<Place[]> {
    return z.array(place).safeParse(await store.get(placesKey(key))).data ?? [];
  }

  async function changeOf(key: string): Promise<MessageChange | undefined> {
    return change.safeParse(await store.get(changeKey(key))).data;
  }

  async function note(key: string, one: Place): Promise<void> {
    await inOrder(key, async () => {
      const others = (await placesOf(key)).filter(({ turnId, id }) => turnId !== one.turnId || id !== one.id);
      await store.set(placesKey(key), [...others, one].slice(-maxPlaces), notedMs);
    });
  }

  return {
    /** Resolves once it is stored that the turn has its messages. */
    async note(turn: TurnRecord): Promise<void> {
      const { id: turnId, conversationId, scope, startedAt: at, messages, heard, target } = turn;
      const mark = `${turnId}:${messages.length}`;
      if (noted.has(mark)) return;
      const said = { scope, at, isOnly: messages.length === 1 };
      await Promise.all([
        ...messages.flatMap((message) =>
          keysOf(message).map((key) => note(key, { conversationId, turnId, id: message.id, said })),
        ),
        ...(heard?.lines ?? []).map(({ id }) => note(messageKey(target.platform, id), { conversationId, turnId, id })),
      ]);
      noted.set(mark, true);
    },
    /** Keeps the change, and resolves to where its message is. `isTaken`: a turn has it, noted or not. */
    keep: (key: string, made: MessageChange, isTaken: boolean) =>
      inOrder(key, async (): Promise<Place[]> => {
        const [before, places] = await Promise.all([changeOf(key), placesOf(key)]);
        // Again, because the first time may have ended before the histories were rewritten.
        if (before?.type === "deleted") return made.type === "deleted" ? places : [];
        const isKnown = isTaken || places.length > 0;
        await store.set(changeKey(key), { ...made }, !isKnown ? dayMs : made.type === "deleted" ? notedMs : editMs);
        // Once more, because a turn may have noted the message since. One that does so later reads the change.
        return await placesOf(key);
      }),
    /** The turn's words as they are now. Of one that still runs, only what was deleted changes: it answers the words before. */
    async current(turn: TurnRecord, isRunning: boolean): Promise<TurnRecord> {
      const { heard, messages, target } = turn;
      const wanted = async (keys: readonly string[]) => {
        const [own, ...copied] = await Promise.all(keys.map(changeOf));
        const made = copied.find((one) => one?.type === "deleted") ?? own;
        return made?.type === "deleted" || !isRunning ? made : undefined;
      };
      const lines = heard?.lines ?? [];
      const [said, before] = await Promise.all([
        Promise.all(messages.map((message) => wanted(keysOf(message)))),
        Promise.all(lines.map(({ id }) => wanted([messageKey(target.platform, id)]))),
      ]);
      if ([...said, ...before].every((made) => made === undefined)) return turn;
      return {
        ...turn,
        messages: messages.map((message, index) => changedMessage(message, said[index])),
        ...(heard === undefined
          ? {}
          : { heard: { ...heard, lines: lines.map((line, index) => changedLine(line, before[index])) } }),
      };
    },
    /** Removes the words of edits. */
    async forget(keys: readonly string[]): Promise<void> {
      await Promise.all(
        keys.map((key) =>
          inOrder(key, async () => {
            if ((await changeOf(key))?.type === "edited") await store.delete(changeKey(key));
          }),
        ),
      );
    },
  };
}

interface Words {
  text: string;
}

function changedMessage<T extends Words & { attachments: unknown[]; isEdited?: true }>(
  message: T,
  made: MessageChange | undefined,
): T {
  if (made === undefined || isLeftOut(message)) return message;
  if (made.type === "deleted") return { ...message, text: deletedText, attachments: [] };
  return hasSameWords(message.text, made.text) ? message : { ...message, text: made.text, isEdited: true };
}

function changedLine<T extends Words & { files: string[] }>(line: T, made: MessageChange | undefined): T {
  if (made === undefined || isLeftOut(line)) return line;
  return made.type === "deleted" ? { ...line, text: deletedText, files: [] } : { ...line, text: made.text };
}

/** Nothing that comes later brings words back that were left out. */
function isLeftOut({ text }: Words): boolean {
  return text === deletedText || text === refusedText;
}

/** Returns the same object if nothing changes. */
export function changedExchange(
  exchange: StoredExchange,
  id: string,
  key: string,
  made: MessageChange,
): StoredExchange {
  // A copy may have words of several messages, so only a deletion is for it as well.
  const isCopy = key.slice(key.indexOf(":") + 1) !== id;
  if (isCopy && made.type !== "deleted") return exchange;
  const messages = exchange.messages.map((message) => (message.id === id ? changedMessage(message, made) : message));
  const heard = exchange.heard?.messages.map((line) => (line.id === id ? changedLine(line, made) : line));
  const isSame =
    messages.every((message, index) => message === exchange.messages[index]) &&
    (heard ?? []).every((line, index) => line === exchange.heard?.messages[index]);
  if (isSame) return exchange;
  return {
    ...exchange,
    messages,
    ...(heard === undefined || exchange.heard === undefined ? {} : { heard: { ...exchange.heard, messages: heard } }),
  };
}

/** The message's own, and that of the message that it repeats or adds to: in a direct message, after Retry, or as what came later. */
function keysOf({ platform, id, askedAt, replyTo, changes }: InboundMessage): string[] {
  return [
    ...new Set([
      id,
      ...(askedAt === undefined ? [] : [askedAt.messageId]),
      ...(replyTo === undefined ? [] : [replyTo]),
      ...(changes === undefined ? [] : [changes]),
    ]),
  ].map((each) => messageKey(platform, each));
}

function placesKey(key: string): string {
  return `message-in:${key}`;
}

function changeKey(key: string): string {
  return `message-change:${key}`;
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}
