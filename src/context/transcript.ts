/** Converts turns to model messages. The model sees no difference between a running turn and one from history. */
import { type EphemeralTexts, notKeptText, resultKey } from "../ports/ephemeral.ts";
import type { Attachment } from "../ports/message.ts";
import type { Carry, ModelMessage, UserPart } from "../ports/provider.ts";
import type { ShownContext } from "../ports/shown-context.ts";
import { jobIdOf, type ToolImage, type ToolStatus } from "../ports/tool.ts";
import { loadSkillName } from "../ports/tool-offer.ts";
import type { CallRecord, TurnRecord } from "../ports/turn.ts";
import { emptyFence, escapeFences, fence } from "./fence.ts";
import { type HeardMessages, heardIn, renderHeard, timeText } from "./heard.ts";
import { type RuntimeClock, renderRuntime, renderShown, skillBodyIn } from "./sections.ts";
import { estimateTokens, imageTokens } from "./tokens.ts";

interface SaidMessage {
  /** Absent in entries of earlier versions. */
  id?: string;
  author: string;
  /** `platform:id`. */
  authorId: string;
  isBot: boolean;
  /** As it was then. Absent if unknown, and in entries of earlier versions. */
  timeZone?: string;
  at: number;
  text: string;
  attachments: Attachment[];
  /** After its turn had begun. */
  isEdited?: true;
}

export interface CalledTool {
  id: string;
  name: string;
  inputJson: string;
  status: ToolStatus | "none";
  text: string;
  /** Only in a running turn; history does not store them. */
  images?: ToolImage[];
  /** `text` may not be stored. Only in a running turn. */
  isEphemeral?: true;
}

export interface TakenStep {
  text: string;
  /** How many of the turn's messages existed when the model was called. */
  seenMessages: number;
  calls: CalledTool[];
  carry?: Carry;
  /** Only in a running turn; history does not store such a step. */
  isAnnouncement?: true;
}

export interface Transcript {
  /** What others said before the first message. */
  heard?: HeardMessages;
  /** Absent in entries of earlier versions. */
  shown?: ShownContext[];
  messages: SaidMessage[];
  steps: TakenStep[];
}

/** Without `ephemeral`, results that are not kept only say so. */
export function transcriptOf(turn: TurnRecord, ephemeral?: Pick<EphemeralTexts, "get">): Transcript {
  const heard = heardIn(turn);
  return {
    ...(heard === undefined ? {} : { heard }),
    ...(turn.shown === undefined ? {} : { shown: turn.shown }),
    messages: turn.messages.map((message) => ({
      id: message.id,
      author: message.author.name,
      authorId: `${message.platform}:${message.author.id}`,
      isBot: message.author.isBot,
      ...(message.author.timeZone === undefined ? {} : { timeZone: message.author.timeZone }),
      at: message.at,
      text: message.text,
      attachments: message.attachments,
      ...(message.isEdited === undefined ? {} : { isEdited: message.isEdited }),
    })),
    steps: turn.steps.map((step) => {
      const { text, seenMessages = turn.messages.length, carry, model, isAnnouncement } = step;
      const kept = carry === undefined ? {} : { carry: { model, data: carry } };
      const calls = step.calls.map((record) => withEphemeral(callOf(record), record, turn, ephemeral));
      return { text, seenMessages, calls, ...kept, ...(isAnnouncement === undefined ? {} : { isAnnouncement }) };
    }),
  };
}

function callOf(record: CallRecord): CalledTool {
  const { raw, result } = record;
  const { id, name, inputJson } = raw;
  // Normally every call is finished by now, but services require a result for every call.
  if (result === undefined) return { id, name, inputJson, status: "none", text: "no result" };
  const { status, text, images } = result;
  return { id, name, inputJson, status, text, ...(images === undefined ? {} : { images }) };
}

function withEphemeral(
  called: CalledTool,
  { result, raw, round }: CallRecord,
  turn: TurnRecord,
  ephemeral: Pick<EphemeralTexts, "get"> | undefined,
): CalledTool {
  if (result?.isEphemeral !== true) return called;
  const text = ephemeral?.get(resultKey(jobIdOf(turn.id, raw.id, round)));
  // Before the result there may be a note.
  return text === undefined
    ? called
    : { ...called, text: called.text.replace(notKeptText, () => text), isEphemeral: true };
}

/** Returns the model messages of a transcript, the same ones with each further step. Without `clock`, only what was said and done. */
export function renderTranscript(transcript: Transcript, clock?: RuntimeClock): ModelMessage[] {
  const { heard, shown = [], messages, steps } = transcript;
  const rendered: ModelMessage[] = [];
  const bodies = shown.flatMap(({ pieces }) => pieces.flatMap(({ text }) => skillBodyIn(text) ?? []));
  let said = 0;
  const say = (until: number) => {
    const next = messages.slice(said, until);
    const contexts = shown.filter((one) => one.messages > said && one.messages <= until);
    const head = said === 0 && heard !== undefined ? renderHeard(heard) : "";
    said = Math.max(said, until);
    if (next.length > 0) rendered.push(...userMessages(head, next, contexts, clock));
  };
  for (const step of steps) {
    say(Math.max(1, step.seenMessages));
    rendered.push(...stepMessages(step, bodies));
  }
  say(messages.length);
  return rendered;
}

const announcedNote = fence(
  "runtime",
  {},
  "note: You said what you would do, but did not call the tool, so nothing has happened yet. Call it now. If none is needed, answer.",
);

