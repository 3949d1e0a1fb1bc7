/**
 * A conversation's earlier exchanges, one per turn, in the order in which turns ended (history-store.ts). Each stays as it was sent,
 * without pictures and except where it was very long, until all together outgrow their limit. Then the oldest go and the others
 * are shortened, all at once: a little each turn would make the service read everything again each turn. The newest is always
 * kept whole.
 */
import { z } from "zod";
import { isJsonObject } from "../lib/json.ts";
import { type Attachment, deletedText, type Json } from "../ports/message.ts";
import { distinctOrigins, isOrigins, type Origin, originOf, originOfPerson } from "../ports/origin.ts";
import type { Carry, ModelMessage } from "../ports/provider.ts";
import { type ToolSpec, withoutImages } from "../ports/tool.ts";
import { callsOf, isFulfilledAnnouncement, refusedText, type TurnRecord } from "../ports/turn.ts";
import { originsOfTool, originsOfTurn } from "../ports/turn-origins.ts";
import { cutToCharacters } from "./cut.ts";
import { fitHeardTokens, shortenHeard } from "./heard.ts";
import { createRuntimeClock, type RuntimeClock } from "./sections.ts";
import { stubCall, stubInput } from "./shorten.ts";
import { messageTokens, renderTranscript, type TakenStep, type Transcript, transcriptOf } from "./transcript.ts";

const maxExchanges = 300;
const maxCharacters = 400_000;
/** Of what one call or attachment had, so that one of them can't fill the history. */
const maxResultCharacters = 24_000;
const maxInputCharacters = 12_000;
const maxHeardTokens = 8_000;
/** Per message that others wrote before, once the exchange is shortened. */
const maxStaleHeardCharacters = 160;

