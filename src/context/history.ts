/**
 * A conversation's earlier exchanges, one per turn, in the order in which turns ended (history-store.ts). Messages and
 * answers are complete, tool results and arguments shortened; images and attached text are left out. Number and size are
 * limited, but the newest exchange is always kept.
 */
import { z } from "zod";
import { distinctOrigins, isOrigins, type Origin, originOf, originOfPerson } from "../ports/origin.ts";
import type { ModelMessage } from "../ports/provider.ts";
import { type ToolSpec, withoutImages } from "../ports/tool.ts";
import { callsOf, isFulfilledAnnouncement, refusedText, type TurnRecord } from "../ports/turn.ts";
import { originsOfTool, originsOfTurn } from "../ports/turn-origins.ts";
import { cutToCharacters } from "./cut.ts";
import { fitHeardTokens, shortenHeard } from "./heard.ts";
import { stubCall, stubInput } from "./shorten.ts";
import { messageTokens, renderTranscript, type TakenStep, type Transcript, transcriptOf } from "./transcript.ts";

const maxExchanges = 100;
const maxCharacters = 400_000;
const maxResultCharacters = 4_000;
const maxInputCharacters = 1_000;
/** Limits for what others said before a turn: in total, per message, and per message of older exchanges. */
const maxHeardTokens = 2_000;
const maxHeardCharacters = 500;
const maxStaleHeardCharacters = 160;

const attachment = z.strictObject({
  name: z.string(),
  mimeType: z.string(),
  bytes: z.number(),
  /** Absent in entries of earlier versions, and if the file was not fetched. */
  path: z.string().exactOptional(),
});
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
const heardMessage = z.strictObject({
  id: z.string(),
  kind: z.enum(["root", "thread", "channel", "linked"]),
  author: z.string(),
  authorId: z.string(),
  isBot: z.boolean(),
  isOwn: z.boolean(),
  at: z.number(),
  text: z.string(),
  files: z.array(z.string()),
});
const takenStep = z.strictObject({ text: z.string(), seenMessages: z.number(), calls: z.array(calledTool) });
export const exchangeSchema = z.strictObject({
  turnId: z.string(),
  endedAt: z.number(),
  /** Absent if others said nothing before, and in entries of earlier versions. */
  heard: z.strictObject({ messages: z.array(heardMessage), leftOut: z.number() }).exactOptional(),
  messages: z.array(saidMessage).min(1),
  steps: z.array(takenStep),
  /** The `provider/model` that declined to answer, before another one did. */
  declinedBy: z.string().exactOptional(),
  /** Origins of everything said and read in the turn. Absent in entries of earlier versions. */
  origins: z.custom<Origin[]>(isOrigins).exactOptional(),
  /** Estimated tokens: `fresh` with tool results (for the newest exchange), `stale` with stubs instead. */
  tokens: z.strictObject({ fresh: z.number(), stale: z.number() }),
});
export type StoredExchange = z.infer<typeof exchangeSchema>;
export type Exchange = StoredExchange & { origins: Origin[] };

export function renderExchange(exchange: StoredExchange, isStale: boolean): ModelMessage[] {
  if (!isStale) return renderTranscript(transcriptIn(exchange));
  const { heard, messages, steps } = transcriptIn(exchange);
  const short = heard === undefined ? {} : { heard: shortenHeard(heard, maxStaleHeardCharacters) };
  return renderTranscript({
    ...{ ...short, messages },
    steps: steps.map((step) => ({ ...step, calls: step.calls.map(stubCall) })),
  });
}

function transcriptIn({ heard, messages, steps }: StoredExchange): Transcript {
  return { ...(heard === undefined ? {} : { heard }), messages, steps };
}

/** Removes what a person said before the turn. The answer may still mention it. */
export function withoutHeard(exchange: StoredExchange, authorId: string, userId: string | undefined): StoredExchange {
  const { heard, ...rest } = exchange;
  if (heard === undefined || !heard.messages.some((message) => message.authorId === authorId)) return exchange;
  const messages = heard.messages.filter((message) => message.authorId !== authorId);
  const isTheirs = ({ kind, personId }: Origin) => kind === "person" && personId === userId;
  const origins = (exchange.origins ?? []).map((each) => (isTheirs(each) ? originOf("person", "somebody") : each));
  return withTokens({ ...rest, origins, ...(messages.length === 0 ? {} : { heard: { ...heard, messages } }) });
}

