/**
 * Stores a conversation's earlier exchanges, one per turn, in the order in which turns ended. Messages and answers are
 * complete, tool results and arguments shortened; images and attached text are left out. Their number and size are
 * limited, but the newest one is always kept.
 */
import { z } from "zod";
import { createKeyedMutex } from "../lib/keyed-mutex.ts";
import type { Log } from "../lib/log.ts";
import type { Json } from "../ports/message.ts";
import { distinctOrigins, type Origin, originOf, originOfPerson, originsSchema } from "../ports/origin.ts";
import type { ModelMessage } from "../ports/provider.ts";
import type { Store } from "../ports/store.ts";
import type { ToolSpec } from "../ports/tool.ts";
import type { TurnRecord } from "../ports/turn.ts";
import { originsOfTool, originsOfTurn } from "../ports/turn-origins.ts";
import { cutToCharacters } from "./cut.ts";
import { stubCall, stubInput } from "./shorten.ts";
import { messageTokens, renderTranscript, type Transcript, transcriptOf } from "./transcript.ts";

const maxExchanges = 100;
const maxCharacters = 400_000;
const maxResultCharacters = 4_000;
const maxInputCharacters = 1_000;

const attachment = z.strictObject({ name: z.string(), mimeType: z.string(), bytes: z.number() });
const saidMessage = z.strictObject({
  author: z.string(),
  authorId: z.string(),
  isBot: z.boolean(),
  at: z.number(),
  text: z.string(),
  attachments: z.array(attachment),
});
const calledTool = z.strictObject({
  id: z.string(),
  name: z.string(),
  inputJson: z.string(),
  status: z.enum(["ok", "failed", "invalid", "denied", "blocked", "interrupted", "none"]),
  text: z.string(),
});
const takenStep = z.strictObject({ text: z.string(), seenMessages: z.number(), calls: z.array(calledTool) });
const exchangeSchema = z.strictObject({
  turnId: z.string(),
  endedAt: z.number(),
  messages: z.array(saidMessage).min(1),
  steps: z.array(takenStep),
  /** Origins of everything said and read in the turn. Absent in entries of earlier versions. */
  origins: originsSchema.exactOptional(),
  /** Estimated tokens: `fresh` with tool results (for the newest exchange), `stale` with stubs instead. */
  tokens: z.strictObject({ fresh: z.number(), stale: z.number() }),
});
const historySchema = z.strictObject({ version: z.literal(1), exchanges: z.array(exchangeSchema) });

type StoredExchange = z.infer<typeof exchangeSchema>;
export type Exchange = StoredExchange & { origins: Origin[] };

export interface History {
  /** Oldest first, without the exchange of `exceptTurnId`. */
  read(conversationId: string, exceptTurnId: string, tools: readonly ToolSpec[]): Promise<Exchange[]>;
  add(turn: TurnRecord, tools: readonly ToolSpec[]): Promise<void>;
  /** Removes all exchanges, or only those that `person` took part in. */
  clear(conversationId: string, person?: { platform: string; userId: string }): Promise<void>;
}

export function createHistory(store: Store, log: Log, idleMs: number | null, now: () => number): History {
  const inOrder = createKeyedMutex();

  async function load(conversationId: string): Promise<StoredExchange[]> {
    const stored = await store.get(historyKey(conversationId));
    if (stored === undefined) return [];
    const parsed = historySchema.safeParse(stored);
    if (!parsed.success) {
      log.warn({ conversationId, error: parsed.error.message }, "stored history can't be read; starting a new one");
      return [];
    }
    const { exchanges } = parsed.data;
    const newest = exchanges.at(-1);
    const isIdle = idleMs !== null && newest !== undefined && now() - newest.endedAt > idleMs;
    return isIdle ? [] : exchanges;
  }

  return {
    async read(conversationId, exceptTurnId, tools) {
      const others = (await load(conversationId)).filter((exchange) => exchange.turnId !== exceptTurnId);
      return others.map((exchange) => ({ ...exchange, origins: exchange.origins ?? likelyOrigins(exchange, tools) }));
    },
    add: (turn, tools) =>
      inOrder(turn.conversationId, async () => {
        const exchanges = await load(turn.conversationId);
        const exchange = exchangeOf(turn, tools, now());
        const known = exchanges.findIndex(({ turnId }) => turnId === turn.id);
        if (known === -1) exchanges.push(exchange);
        else exchanges[known] = exchange;
        await store.set(historyKey(turn.conversationId), { version: 1, exchanges: bounded(exchanges) } as Json);
      }),
    clear: (conversationId, person) =>
      inOrder(conversationId, async () => {
        const authorId = `${person?.platform}:${person?.userId}`;
        const isTheirs = ({ messages }: StoredExchange) => messages.some((message) => message.authorId === authorId);
        const kept = person === undefined ? [] : (await load(conversationId)).filter((one) => !isTheirs(one));
        if (kept.length === 0) await store.delete(historyKey(conversationId));
        else await store.set(historyKey(conversationId), { version: 1, exchanges: kept } as Json);
      }),
  };
}

