/** Describes what a JSON text contains. */
import { parseJson } from "../../lib/json.ts";
import { formatNumber } from "../../lib/text/format-number.ts";
import { oneLine } from "../../lib/text/sanitize.ts";

const maxShownKeys = 20;
const maxKeyCharacters = 40;

/** Undefined if the text is neither JSON nor JSON lines. */
export function jsonKind(text: string): string | undefined {
  const value = parseJson(text);
  if (value !== undefined) return kindOf(value);
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const [first = "", second] = lines;
  if (second === undefined || parseJson(first) === undefined || parseJson(second) === undefined) return undefined;
  return `JSON lines, each ${kindOf(parseJson(first))}`;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) {
    const count = `${formatNumber(value.length)} ${value.length === 1 ? "entry" : "entries"}`;
    return `JSON array of ${count}${value.length > 0 ? `, the first: ${kindOf(value[0])}` : ""}`;
  }
  if (typeof value !== "object" || value === null) return `JSON ${value === null ? "null" : typeof value}`;
  const keys = Object.keys(value);
  const shown = keys.slice(0, maxShownKeys).map((key) => oneLine(key, maxKeyCharacters));
  return `JSON object with ${shown.join(", ") || "no keys"}${keys.length > shown.length ? ", …" : ""}`;
}