const attachment = z.strictObject({
  name: z.string(),
  mimeType: z.string(),
  bytes: z.number(),
  /** Absent in entries of earlier versions, and if the file was not fetched. */
  path: z.string().exactOptional(),
  text: z.string().exactOptional(),
  summary: z.string().exactOptional(),
  problem: z.string().exactOptional(),
});
const saidMessage = z.strictObject({
  /** Absent in entries of earlier versions. */
  id: z.string().exactOptional(),
  author: z.string(),
  authorId: z.string(),
  isBot: z.boolean(),
  timeZone: z.string().exactOptional(),
  at: z.number(),
  text: z.string(),
  attachments: z.array(attachment),
  isEdited: z.literal(true).exactOptional(),
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
const shownPiece = z.strictObject({
  kind: z.enum(["note", "preferences", "skill"]),
  name: z.string(),
  text: z.string(),
  origins: z.custom<Origin[]>(isOrigins),
  source: z
    .strictObject({ path: z.string(), heading: z.string(), length: z.number(), hash: z.string() })
    .exactOptional(),
});
const shownContext = z.strictObject({
  messages: z.number(),
  at: z.number(),
  notes: z.array(z.string()),
  lookingAt: z.string().exactOptional(),
  withheld: z.number(),
  pieces: z.array(shownPiece),
});
const takenStep = z.strictObject({
  ...{ text: z.string(), seenMessages: z.number(), calls: z.array(calledTool) },
  /** What the model reads again in later turns. Gone once the exchange is shortened. */
  carry: z.strictObject({ model: z.string(), data: z.custom<Json>((value) => value !== undefined) }).exactOptional(),
});
export const exchangeSchema = z.strictObject({
  turnId: z.string(),
  endedAt: z.number(),
  /** Absent if others said nothing before, and in entries of earlier versions. */
  heard: z.strictObject({ messages: z.array(heardMessage), leftOut: z.number() }).exactOptional(),
  /** Absent in entries of earlier versions. */
  shown: z.array(shownContext).exactOptional(),
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

export function renderExchange(exchange: StoredExchange, clock: RuntimeClock): ModelMessage[] {
  return renderTranscript(transcriptIn(exchange), clock);
}

function transcriptIn({ heard, shown, messages, steps }: StoredExchange): Transcript {
  return {
    ...(heard === undefined ? {} : { heard }),
    ...(shown === undefined ? {} : { shown }),
    ...{ messages, steps },
  };
}

/** Removes what a person said before the turn, and notes of what they said. The answer may still mention it. */
export function withoutHeard(exchange: StoredExchange, authorId: string, userId: string | undefined): StoredExchange {
  const { heard, shown, ...rest } = exchange;
  const isTheirs = ({ kind, personId }: Origin) => kind === "person" && personId === userId;
  const others = heard?.messages.filter((message) => message.authorId !== authorId) ?? [];
  const shownByOthers = shown?.map((one) => ({
    ...one,
    pieces: one.pieces.filter(({ origins }) => !origins.some(isTheirs)),
  }));
  const isSame = (one?: { pieces: unknown[] }[]) => one?.reduce((sum, { pieces }) => sum + pieces.length, 0);
  if (others.length === (heard?.messages.length ?? 0) && isSame(shown) === isSame(shownByOthers)) return exchange;
  const origins = (exchange.origins ?? []).map((each) => (isTheirs(each) ? originOf("person", "somebody") : each));
  return withTokens({
    ...{ ...rest, origins },
    ...(shownByOthers === undefined ? {} : { shown: shownByOthers }),
    ...(heard === undefined || others.length === 0 ? {} : { heard: { ...heard, messages: others } }),
  });
}

/** Removes what models thought, for example about words that are forgotten. */
export function withoutThinking(exchange: StoredExchange): StoredExchange {
  if (!exchange.steps.some(({ carry }) => carry !== undefined)) return exchange;
  return withTokens({ ...exchange, steps: exchange.steps.map(({ carry: _carry, ...step }) => step) });
}

export function withTokens(exchange: StoredExchange): StoredExchange {
  const clock = createRuntimeClock();
  const [fresh, stale] = [exchange, shortOf(exchange)].map((one) => messageTokens(renderExchange(one, clock)));
  return { ...exchange, tokens: { fresh: fresh ?? 0, stale: stale ?? 0 } };
}

/** Without what stood beside people's words, and with stubs of results, attachments and what others had said before. */
export function shortOf({ shown: _shown, heard, messages, steps, tokens, ...rest }: StoredExchange): StoredExchange {
  const withoutTexts = ({ name, mimeType, bytes, path }: Attachment): Attachment => ({
    ...{ name, mimeType, bytes },
    ...(path === undefined ? {} : { path }),
  });
  return {
    ...rest,
    ...(heard === undefined ? {} : { heard: shortenHeard(heard, maxStaleHeardCharacters) }),
    messages: messages.map((message) => ({ ...message, attachments: message.attachments.map(withoutTexts) })),
    steps: steps.map(({ carry: _carry, ...step }) => ({ ...step, calls: step.calls.map(stubCall) })),
    tokens: { fresh: tokens.stale, stale: tokens.stale },
  };
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

/** `read`: the turn with all that it has read, also what was deleted since. */
export function exchangeOf(turn: TurnRecord, tools: readonly ToolSpec[], now: number, read = turn): StoredExchange {
  const transcript = turn.isRefused === true ? refusedTranscript(turn) : withEnding(keptTranscript(turn), turn.failure);
  const origins = distinctOrigins(originsOfTurn(read, tools));
  const declinedBy = turn.steps.find(({ insteadBecause }) => insteadBecause === "provider.refused")?.requestedModel;
  return withTokens({
    ...{ turnId: turn.id, endedAt: turn.endedAt ?? now, ...transcript, origins },
    ...(declinedBy === undefined ? {} : { declinedBy }),
    tokens: { fresh: 0, stale: 0 },
  });
}

/** Its messages were deleted before anything had come of them. */
export function isUnsaid({ messages, steps }: TurnRecord): boolean {
  return (
    messages.every(({ text }) => text === deletedText) &&
    steps.every(({ text, calls }) => text.trim() === "" && calls.length === 0)
  );
}

/** Without what was asked, read and half-said, because a prompt that repeats it would be refused as well. */
function refusedTranscript(turn: TurnRecord) {
  const { messages } = keptTranscript({ ...turn, messages: turn.messages.slice(0, 1) });
  const ran = new Set(callsOf(turn).flatMap(({ startedAt, raw }) => (startedAt === undefined ? [] : [raw.name])));
  const before = ran.size === 0 ? "" : ` These tools had run before: ${[...ran].join(", ")}.`;
  return {
    messages: messages.map((message) => ({ ...message, text: refusedText, attachments: [] })),
    steps: [{ text: `[A model declined to answer this.${before}]`, seenMessages: 1, calls: [] }],
  };
}

/** The transcript as it was sent, without pictures. */
function keptTranscript(turn: TurnRecord) {
  const { heard: whole, shown, messages, steps } = transcriptOf(turn);
  const heard = whole && fitHeardTokens(whole, maxHeardTokens);
  const bounded = (text: string | undefined, name: "text" | "summary") =>
    text === undefined ? {} : { [name]: cutToCharacters(text, maxResultCharacters) };
  return {
    ...(heard === undefined ? {} : { heard }),
    ...(shown === undefined ? {} : { shown }),
    messages: messages.map((message) => ({
      ...message,
      attachments: message.attachments.map(({ name, mimeType, bytes, path, text, summary, problem }) => ({
        ...{ name, mimeType, bytes },
        ...(path === undefined ? {} : { path }),
        ...{ ...bounded(text, "text"), ...bounded(summary, "summary") },
        ...(problem === undefined ? {} : { problem }),
      })),
    })),
    steps: withoutAnnouncements(steps).map(({ carry, ...step }) => ({
      ...step,
      ...(carry !== undefined && isLasting(carry) ? { carry } : {}),
      calls: step.calls.map((call) => ({
        ...withoutImages({ ...call, text: cutToCharacters(call.text, maxResultCharacters) }),
        inputJson: stubInput(call.inputJson, maxInputCharacters),
      })),
    })),
  };
}

function isLasting(carry: Carry): boolean {
  const { data } = carry;
  return isJsonObject(data) && data.lasts === true && JSON.stringify(carry).length <= maxResultCharacters;
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

/** Cuts to half of a limit that is exceeded. */
export function withinLimits(exchanges: readonly StoredExchange[], maxTokens: number): StoredExchange[] {
  const size = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);
  const isWithin =
    exchanges.length <= maxExchanges &&
    size(exchanges.map(charactersOf)) <= maxCharacters &&
    size(exchanges.map(({ tokens }) => tokens.fresh)) <= maxTokens;
  return isWithin ? [...exchanges] : newestShort(exchanges, maxTokens / 2);
}

/** The newest exchange as it is, and as many of the others, shortened, as `maxTokens` have room for. */
function newestShort(exchanges: readonly StoredExchange[], maxTokens: number): StoredExchange[] {
  const kept: StoredExchange[] = [];
  let [characters, tokens] = [0, 0];
  for (const exchange of exchanges.toReversed()) {
    const next = kept.length === 0 ? exchange : shortOf(exchange);
    characters += charactersOf(next);
    tokens += next.tokens.fresh;
    const isFull = kept.length >= maxExchanges / 2 || characters > maxCharacters / 2 || tokens > maxTokens;
    if (kept.length > 0 && isFull) break;
    kept.unshift(next);
  }
  return kept;
}

function charactersOf(exchange: StoredExchange): number {
  return JSON.stringify(exchange).length;
}
