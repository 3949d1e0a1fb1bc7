/** Reads a service's error response: the fields of its JSON body, and how long to wait. */
import { isJsonObject, parseJson } from "../lib/json.ts";

/** Missing fields are empty. */
export interface ErrorBody {
  message: string;
  type: string;
  code: string;
  /** The field of the request that is wrong. */
  param?: string;
}

const maxRetryAfterMs = 24 * 60 * 60_000;

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
  return { message: messageIn(value), type: textOf(type), code: textOf(code), param: textOf(param) };
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
