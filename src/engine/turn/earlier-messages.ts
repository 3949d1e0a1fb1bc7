/**
 * Reads what was said before a turn's first message, through its platform:
 *
 *   1. ask for everything after the newest message that the conversation knows
 *   2. drop messages to the agent and its answers, which already belong to turns of this or another conversation. Linked ones stay,
 *      but not what a model declined to answer
 *   3. keep what fits
 *
 * A slow platform delays the turn only briefly (`maxReadMs`), and the model is told what is missing.
 */
import { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import type { Earlier, EarlierLine, Heard } from "../../ports/earlier.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { type InboundMessage, messageKey } from "../../ports/message.ts";
import type { Platform } from "../../ports/platform.ts";
import type { Store } from "../../ports/store.ts";
import { refusedText, type TurnRecord } from "../../ports/turn.ts";
import type { EarlierMessages } from "../../ports/turn-deps.ts";
import { fitHeard } from "./fit-heard.ts";
import { wasRefused } from "./refused-messages.ts";

export interface EarlierMessagesOptions {
  ledger: Ledger;
  store: Store;
  platform(name: string): Pick<Platform, "earlier"> | undefined;
  limits: { messages: number; bytes: number; channelMessages: number; channelMs: number };
  log: Log;
  /** For tests. */
  maxReadMs?: number;
}

export interface ForgettableEarlierMessages extends EarlierMessages {
  /** From now on, this conversation does not read messages older than `now`, except linked ones. */
  startOver(conversationId: string, now: number): Promise<void>;
  /** The conversation started over while the turn ran, so nothing of the turn belongs to its history. */
  isLeftBehind(turn: TurnRecord): Promise<boolean>;
}

const defaultMaxReadMs = 3_000;
/** The platform gets this long after the abort to return what it has read. */
const graceMs = 500;
/** A mark older than this is useless, because too many messages would follow it anyway. */
const keptMs = 365 * 86_400_000;
const maxNoteLength = 300;
const maxKnownTurnMessages = 5_000;

const markSchema = z.union([z.strictObject({ id: z.string() }), z.strictObject({ at: z.number() })]);

export function createEarlierMessages(options: EarlierMessagesOptions): ForgettableEarlierMessages {
  const { ledger, store, limits, log, maxReadMs = defaultMaxReadMs } = options;
  /** Keys of messages that were for the agent. A busy channel reads the same ones again and again. */
  const knownTurnMessages = createLruMap<true>(maxKnownTurnMessages);

  async function markOf(conversationId: string): Promise<{ since?: string; after?: number }> {
    const { data } = markSchema.safeParse(await store.get(markKey(conversationId)));
    if (data === undefined) return {};
    return "id" in data ? { since: data.id } : { after: data.at };
  }

  async function ask(turn: TurnRecord, first: InboundMessage, signal: AbortSignal): Promise<Earlier | undefined> {
    const read = options.platform(first.platform)?.earlier;
    if (read === undefined) return undefined;
    const { messages: maxMessages, channelMessages, channelMs } = limits;
    const said = turn.messages.map(({ text }) => text).join("\n");
    const mark = await markOf(turn.conversationId);
    const newest = turn.messages.at(-1);
    // What its author looks at when they say the last of it: "this channel" is that one.
    const lookingAt = newest?.author.id === first.author.id ? newest.lookingAt : undefined;
    const { lookingAt: _, ...asked } = first;
    const from = lookingAt === undefined ? asked : { ...asked, lookingAt };
    const earlier = await inTime(read, from, { said, maxMessages, channelMessages, channelMs, ...mark }, signal);
    return {
      ...earlier,
      lines: await newLines(earlier.lines, turn, mark.since !== undefined || mark.after !== undefined),
    };
  }

  async function inTime(
    read: NonNullable<Platform["earlier"]>,
    message: InboundMessage,
    wanted: Parameters<typeof read>[1],
    turnSignal: AbortSignal,
  ): Promise<Earlier> {
    const late = AbortSignal.timeout(maxReadMs);
    const { promise: tooLate, reject } = Promise.withResolvers<never>();
    const giveUp = () => reject(new Error(`${message.platform} did not answer within ${maxReadMs / 1_000} s`));
    const timer = setTimeout(giveUp, maxReadMs + graceMs);
    turnSignal.addEventListener("abort", giveUp, { once: true });
    if (turnSignal.aborted) giveUp();
    try {
      return await Promise.race([read(atPlatform(message), wanted, AbortSignal.any([late, turnSignal])), tooLate]);
    } finally {
      clearTimeout(timer);
      turnSignal.removeEventListener("abort", giveUp);
    }
  }

  async function isTurnMessage(key: string): Promise<boolean> {
    const isOne = knownTurnMessages.get(key) ?? (await ledger.get("message", key)) !== undefined;
    if (isOne) knownTurnMessages.set(key, true);
    return isOne;
  }

  async function newLines(lines: readonly EarlierLine[], turn: TurnRecord, isKnown: boolean): Promise<EarlierLine[]> {
    const own = new Set(turn.messages.flatMap(({ id, askedAt }) => [id, askedAt?.messageId ?? id]));
    const { platform } = turn.target;
    // What belongs to turns of the other conversation is not in the history of this one.
    if (turn.messages.some(({ askedAt }) => askedAt !== undefined))
      return await Promise.all(lines.filter(({ id }) => !own.has(id)).map((line) => withoutRefused(line, platform)));
    // In a DM, a thread can begin below what belongs to another conversation.
    const isBegunElsewhere = async ({ kind, id }: EarlierLine) =>
      kind === "root" &&
      turn.messages[0]?.isDirect === true &&
      (await ledger.get("message", messageKey(platform, id)))?.group !== turn.conversationId;
    const wereTurns = await Promise.all(
      lines.map(
        async (line) =>
          own.has(line.id) || (!(await isBegunElsewhere(line)) && (await isTurnMessage(messageKey(platform, line.id)))),
      ),
    );
    const firstTurnAt = Math.min(...lines.filter((_, index) => wereTurns[index]).map(({ at }) => at));
    const heard = lines.filter((line, index) => {
      if (line.kind === "linked") return !own.has(line.id);
      return !wereTurns[index] && !(line.isOwn && (isKnown || line.at > firstTurnAt));
    });
    return await Promise.all(
      heard.map((line) => (line.kind === "channel" || line.kind === "thread" ? line : withoutRefused(line, platform))),
    );
  }

  async function withoutRefused(line: EarlierLine, platform: string): Promise<EarlierLine> {
    return (await wasRefused(ledger, platform, line.id)) ? { ...line, text: refusedText, files: [] } : line;
  }

  return {
    async read(turn, signal) {
      const [first] = turn.messages;
      if (first === undefined || isScheduled(first)) return undefined;
      const heard = await ask(turn, first, signal).then(
        (earlier) => earlier && fitHeard(earlier, limits),
        (thrown: unknown): Heard => ({ lines: [], leftOut: 0, notes: [failureNote(thrown)] }),
      );
      if (heard === undefined || signal.aborted) return undefined;
      const { lines, leftOut, notes } = heard;
      if (notes.length > 0) log.warn({ turnId: turn.id, notes }, "not all earlier messages of a turn could be read");
      const isEmpty = lines.length + leftOut + notes.length === 0 && heard.lookingAt === undefined;
      return isEmpty ? undefined : heard;
    },
    async markKnown({ id: turnId, conversationId, messages: [first] }) {
      if (first === undefined || isScheduled(first)) return;
      // A failure is harmless: without the mark, the next turn only reads some messages again.
      await store.set(markKey(conversationId), { id: atPlatform(first).id }, keptMs).catch((thrown: unknown) => {
        log.warn({ turnId, error: messageOf(thrown) }, "could not save which messages a conversation knows");
      });
    },
    async isLeftBehind({ conversationId, startedAt }) {
      const { after } = await markOf(conversationId);
      return after !== undefined && startedAt <= after;
    },
    startOver: (conversationId, now) => store.set(markKey(conversationId), { at: now }, keptMs),
  };
}

function markKey(conversationId: string): string {
  return `known-message:${conversationId}`;
}

function isScheduled({ id, askedAt }: InboundMessage): boolean {
  return id.startsWith("schedule:") && (askedAt === undefined || askedAt.messageId.startsWith("schedule:"));
}

/** A repeated message has no place of its own, so it has that of the message that it repeats. */
function atPlatform(message: InboundMessage): InboundMessage {
  const { askedAt } = message;
  if (askedAt !== undefined)
    return { ...message, id: askedAt.messageId, conversationId: askedAt.conversationId, isDirect: false };
  return message.replyTo === undefined ? message : { ...message, id: message.replyTo };
}

function failureNote(thrown: unknown): string {
  const why = messageOf(thrown).replace(/\s+/g, " ").slice(0, maxNoteLength).toWellFormed();
  return `Earlier messages of this place could not be read: ${why}`;
}