function withTokens(exchange: StoredExchange): StoredExchange {
  const tokensOf = (isStale: boolean) => messageTokens(renderExchange(exchange, isStale));
  return { ...exchange, tokens: { fresh: tokensOf(false), stale: tokensOf(true) } };
}

/** Guesses the origins of an exchange that was stored without them, from its speakers and its tools' descriptions. */
export function likelyOrigins({ messages, steps }: StoredExchange, tools: readonly ToolSpec[]): Origin[] {
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

export function exchangeOf(turn: TurnRecord, tools: readonly ToolSpec[], now: number): StoredExchange {
  const transcript =
    turn.isRefused === true ? refusedTranscript(turn) : withEnding(shortTranscript(turn), turn.failure);
  const origins = distinctOrigins(originsOfTurn(turn, tools));
  const declinedBy = turn.steps.find(({ insteadBecause }) => insteadBecause === "provider.refused")?.requestedModel;
  return withTokens({
    ...{ turnId: turn.id, endedAt: turn.endedAt ?? now, ...transcript, origins },
    ...(declinedBy === undefined ? {} : { declinedBy }),
    tokens: { fresh: 0, stale: 0 },
  });
}

/** Without what was asked, read and half-said, because a prompt that repeats it would be refused as well. */
function refusedTranscript(turn: TurnRecord) {
  const { messages } = shortTranscript({ ...turn, messages: turn.messages.slice(0, 1) });
  const ran = new Set(callsOf(turn).flatMap(({ startedAt, raw }) => (startedAt === undefined ? [] : [raw.name])));
  const before = ran.size === 0 ? "" : ` These tools had run before: ${[...ran].join(", ")}.`;
  return {
    messages: messages.map((message) => ({ ...message, text: refusedText, attachments: [] })),
    steps: [{ text: `[A model declined to answer this.${before}]`, seenMessages: 1, calls: [] }],
  };
}

/** Shortens a turn's transcript and makes its call ids unique in the whole history, not only within the turn. */
function shortTranscript(turn: TurnRecord) {
  const { heard: whole, messages, steps } = transcriptOf(turn);
  const heard = whole && fitHeardTokens(shortenHeard(whole, maxHeardCharacters), maxHeardTokens);
  let calls = 0;
  return {
    ...(heard === undefined ? {} : { heard }),
    messages: messages.map((message) => ({
      ...message,
      attachments: message.attachments.map(({ name, mimeType, bytes, path }) => ({
        ...{ name, mimeType, bytes },
        ...(path === undefined ? {} : { path }),
      })),
    })),
    steps: withoutAnnouncements(steps).map(({ carry: _carry, ...step }) => ({
      ...step,
      calls: step.calls.map((call) => {
        calls += 1;
        const id = `${turn.id.replace(/[^A-Za-z0-9]/g, "_").slice(-30)}_${calls}`;
        const text = cutToCharacters(call.text, maxResultCharacters);
        return { ...withoutImages({ ...call, text }), id, inputJson: stubInput(call.inputJson, maxInputCharacters) };
      }),
    })),
  };
}

/** As people read it: an announcement that led to a call is left out; any other is joined with what the model said next. */
function withoutAnnouncements(steps: readonly TakenStep[]): TakenStep[] {
  const kept = steps.filter((step) => !isFulfilledAnnouncement(step, steps));
  return kept.flatMap(({ isAnnouncement, ...step }, index) => {
    const before = kept[index - 1];
    if (isAnnouncement === true && index < kept.length - 1) return [];
    return [before?.isAnnouncement === true ? { ...step, text: `${before.text}\n\n${step.text}`.trim() } : step];
  });
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

export function bounded(exchanges: readonly StoredExchange[]): StoredExchange[] {
  const kept: StoredExchange[] = [];
  let characters = 0;
  for (const exchange of exchanges.toReversed()) {
    characters += JSON.stringify(exchange).length;
    if (kept.length > 0 && (kept.length >= maxExchanges || characters > maxCharacters)) break;
    kept.unshift(exchange);
  }
  return kept;
}
