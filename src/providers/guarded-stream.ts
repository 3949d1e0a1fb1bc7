/**
 * Enforces the provider port's contract: a stream never throws, and ends with exactly one `end` or `error`. Each phase
 * (connect, first token, idle, thinking) has its timeout. An abort, a timeout, an exception, a missing end, a refusal, an
 * empty or an endless answer becomes an `error`. Finally reads the response to its last byte so that the connection can be reused.
 */
import { type RemoraError, remoraErrorIn } from "../lib/errors.ts";
import { inBatches } from "../lib/in-batches.ts";
import { durationText } from "../ports/progress.ts";
import {
  type BrokenUsage,
  type ModelEvent,
  type ModelRequest,
  maxProviderStateLength,
  type Usage,
} from "../ports/provider.ts";
import { tokensOf } from "../ports/usage.ts";
import { createAnswerBounds } from "./answer-bounds.ts";
import { createCheckedFetch, withRepairedEvents } from "./checked-fetch.ts";
import { type FailureDetails, failure, thrownFailure } from "./classify-failure.ts";
import type { FailureKind, ProviderPlace } from "./failure-kinds.ts";
import { type Limits, limitsOf, type Timeouts, withoutClientTimeouts } from "./patience.ts";
import { cleanUsage } from "./reported-usage.ts";
import type { ReadText } from "./shown-text.ts";
import type { TextCallReader } from "./text-call-reader.ts";

/**
 * Output of a provider's generator. `progress` only shows that the stream is alive; after `thinking` the model may be
 * silent for a long time. `length`: the characters that came and are not shown: arguments, reasoning, signatures. `hidden`: of
 * these, what the model itself writes. `refusal` ends
 * an answer that the model declined to give; `note` and `said` are for people.
 * The generator throws on any failure.
 */
export type StreamPiece =
  | Exclude<ModelEvent, { type: "error" | "restart" | "retract" }>
  | { type: "progress"; length?: number; hidden?: string }
  | { type: "thinking"; length?: number; hidden?: string }
  | ({ type: "refusal"; usage: Usage } & RefusalWords);

/** Why a model declined: in our words, and in its own or the service's. */
export type RefusalWords = Pick<FailureDetails, "note" | "said">;

export interface StreamCall {
  signal: AbortSignal;
  fetch: typeof globalThis.fetch;
  /** For what the service has counted so far: all that is known if the stream breaks off. */
  onUsage(usage: Usage): void;
}

export interface StreamAttempt {
  place: ProviderPlace;
  timeouts: Timeouts;
  request: Pick<ModelRequest, "connectMs" | "onSent" | "tools" | "named" | "messages" | "tries"> &
    Partial<Pick<ModelRequest, "system" | "maxOutputTokens">>;
  open(call: StreamCall): AsyncIterable<StreamPiece>;
}

/** Four times what the models with the longest answers can say, all that is not shown included. A server that repeats itself would fill the memory. */
const maxAnswerCharacters = 2_000_000;

/** If a finished response takes longer to close, its connection is dropped. */
const drainMs = 1_000;

