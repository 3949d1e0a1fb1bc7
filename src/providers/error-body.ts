/** Reads a service's error response: the fields of its JSON body, and how long to wait. */
import { isJsonObject, parseJson } from "../lib/json.ts";
import { claimOf } from "./claimed-words.ts";

/** Missing fields are empty. */
export interface ErrorBody {
  message: string;
  type: string;
  code: string;
  /** More codes, from the body's details. */
  reasons?: string;
  /** How long to wait, as the body says it. */
  waitMs?: number;
  /** When a limit resets, in milliseconds since 1970. */
  resetsAt?: number;
  /** The field of the request that is wrong. */
  param?: string;
}

const maxRetryAfterMs = 24 * 60 * 60_000;
/** Google says to wait for seconds also where the quota of the day is used up. */
const dailyWaitMs = 60 * 60_000;

/**
 * Reads `{ error: { message, type, code } }`, `{ message, type, code }`, `{ error: "text" }`, `{ detail }`, `{ errors: [{ message }] }`
 * or plain text. Google wraps them in a list; OpenRouter has the words of the model's own service in `metadata.raw`.
 */
export function errorBodyOf(value: unknown): ErrorBody {
  if (typeof value === "string") return { message: textOfPage(value), type: "", code: "", ...waitOf(value) };
  if (Array.isArray(value)) return errorBodyOf(value[0]);
  if (!isFields(value)) return { message: "", type: "", code: "" };
  if (isFields(value.error)) return errorBodyOf(value.error);
  // Ollama passes on what its engine has answered, as text.
  const engines = typeof value.error === "string" ? parseJson(value.error) : undefined;
  if (isJsonObject(engines)) return errorBodyOf(engines);
  if (!value.error && isFields(value.errors)) return errorBodyOf(Object.values(value.errors)[0]);
  const textOf = (field: unknown) => (typeof field === "string" || typeof field === "number" ? String(field) : "");
  const { type, code, param } = value;
  const message = withoutSource(messageIn(value));
  const details = detailsOf(value, message);
  const reasons = ofTemplate.test(message) ? { reasons: `${details.reasons ?? ""} chat_template`.trim() } : {};
  return { message, type: textOf(type), code: textOf(code), param: textOf(param), ...details, ...reasons };
}

/** As llama.cpp, LM Studio and servers in Python begin when a model's chat template does not take the messages. */
const ofTemplate = /^(?:jinja exception:|error rendering prompt with jinja|(?:[\w.]+\.)?templateerror\b)/i;

/** llama.cpp shows the template's source before its words. */
function withoutSource(message: string): string {
  return message.replace(/^\s*-{4,}\s+While executing .*?\nError: (?=Jinja Exception:)/s, "");
}

function textOfPage(text: string): string {
  if (!/^\s*<(?:!doctype|html)/i.test(text)) return text;
  return /<title[^>]*>([^<]*)/i.exec(text)?.[1]?.trim() ?? "";
}

/** Codes and times, as Anthropic (`details`), OpenRouter (`metadata`) and Google (`status`, a list of `details`) put them. */
function detailsOf(
  { status, details, metadata }: Record<string, unknown>,
  message: string,
): Pick<ErrorBody, "reasons" | "waitMs" | "resetsAt"> {
  const found = new Map<string, string[]>();
  collect([{ status }, details, metadata], found, 0);
  const named = (...keys: string[]) => keys.flatMap((key) => found.get(key) ?? []);
  // OpenRouter's moderation says by a field of its own that it has flagged the prompt.
  const flags = found.has("flagged_input") ? ["flagged_input"] : [];
  const reasons = [...named("status", "error_code", "reason", "quotaId", "limit_source"), ...flags].join(" ");
  const seconds = Number.parseFloat(named("retryDelay")[0] ?? "");
  const saidMs = seconds >= 0 ? seconds * 1000 : waitOf(message).waitMs;
  const waitMs = /PerDay/.test(reasons) ? dailyWaitMs : (saidMs ?? -1);
  const resetsAt = Date.parse(named("resets_at", "quotaResetTimeStamp")[0] ?? dateIn(message));
  return {
    ...(reasons === "" ? {} : { reasons }),
    ...(waitMs >= 0 ? { waitMs: Math.min(waitMs, maxRetryAfterMs) } : {}),
    ...(Number.isNaN(resetsAt) ? {} : { resetsAt }),
  };
}

