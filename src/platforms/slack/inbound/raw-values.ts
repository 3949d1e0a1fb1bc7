/** Reads values that may be of any type: apps and proxies send what Slack's reference does not show. */
import { isJsonObject } from "../../../lib/json.ts";

/** Nothing that a person sees is nested more deeply. */
export const maxDepth = 40;

export function recordIn(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? value : {};
}

/** One value stands for a list of one. */
export function listIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.filter((each) => each !== null && each !== undefined);
  return value === null || value === undefined || value === "" ? [] : [value];
}

export function wordIn(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

export function firstWord(...values: unknown[]): string {
  return values.map(wordIn).find((word) => word.trim() !== "") ?? "";
}

/** Seconds since 1970, as a number or in a string. */
export function timeText(value: unknown): string {
  const seconds = Number(wordIn(value) || Number.NaN);
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? "" : `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Without a regular expression, which would take seconds for a long run of blanks. */
export function inOneLine(text: string): string {
  return text.includes("\n")
    ? joined(
        text.split("\n").map((line) => line.trim()),
        " ",
      )
    : text;
}

export function joined(parts: readonly string[], separator = "\n"): string {
  return parts.filter((part) => part.trim() !== "").join(separator);
}
