/** Reads a service's error response: the fields of its JSON body, and how long to wait. */

/** Missing fields are empty. */
export interface ErrorBody {
  message: string;
  type: string;
  code: string;
}

const maxRetryAfterMs = 24 * 60 * 60_000;

/** Reads `{ error: { message, type, code } }`, `{ message, type, code }`, `{ error: "text" }` or plain text. */
export function errorBodyOf(value: unknown): ErrorBody {
  if (typeof value === "string") return { message: value, type: "", code: "" };
  if (typeof value !== "object" || value === null) return { message: "", type: "", code: "" };
  if ("error" in value && value.error) return errorBodyOf(value.error);
  const fields: Record<string, unknown> = { ...value };
  const textOf = (field: unknown) => (typeof field === "string" || typeof field === "number" ? String(field) : "");
  return { message: textOf(fields.message), type: textOf(fields.type), code: textOf(fields.code) };
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