export function renderExchange(exchange: StoredExchange, isStale: boolean): ModelMessage[] {
  if (!isStale) return renderTranscript(exchange);
  const steps = exchange.steps.map((step) => ({ ...step, calls: step.calls.map(stubCall) }));
  return renderTranscript({ messages: exchange.messages, steps });
}

/** Guesses the origins of an exchange that was stored without them, from its speakers and its tools' specs. */
function likelyOrigins({ messages, steps }: StoredExchange, tools: readonly ToolSpec[]): Origin[] {
  const byName = new Map(tools.map((spec) => [spec.name, spec]));
  const ran = steps.flatMap(({ calls }) => calls).filter(({ status }) => !neverRan.has(status));
  return distinctOrigins([
    ...messages.map(({ author, authorId }) => personOf(author, authorId)),
    ...messages.flatMap(({ attachments }) => attachments.map(({ name }) => originOf("attachment", name))),
    ...ran.flatMap(({ name }) => originsOfTool(byName.get(name), name, {})),
  ]);
}

const neverRan: ReadonlySet<string> = new Set(["invalid", "denied", "blocked", "none"]);

/** `authorId` is `platform:id`; the id may contain further colons. */
function personOf(name: string, authorId: string): Origin {
  return originOfPerson({ id: authorId.slice(authorId.indexOf(":") + 1), name });
}

function exchangeOf(turn: TurnRecord, tools: readonly ToolSpec[], now: number): StoredExchange {
  const transcript = withEnding(shortTranscript(turn), turn.failure);
  const origins = distinctOrigins(originsOfTurn(turn, tools));
  const exchange = {
    turnId: turn.id,
    endedAt: turn.endedAt ?? now,
    ...transcript,
    origins,
    tokens: { fresh: 0, stale: 0 },
  };
  exchange.tokens.fresh = messageTokens(renderExchange(exchange, false));
  exchange.tokens.stale = messageTokens(renderExchange(exchange, true));
  return exchange;
}

/** Shortens a turn's transcript and makes its call ids unique in the whole history, not only within the turn. */
function shortTranscript(turn: TurnRecord) {
  const { messages, steps } = transcriptOf(turn);
  let calls = 0;
  return {
    messages: messages.map((message) => ({
      ...message,
      attachments: message.attachments.map(({ name, mimeType, bytes }) => ({ name, mimeType, bytes })),
    })),
    steps: steps.map(({ carry: _carry, ...step }) => ({
      ...step,
      calls: step.calls.map((call) => {
        calls += 1;
        const id = `${turn.id.replace(/[^A-Za-z0-9]/g, "_").slice(-30)}_${calls}`;
        const text = cutToCharacters(call.text, maxResultCharacters);
        return { ...call, id, text, inputJson: stubInput(call.inputJson, maxInputCharacters) };
      }),
    })),
  };
}

/** Makes the exchange end with the assistant's words so that the next one can start with a person's message. */
function withEnding<T extends Transcript>(transcript: T, failure: string | undefined): T {
  const { steps, messages } = transcript;
  const last = steps.at(-1);
  const isAnswered = last !== undefined && last.calls.length === 0 && last.text.trim() !== "";
  if (isAnswered && failure === undefined) return transcript;
  if (isAnswered) {
    return { ...transcript, steps: [...steps.slice(0, -1), { ...last, text: `${last.text}\n\n[${failure}]` }] };
  }
  const text = `[This turn ended without an answer: ${failure ?? "it was stopped"}]`;
  return { ...transcript, steps: [...steps, { text, seenMessages: messages.length, calls: [] }] };
}

function bounded(exchanges: readonly StoredExchange[]): StoredExchange[] {
  const kept: StoredExchange[] = [];
  let characters = 0;
  for (const exchange of exchanges.toReversed()) {
    characters += JSON.stringify(exchange).length;
    if (kept.length > 0 && (kept.length >= maxExchanges || characters > maxCharacters)) break;
    kept.unshift(exchange);
  }
  return kept;
}

function historyKey(conversationId: string): string {
  return `history:${conversationId}`;
}
