/** Reads what Discord sends by what it is, not by what its reference says: any field can be null, missing or of another type. */
import { oneLine } from "../../../lib/text/sanitize.ts";

export type Fields = Readonly<Record<string, unknown>>;

const maxNameCharacters = 100;

export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** One thing where a list belongs counts as a list of it. */
export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null || value === "" ? [] : [value];
}

/** Where words belong, other things are shown as JSON: something can be read in them. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "[something that I can't read]";
  }
}

/** For labels and names: one short line. */
export function nameOf(value: unknown): string {
  return oneLine(textOf(value), maxNameCharacters);
}

export function flagsOf(message: Fields): number {
  return typeof message.flags === "number" ? message.flags : 0;
}

export function joined(lines: readonly string[]): string {
  return lines.filter((line) => line !== "").join("\n");
}