const maxDetailDepth = 6;
/** Fields in which services repeat what they were sent. */
const repeated = /^(?:input|body|request|messages?|prompt|content|ctx|parameters|arguments)$/i;

function collect(value: unknown, found: Map<string, string[]>, depth: number): void {
  if (!isFields(value) || depth > maxDetailDepth) return;
  for (const [key, inner] of Object.entries(value)) {
    if (repeated.test(key)) continue;
    if (typeof inner === "string") found.set(key, [...(found.get(key) ?? []), inner]);
    else collect(inner, found, depth + 1);
  }
}

const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
const oneTime = /(\d+(?:\.\d+)?) ?(d|h|ms|m|s)(?:ays?|(?:ou)?rs?|illiseconds?|in(?:ute)?s?|ec(?:ond)?s?)?(?![a-z])/;
const waitWords = new RegExp(
  `\\b(?:(?:again|retry|resets?) (?:in|after)|wait(?: for)?) (?:about )?((?:${oneTime.source}[ ,]*(?:and )?)+)`,
  "i",
);

/** As in "Please try again in 1m2.5s" or "Please retry after 26 seconds". */
function waitOf(message: string): Pick<ErrorBody, "waitMs"> {
  const times = waitWords.exec(claimOf(message))?.[1];
  if (times === undefined) return {};
  const parts = [...times.matchAll(new RegExp(oneTime.source, "gi"))];
  const waitMs = parts.reduce((sum, [, count, unit]) => sum + Number(count) * msOf(unit), 0);
  return { waitMs: Math.min(waitMs, maxRetryAfterMs) };
}

function msOf(unit = "s"): number {
  return unitMs[unit.toLowerCase() as keyof typeof unitMs];
}

/** As in "You will regain access on 2026-12-01 at 00:00 UTC". */
function dateIn(message: string): string {
  const [, day = "", time = "00:00"] =
    /\b(?:on|until|after|at|resets?) (\d{4}-\d\d-\d\d)(?:(?: at |T| )(\d\d:\d\d))?/i.exec(message) ?? [];
  return day === "" ? "" : `${day}T${time}Z`;
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

const sentFields = /^(?:inputs?|prompt|contents?|text|body|messages|request|value|received|given|ctx)$/i;
const nameOfWords = ["message", "Message", "msg", "detail", "details", "error_description"] as const;

function messageIn(fields: Record<string, unknown>): string {
  const { error, metadata } = fields;
  const raw = isJsonObject(metadata) && typeof metadata.raw === "string" ? metadata.raw : "";
  const inner = raw === "" ? "" : errorBodyOf(parseJson(raw) ?? raw).message;
  const own = nameOfWords.map((name) => wordsOf(fields[name])).find((words) => words !== "") ?? "";
  const said = [wordsOf(error), own, inner].filter((words, index, all) => words !== "" && all.indexOf(words) === index);
  return said.length === 0 ? allTexts(fields) : said.join(": ");
}

/** The service's own words are better than none, wherever they are. What it was sent is left out. */
function allTexts(fields: Record<string, unknown>): string {
  const found = new Map<string, string[]>();
  collect(fields, found, 0);
  for (const name of found.keys()) if (sentFields.test(name)) found.delete(name);
  return [...new Set([...found.values()].flat())].filter((text) => /[^\d\s]/.test(text)).join(" ");
}

/** Validators give an object or a list that names the field. They also repeat what they were sent, in fields of other names. */
function wordsOf(field: unknown, depth = 0): string {
  if (typeof field === "string" || typeof field === "number") return String(field);
  if (!isFields(field) || depth > maxDetailDepth) return "";
  if (Array.isArray(field)) return [...new Set(field.map((one) => wordsOf(one, depth + 1)))].filter(Boolean).join("; ");
  const place = Array.isArray(field.loc) ? field.loc.filter((step) => typeof step !== "object").join(".") : "";
  const words = nameOfWords.map((name) => wordsOf(field[name], depth + 1)).find((text) => text !== "") ?? "";
  return place === "" || words === "" ? words : `${place}: ${words}`;
}

/** Reads `retry-after-ms`, or `retry-after` in seconds or as a date. Returns milliseconds. */
export function retryAfterOf(headers: Headers, now: number): number | undefined {
  const milliseconds = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (milliseconds >= 0) return Math.min(milliseconds, maxRetryAfterMs);
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.min(Number(text) * 1000, maxRetryAfterMs);
  const wait = Date.parse(text) - now;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), maxRetryAfterMs);
}