export async function* guardedStream(attempt: StreamAttempt, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  const { place } = attempt;
  const controller = new AbortController();
  const limits = limitsOf(attempt.timeouts, place.baseUrl, attempt.request);
  const deadline = createDeadline(limits, attempt.request.connectMs, controller);
  const combined = AbortSignal.any([signal, controller.signal]);
  const checked = createCheckedFetch(place, combined, () => {
    deadline.connected();
    attempt.request.onSent?.();
  });
  const fetchNow: typeof globalThis.fetch = async (input, init) => {
    deadline.connecting();
    if (attempt.request.tries !== undefined) attempt.request.tries.left -= 1;
    return withRepairedEvents(place, await checked.fetch(input, withoutClientTimeouts(init)), deadline.waiting);
  };
  const explain = (thrown: unknown): RemoraError => {
    if (signal.aborted) return failure(place, "aborted");
    return deadline.failure(place) ?? remoraErrorIn(thrown) ?? thrownFailure(place, checked.thrown() ?? thrown);
  };
  let seen: Usage | undefined;
  let length = 0;
  const used = (): BrokenUsage[] => {
    const usage = cleanUsage(usedSoFar(seen, length));
    return seen === undefined || tokensOf(usage) === 0 ? [] : [{ model: `${place.name}/${place.model}`, usage }];
  };
  const failed = (error: RemoraError): ModelEvent => {
    const counted = used();
    return { type: "error", error, ...(counted.length === 0 ? {} : { used: counted }) };
  };
  const onUsage = (usage: Usage) => {
    seen = { ...usage };
  };
  let iterator: AsyncIterator<StreamPiece> | undefined;
  let stopPulling: ((reason: unknown) => void) | undefined;
  // One listener serves the whole stream, because a model sends hundreds of pieces.
  const onAbort = () => stopPulling?.(combined.reason);
  combined.addEventListener("abort", onAbort, { once: true });
  let hasEnded = false;
  try {
    iterator = withinBounds(withJoinedText(attempt.open({ signal: combined, fetch: fetchNow, onUsage })), attempt);
    const reader = callsNatively(place) ? undefined : await createReader(attempt);
    let hasBegun = false;
    let hasSaid = false;
    let hasCalls = false;
    for (;;) {
      let piece = await pull(iterator, deadline, combined, (stop) => {
        stopPulling = stop;
      });
      if (piece === undefined) {
        // Check for an abort, because the libraries end an aborted stream without an error.
        const isOver = signal.aborted || deadline.failure(place) !== undefined;
        yield failed(isOver ? explain(undefined) : failure(place, hasBegun ? "cut" : "empty"));
        return;
      }
      hasBegun = true;
      length += lengthOf(piece);
      if (length > maxAnswerCharacters) {
        yield failed(failure(place, "endless"));
        return;
      }
      if (piece.type === "progress" || piece.type === "thinking") {
        if ((piece.length ?? 0) > 0) reader?.thinksApart();
        continue;
      }
      if (piece.type === "refusal") {
        hasEnded = true;
        yield { type: "restart", model: `${place.name}/${place.model}`, usage: cleanUsage(piece.usage) };
        yield { type: "error", error: failure(place, "refused", { said: piece.said, note: piece.note }) };
        return;
      }
      if (piece.type === "text-delta") {
        const read = reader?.add(piece.text) ?? { isNew: false, text: piece.text };
        hasSaid = (hasSaid && !read.isNew) || saysSomething.test(read.text);
        yield* textEvents(read);
        if (reader?.isOver() !== true) continue;
        piece = { type: "end", stop: "end", usage: nothingUsed, model: `${place.name}/${place.model}` };
      }
      if (piece.type === "end") {
        if (piece.usage === nothingUsed) piece = { ...piece, usage: usedSoFar(seen, length) };
        else seen = piece.usage;
        hasEnded = reader?.isOver() !== true;
        const isRepeating = piece.stop === "repeating";
        const written = reader?.end(isRepeating || piece.stop === "max-tokens") ?? nothingWritten;
        hasSaid =
          (hasSaid && !written.isNew) || written.calls.length > 0 || (!isRepeating && saysSomething.test(written.text));
        if (isRepeating && !hasSaid) {
          yield failed(failure(place, "repeating"));
          return;
        }
        if (!hasSaid && (piece.stop === "end" || piece.stop === "tool-calls")) {
          yield failed(failure(place, "empty"));
          return;
        }
        // What was held back is a part of the repetition.
        if (!isRepeating) yield* textEvents(written);
        if (!hasCalls) for (const call of written.calls) yield { type: "tool-call", ...call };
        const stop = written.calls.length > 0 && piece.stop !== "max-tokens" ? "tool-calls" : piece.stop;
        yield withShortCarry({ ...piece, stop, usage: cleanUsage(piece.usage) });
        return;
      }
      if (piece.type === "tool-call") {
        // A model that calls natively may write the same call as text; only one of them counts.
        yield* textEvents(reader?.end(false) ?? nothingWritten);
        hasSaid = true;
        hasCalls = true;
      }
      yield piece;
    }
  } catch (thrown) {
    yield failed(explain(thrown));
  } finally {
    deadline.clear();
    // With a listener, Node keeps a combined signal, and all that the listener reaches, for ever.
    combined.removeEventListener("abort", onAbort);
    release(iterator, controller, hasEnded);
  }
}

