/** Reads a service's error response: the fields of its JSON body, and how long to wait. */
import { isJsonObject, parseJson } from "../lib/json.ts";

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
 * Reads `{ error: { message, type, code } }`, `{ message, type, code }`, `{ error: "text" }`, `{ detail }` or plain text. Google
 * wraps them in a list; OpenRouter has the words of the model's own service in `metadata.raw`.
 */
export function errorBodyOf(value: unknown): ErrorBody {
  if (typeof value === "string") return { message: value, type: "", code: "" };
  if (Array.isArray(value)) return errorBodyOf(value[0]);
  if (!isFields(value)) return { message: "", type: "", code: "" };
  if (value.error) return errorBodyOf(value.error);
  const textOf = (field: unknown) => (typeof field === "string" || typeof field === "number" ? String(field) : "");
  const { type, code, param } = value;
  const message = messageIn(value);
  return { message, type: textOf(type), code: textOf(code), param: textOf(param), ...detailsOf(value, message) };
}

/** Codes and times, as Anthropic (`details`), OpenRouter (`metadata`) and Google (`status`, a list of `details`) put them. */
function detailsOf(
  { status, details, metadata }: Record<string, unknown>,
  message: string,
): Pick<ErrorBody, "reasons" | "waitMs" | "resetsAt"> {
  const found = new Map<string, string[]>();
  collect([{ status }, details, metadata], found, 0);
  const named = (...keys: string[]) => keys.flatMap((key) => found.get(key) ?? []);
  const reasons = named("status", "error_code", "reason", "quotaId", "limit_source").join(" ");
  const seconds = Number.parseFloat(named("retryDelay")[0] ?? "");
  const waitMs = /PerDay/.test(reasons) ? dailyWaitMs : seconds * 1000;
  const resetsAt = Date.parse(named("resets_at", "quotaResetTimeStamp")[0] ?? dateIn(message));
  return {
    ...(reasons === "" ? {} : { reasons }),
    ...(waitMs >= 0 ? { waitMs: Math.min(waitMs, maxRetryAfterMs) } : {}),
    ...(Number.isNaN(resetsAt) ? {} : { resetsAt }),
  };
}

const maxDetailDepth = 6;

function collect(value: unknown, found: Map<string, string[]>, depth: number): void {
  if (!isFields(value) || depth > maxDetailDepth) return;
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner === "string") found.set(key, [...(found.get(key) ?? []), inner]);
    else collect(inner, found, depth + 1);
  }
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

/** Amazon writes some of its errors with a capital. */
function messageIn({ Message, message = Message, detail, metadata }: Record<string, unknown>): string {
  const raw = isJsonObject(metadata) && typeof metadata.raw === "string" ? metadata.raw : "";
  const inner = raw === "" ? "" : errorBodyOf(parseJson(raw) ?? raw).message;
  return [wordsOf(message ?? detail), inner].filter((words) => words !== "").join(": ");
}

/** Validators give an object or a list that names the field. */
function wordsOf(field: unknown): string {
  if (typeof field === "string" || typeof field === "number") return String(field);
  return isFields(field) ? JSON.stringify(field) : "";
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
