/**
 * Turns speech into text at an OpenAI-compatible endpoint (`/audio/transcriptions`). OpenAI's client library, which is
 * loaded for the first file, sends the file. An expected failure is returned as a sentence for people.
 */
import { openAsBlob } from "node:fs";
import { stat } from "node:fs/promises";
import type OpenAI from "openai";
import { codeOf, messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { packForm } from "../lib/pack-form.ts";
import { formatBytes } from "../lib/text/format-bytes.ts";
import { lowerFirst } from "../lib/text/lower-first.ts";
import { shorten } from "../lib/text/shorten.ts";
import type { Events } from "../ports/events.ts";
import type { Recording } from "../ports/turn-files.ts";
import { maxAttemptMs, maxRetries, maxTranscriptCharacters, maxUploadBytes } from "./limits.ts";

export interface TranscriptionOptions {
  /** The address up to and including `/v1`. */
  baseUrl: string;
  model: string;
  /** Absent if the server needs no key. */
  apiKey?: string;
  /** ISO 639-1. If absent, the server detects the language. */
  language?: string;
  events: Pick<Events, "emit">;
  log: Log;
  timeoutMs?: number;
}

/** `seconds` is what the service says that it has heard. It is also there if it has heard no words. */
export type Heard = ({ text: string } | { problem: string }) & { isHeard: boolean; seconds?: number };

export function createTranscription(options: TranscriptionOptions) {
  const { model, language, events, log } = options;
  let client: Promise<OpenAI> | undefined;

  return async ({ path, name, mimeType }: Recording, signal: AbortSignal): Promise<Heard> => {
    const began = Date.now();
    let size = 0;
    try {
      size = (await stat(path)).size;
      if (size > maxUploadBytes) return problem(tooLarge);
      client ??= createClient(options);
      const { audio } = await client;
      // Do not use the SDK's own file streams, which can be sent only once, so retries would be impossible.
      const file = new File([await openAsBlob(path)], name, { type: mimeType });
      const body = { file, model, ...(language === undefined ? {} : { language }) };
      const answer: unknown = await audio.transcriptions.create(body, { signal });
      const heard = transcriptOf(answer);
      if (heard === undefined) return problem(`${whereOf(options)} did not answer as expected. ${settings}`);
      const { text, seconds } = heard;
      events.emit("file.transcribed", { model, bytes: size, durationMs: Date.now() - began, ...seconds });
      const said = text === "" ? { problem: "I can't hear any words in the recording." } : { text };
      return { ...said, isHeard: true, ...seconds };
    } catch (thrown) {
      signal.throwIfAborted();
      log.warn({ model, bytes: size, error: messageOf(thrown) }, "could not transcribe a recording");
      return problem(explain(thrown, size, options));
    }
  };
}

async function createClient({ apiKey, baseUrl, timeoutMs = maxAttemptMs }: TranscriptionOptions): Promise<OpenAI> {
  const { OpenAI } = await import("openai");
  return new OpenAI({
    // The SDK requires a key even if the server does not.
    apiKey: apiKey ?? "not-needed",
    ...{ baseURL: baseUrl, timeout: timeoutMs, maxRetries, logLevel: "off" },
    fetch: async (input, init) => {
      const packed = init?.body instanceof FormData ? await packForm(init, init.body) : init;
      // Unless `window` is null and redirects are off, `fetch` keeps a copy of everything that it sends.
      return await fetch(input, { ...packed, redirect: "error", window: null }).catch(asRedirect);
    },
    organization: null,
    project: null,
  });
}

/** As an answer, so that the SDK does not send the recording again. */
function asRedirect(thrown: unknown): Response {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  if (cause instanceof Error && cause.message === "unexpected redirect") return new Response(null, { status: 307 });
  throw thrown;
}

function transcriptOf(answer: unknown): { text: string; seconds: { seconds?: number } } | undefined {
  if (typeof answer !== "object" || answer === null || !("text" in answer) || typeof answer.text !== "string")
    return undefined;
  const usage = "usage" in answer && typeof answer.usage === "object" && answer.usage !== null ? answer.usage : {};
  const found = "seconds" in usage ? usage.seconds : "duration" in answer ? answer.duration : undefined;
  const seconds = typeof found === "number" && found >= 0 ? { seconds: found } : {};
  return { text: shorten(answer.text.toWellFormed().trim(), maxTranscriptCharacters), seconds };
}

const tooLarge = `The recording has more than ${formatBytes(maxUploadBytes)}, the limit for transcription. Send a shorter one.`;
const settings = "An operator must check transcription.baseUrl and transcription.model.";

function explain(thrown: unknown, size: number, options: TranscriptionOptions): string {
  const where = whereOf(options);
  const status = statusOf(thrown);
  if (isAboutMoney(thrown, status))
    return `The account of ${lowerFirst(where)} may not spend more. An operator must add credit there, or raise its limit.`;
  switch (status) {
    case undefined:
      break;
    case 401:
    case 403:
      return `${where} refused the key. An operator must correct transcription.apiKey.`;
    case 404:
    case 405:
      return `${where} has no transcription, or no model ${options.model}. ${settings}`;
    case 307:
      return `${where} sends recordings on to another address, which gets none unless it is named. An operator must set transcription.baseUrl to it.`;
    case 413:
      return `The recording has ${formatBytes(size)}, too much for ${lowerFirst(where)}. Send a shorter one.`;
    case 429:
      return `${where} has too many requests, or no credit left. Send the recording again later, or write.`;
    default:
      return status >= 500 || status === 408 || status === 409
        ? `${where} failed. Send the recording again later, or write.`
        : `${where} can't read the recording. Send it as MP3, M4A, WAV, OGG or WebM, or write.`;
  }
  if (codeOf(thrown) === "ENOENT") return "The recording was removed before I could listen to it. Send it again.";
  if (thrown instanceof Error && /timed? ?out/i.test(thrown.message))
    return `${where} took too long. Send a shorter recording, or write.`;
  if (thrown instanceof SyntaxError) return `${where} did not answer as expected. ${settings}`;
  return `${where} can't be reached. Send the recording again later, or write. ${settings}`;
}

/** Services refuse it with many statuses, so the code says it. Groq's for a limit is `blocked_api_access`. */
function isAboutMoney(thrown: unknown, status: number | undefined): boolean {
  if (status === 402) return true;
  return /insufficient|credit|billing|spend|usage_limit|budget|blocked_api_access/.test(codeOf(thrown) ?? "");
}

function statusOf(thrown: unknown): number | undefined {
  if (typeof thrown !== "object" || thrown === null || !("status" in thrown)) return undefined;
  return typeof thrown.status === "number" ? thrown.status : undefined;
}

function whereOf({ baseUrl }: TranscriptionOptions): string {
  return `The transcription service at ${URL.parse(baseUrl)?.host ?? baseUrl}`;
}

function problem(text: string): Heard {
  return { problem: text, isHeard: false };
}