function stepMessages(step: TakenStep, bodies: readonly string[] = []): ModelMessage[] {
  const { text, calls, carry, isAnnouncement } = step;
  if (text.trim() === "" && calls.length === 0) return [];
  const reminder: ModelMessage[] =
    isAnnouncement === true ? [{ role: "user", content: [{ type: "text", text: announcedNote }] }] : [];
  const toolCalls = calls.map(({ id, name, inputJson }) => ({ id, name, inputJson }));
  const results = calls.map(
    (call): ModelMessage => ({
      role: "tool",
      callId: call.id,
      name: call.name,
      text: withoutBodies(fence("tool_result", { tool: call.name, status: call.status }, call.text), call, bodies),
      ...(call.images === undefined ? {} : { images: call.images }),
      ...(call.isEphemeral === undefined ? {} : { isEphemeral: call.isEphemeral }),
      isError: call.status !== "ok",
    }),
  );
  return [{ role: "assistant", text, toolCalls, ...(carry === undefined ? {} : { carry }) }, ...results, ...reminder];
}

/** The message has brought up the skill that the model loads then. */
function withoutBodies(result: string, { name }: CalledTool, bodies: readonly string[]): string {
  if (name !== loadSkillName) return result;
  return bodies.reduce((text, body) => text.replace(body, () => "(Its text is in the skill_body above.)"), result);
}

/**
 * One person's words stand alone in a message, behind the facts, because small models answer what they read last: with the facts
 * and the words in one message, they call tools for questions that need none. Several messages have tags that say who wrote them.
 */
function userMessages(
  head: string,
  said: readonly SaidMessage[],
  contexts: readonly ShownContext[],
  clock: RuntimeClock | undefined,
): ModelMessage[] {
  const newest = said.at(-1);
  if (newest === undefined) return [];
  const facts = [
    head,
    ...(clock === undefined ? [] : [...contexts.map(renderShown), renderRuntime(newest, contexts, clock)]),
  ];
  const isAlone = clock !== undefined && said.length === 1 && newest.text.trim() !== "";
  const rest = isAlone ? newest.attachments.map(renderAttachment) : said.map(renderSaid);
  const text = [...facts, ...rest].filter((part) => part !== "").join("\n\n");
  const images = said
    .flatMap((message) => message.attachments)
    .flatMap(({ mimeType, imageMimeType = mimeType, imageBase64 }): UserPart[] =>
      imageBase64 === undefined ? [] : [{ type: "image", mimeType: imageMimeType, base64: imageBase64 }],
    );
  const first: ModelMessage = { role: "user", content: [{ type: "text", text }, ...images] };
  if (!isAlone) return [first];
  return [first, { role: "user", content: [{ type: "text", text: escapeFences(newest.text) }], isWords: true }];
}

function renderSaid({ author, authorId, at, isBot, text, attachments, isEdited }: SaidMessage): string {
  const edited = isEdited === true ? "after you had read it" : undefined;
  const who = { author, id: authorId, at: timeText(at), bot: isBot ? "yes" : undefined, edited };
  return [fence("message", who, text), ...attachments.map(renderAttachment)].join("\n");
}

function renderAttachment(attachment: Attachment): string {
  const { name, mimeType, bytes, path, summary, problem, text, imageBase64 } = attachment;
  const what = { name, type: mimeType, bytes: String(bytes), path };
  if (text !== undefined) return fence("attachment", what, text);
  const about = [summary, problem === undefined ? undefined : `Problem: ${problem}`].filter(
    (each) => each !== undefined,
  );
  const shown = imageBase64 !== undefined ? "as an image" : summary !== undefined ? "as a summary" : "no";
  if (about.length === 0) return emptyFence("attachment", { ...what, shown });
  return fence("attachment", { ...what, shown }, about.join("\n\n"));
}

/**
 * Numbers the calls, because the services' own ids are long, and those of small servers return in each turn. Nine letters and
 * digits, which is all that Mistral takes. What a model wants back with its calls may name their ids, so these stay, unless they
 * return.
 */
export function withShortIds(messages: readonly ModelMessage[]): ModelMessage[] {
  let count = 0;
  const used = new Set<string>();
  const waiting = new Map<string, string>();
  const numbered = (id: string) => {
    count += 1;
    const short = `call${String(count).padStart(5, "0")}`;
    waiting.set(id, short);
    return short;
  };
  return messages.map((message) => {
    if (message.role === "user") return message;
    if (message.role === "tool") return { ...message, callId: waiting.get(message.callId) ?? message.callId };
    const toolCalls = message.toolCalls.map((call) => ({ ...call, id: numbered(call.id) }));
    const ids = message.toolCalls.map(({ id }) => id);
    if (message.carry === undefined || ids.some((id) => used.has(id))) return { ...message, toolCalls };
    for (const id of ids) {
      used.add(id);
      waiting.delete(id);
    }
    return message;
  });
}

export function messageTokens(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + frameTokens + contentTokens(message), 0);
}

export function stepTokens(step: TakenStep): number {
  return messageTokens(stepMessages(step));
}

const frameTokens = 4;

/** Encrypted thinking costs about as many tokens as its text, which its length approximates. */
function carryTokens(carry: Carry | undefined): number {
  return carry === undefined ? 0 : Math.ceil(JSON.stringify(carry.data).length / 4);
}

function contentTokens(message: ModelMessage): number {
  switch (message.role) {
    case "user":
      return message.content.reduce(
        (sum, part) => sum + (part.type === "image" ? imageTokens : estimateTokens(part.text)),
        0,
      );
    case "assistant":
      return message.toolCalls.reduce(
        (sum, call) => sum + frameTokens + estimateTokens(call.name) + estimateTokens(call.inputJson),
        estimateTokens(message.text) + carryTokens(message.carry),
      );
    case "tool":
      return estimateTokens(message.text) + (message.images?.length ?? 0) * imageTokens;
    default:
      return message satisfies never;
  }
}