/** Each piece counts, so that empty ones without end are an answer without end, too. */
function lengthOf(piece: StreamPiece): number {
  if (piece.type === "text-delta") return piece.text.length;
  return Math.max(1, piece.type === "progress" || piece.type === "thinking" ? (piece.length ?? 0) : 0);
}

/** Dots and marks of Markdown with nothing in them are no answer. Other characters can be one. */
const saysSomething = /[^\s.…,*#>_-]/;

const nothingWritten = { isNew: false, text: "", calls: [] };

function* textEvents({ isNew, text }: ReadText): Generator<ModelEvent> {
  if (isNew) yield { type: "retract" };
  if (text !== "") yield { type: "text-delta", text };
}

/** Joins text that arrives together, because every reader of the stream handles each piece by itself. */
async function* withJoinedText(pieces: AsyncIterable<StreamPiece>): AsyncGenerator<StreamPiece> {
  for await (const batch of inBatches(pieces)) {
    let text = "";
    for (const piece of batch) {
      if (piece.type === "text-delta") {
        text += piece.text;
        continue;
      }
      if (text !== "") yield { type: "text-delta", text };
      text = "";
      yield piece;
    }
    if (text !== "") yield { type: "text-delta", text };
  }
}

/** Loaded for the servers that need it. */
async function createReader({ request, place }: StreamAttempt): Promise<TextCallReader> {
  const [{ createTextCallReader }, { withUnknownCalls }] = await Promise.all([
    import("./text-call-reader.ts"),
    import("./unknown-text-call.ts"),
  ]);
  return withUnknownCalls(createTextCallReader(request, mayBeginThinking(place.model)), request);
}

/** At their own addresses, these services have only models with native calls. Other servers speak their protocols too. */
function callsNatively({ baseUrl }: ProviderPlace): boolean {
  return /(?:^|\.)api\.(?:anthropic|openai)\.com$/.test(URL.parse(baseUrl)?.hostname ?? "");
}

/** Of an answer that we end: the service has not said what it has used. */
const nothingUsed: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

const charactersPerToken = 4;

/** Services count the answer only at its end, but charge for what has come. */
function usedSoFar(seen: Usage | undefined, characters: number): Usage {
  if (seen === undefined || tokensOf(seen) === 0) return nothingUsed;
  return { ...seen, outputTokens: Math.max(seen.outputTokens, Math.floor(characters / charactersPerToken)) };
}

/** Ends an answer that the model does not end. */
async function* withinBounds(
  pieces: AsyncIterable<StreamPiece>,
  { place, request }: StreamAttempt,
): AsyncGenerator<StreamPiece> {
  const bounds = createAnswerBounds(place, request.maxOutputTokens ?? Number.POSITIVE_INFINITY);
  for await (const piece of pieces) {
    yield piece;
    const stop = bounds.stopAfter(textsOf(piece));
    if (stop === undefined) continue;
    yield { type: "end", stop, usage: nothingUsed, model: `${place.name}/${place.model}` };
    return;
  }
}

function textsOf(piece: StreamPiece): { text?: string; hidden?: string } {
  if (piece.type === "text-delta") return { text: piece.text };
  return piece.type === "progress" || piece.type === "thinking" ? piece : {};
}

/** The templates of these begin an answer with the tag of thinking, so it is in the prompt, and only the closing one in the text. */
function mayBeginThinking(model: string): boolean {
  return /qwq|(?:^|[-/_:])r1(?:[-/_:.]|$)|qwen[^/]*-thinking/i.test(model);
}

/** Drops all provider state if it is too long for the journal, because a service would refuse partial state. */
function withShortCarry(end: Extract<ModelEvent, { type: "end" }>): ModelEvent {
  const { carry, ...rest } = end;
  return carry === undefined || JSON.stringify(carry).length <= maxProviderStateLength ? end : rest;
}

/**
 * Undefined at the end of the stream. `onStop` gets what rejects the pull when the signal aborts, even if the library does
 * not react.
 */
async function pull(
  iterator: AsyncIterator<StreamPiece>,
  deadline: Deadline,
  signal: AbortSignal,
  onStop: (stop: (reason: unknown) => void) => void,
): Promise<StreamPiece | undefined> {
  signal.throwIfAborted();
  deadline.start();
  try {
    const result = await new Promise<IteratorResult<StreamPiece>>((resolve, reject) => {
      onStop(reject);
      iterator.next().then(resolve, reject);
    });
    if (!result.done) deadline.heard(result.value);
    return result.done ? undefined : result.value;
  } finally {
    deadline.pause();
  }
}

function release(
  iterator: AsyncIterator<StreamPiece> | undefined,
  controller: AbortController,
  hasEnded: boolean,
): void {
  const close = () => {
    controller.abort();
    // A generator that waits for a dead connection may never return, so do not await it.
    iterator?.return?.().catch(() => {});
  };
  if (iterator === undefined || !hasEnded) {
    close();
    return;
  }
  const timer = setTimeout(close, drainMs);
  timer.unref();
  drain(iterator)
    .catch(() => {})
    .finally(() => {
      clearTimeout(timer);
      // A reader may have ended while the response is still open.
      close();
    });
}

async function drain(iterator: AsyncIterator<StreamPiece>): Promise<void> {
  for (;;) {
    const { done } = await iterator.next();
    if (done) return;
  }
}

interface Deadline {
  /** Starts the time of the phase anew. */
  start(): void;
  /** Time does not count until the next start. */
  pause(): void;
  /** The client library is loaded and sends its request. */
  connecting(): void;
  connected: () => void;
  /** The service keeps the connection open while the model is silent. Counts once, so it may not last for ever. */
  waiting: () => void;
  heard(piece: StreamPiece): void;
  clear(): void;
  failure(place: ProviderPlace): RemoraError | undefined;
}

type Phase = "load" | "connect" | "firstToken" | "idle" | "thinking";

function createDeadline(most: Limits, maxConnectMs: number | undefined, controller: AbortController): Deadline {
  const limits: Record<Phase, number> = {
    load: most.connectMs,
    connect: Math.min(most.connectMs, maxConnectMs ?? most.connectMs),
    firstToken: most.firstTokenMs,
    idle: most.idleMs,
    thinking: most.thinkingMs,
  };
  const kinds: Record<Phase, FailureKind> = {
    load: "connectTimeout",
    connect: "connectTimeout",
    firstToken: "firstTokenTimeout",
    idle: "idleTimeout",
    thinking: "idleTimeout",
  };
  let phase: Phase = "load";
  let expired: Phase | undefined;
  let isRunning = false;
  let hasOutput = false;
  let timed: Phase | undefined;
  let timer: NodeJS.Timeout | undefined;

  function expire(): void {
    if (!isRunning) return;
    expired = phase;
    controller.abort();
  }

  function start(): void {
    isRunning = true;
    if (timed === phase) {
      timer?.refresh();
      return;
    }
    clearTimeout(timer);
    timed = phase;
    timer = setTimeout(expire, limits[phase]);
  }

  function enter(from: Phase, to: Phase): void {
    if (phase !== from) return;
    phase = to;
    if (isRunning) start();
  }

  return {
    start,
    pause() {
      isRunning = false;
    },
    connecting: () => enter("load", "connect"),
    connected: () => {
      enter("load", "connect");
      enter("connect", "firstToken");
    },
    waiting: () => enter("firstToken", "thinking"),
    heard(piece) {
      // Servers that have only begun may say so at once, and then read the prompt.
      const isBeginning = !hasOutput && piece.type === "progress" && !piece.length;
      hasOutput ||= !isBeginning && !(piece.type === "thinking" && !piece.length);
      phase = isBeginning || piece.type === "thinking" ? "thinking" : "idle";
    },
    clear() {
      isRunning = false;
      clearTimeout(timer);
    },
    failure(place) {
      if (expired === undefined) return undefined;
      // With no output, and no shorter limit from the settings, it is the first token that did not come.
      const isUnbegun = expired === "thinking" && !hasOutput && most.thinkingMs >= most.firstTokenMs;
      const isSlow = most.isPatient && (expired === "firstToken" || isUnbegun);
      const kind = isSlow ? "firstTokenTooLate" : kinds[expired];
      return failure(place, kind, { note: `waited ${durationText(limits[expired])}` });
    },
  };
}
