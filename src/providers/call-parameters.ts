/** Parameters of a call that a model writes as tags: <parameter=key>value</parameter>, <param name="key">, <arg_key>key</arg_key>, <key>. */
import { isJsonObject } from "../lib/json.ts";
import type { JsonObject } from "../ports/message.ts";
import { readValue } from "./written-values.ts";

const parameterOpening =
  /<(?:[a-z]{1,12}:|｜DSML｜)?(?:parameter|param|argument|arg)(?:=|\s+name\s*=\s*)["']?([^"'>\s]+)["']?[^>]*>|<arg_key>\s*([^<]*?)\s*<\/arg_key>\s*<arg_value>|<([a-z]\w*)>/gi;

/** "more": their end has not come yet. Undefined if there is something else. */
export function parametersIn(
  text: string,
  from: number,
  ending: RegExp,
  isEnd: boolean,
  properties: JsonObject,
): { input: Record<string, unknown>; end: number } | "more" | undefined {
  const close = closingOf(text, from, ending, isEnd);
  if (close === undefined && !isEnd) return "more";
  const inner = text.slice(from, close?.start).replaceAll("]<]minimax[>[", "");
  const found = [...inner.matchAll(parameterOpening)];
  const input: Record<string, unknown> = {};
  let readTo = 0;
  for (const opening of found) {
    if (opening.index < readTo) continue;
    const key = opening[1] ?? opening[2] ?? opening[3] ?? "";
    const start = opening.index + opening[0].length;
    const end = endOfParameter(inner, start, opening);
    if (end === undefined) continue;
    input[key] = typed(inner.slice(start, end.start), properties[key]);
    readTo = end.end;
  }
  const isElse = found.length === 0 && (inner.trim() !== "" || close === undefined);
  return isElse ? undefined : { input, end: close?.end ?? text.length };
}

/**
 * A closing tag within a value is followed by more of the value, by the end of the value and by the same closing tag. A model can
 * also forget to end the last value, which is so if the call ends behind the tag.
 */
function closingOf(text: string, from: number, ending: RegExp, isEnd: boolean): Span | undefined {
  // A long value is asked about with every piece of it.
  if (["</", "<|", "<｜"].every((start) => text.indexOf(start, from) === -1)) return undefined;
  const all = new RegExp(ending.source.replaceAll("^", ""), "g");
  all.lastIndex = from;
  let first: Span | undefined;
  for (const found of text.matchAll(all)) {
    const span = { start: found.index, end: found.index + found[0].length };
    const before = text.slice(from, found.index);
    const isWithinValue = before.search(openValue) !== -1;
    if (!isWithinValue || /^\s*<\/[\w:]*tool_calls?>/.test(text.slice(span.end, span.end + 60))) return span;
    first ??= span;
  }
  return first !== undefined && (isEnd || text.length > first.end + maxValueTail) ? first : undefined;
}

interface Span {
  start: number;
  end: number;
}

/** How much can follow a closing tag within a value before it counts as the end. */
const maxValueTail = 4_000;
/** A value that no tag has ended so far. */
const openValue =
  /<(?:[a-z]{1,12}:|｜DSML｜)?(?:parameter|param|arg_value)\b(?![\s\S]*<\/(?:[a-z]{1,12}:|｜DSML｜)?(?:parameter|param|arg_value)>\s*$)/i;

function endOfParameter(inner: string, start: number, opening: RegExpMatchArray): Span | undefined {
  const [, attribute, key, element] = opening;
  const tag =
    element ?? (key === undefined && attribute !== undefined ? "(?:parameter|param|argument|arg)" : "arg_value");
  const closing = new RegExp(
    `</(?:[a-z]{1,12}:|｜DSML｜)?${tag}>(?=\\s*(?:$|<(?!/(?:parameter|param|arg))))|(?=\\n\\s*<(?:parameter|param|arg_key)\\b)|$`,
    "gi",
  );
  closing.lastIndex = start;
  const found = closing.exec(inner);
  if (found === null || (element !== undefined && found[0] === "")) return undefined;
  return { start: found.index, end: found.index + found[0].length };
}

/** Texts stay as they are; everything else is JSON, if it can be read as that. */
function typed(written: string, schema: unknown): unknown {
  const text = written.replace(/^\r?\n|\r?\n\s*$/g, "").replace(/^<!\[CDATA\[([\s\S]*)\]\]>$/, "$1");
  const types = isJsonObject(schema) ? [schema.type].flat() : [];
  if (types.includes("string") && !(types.includes("null") && text === "null")) return text;
  const isPlain = types.length === 0 && !/^\s*[{["\d-]|^\s*(?:true|false|null)\s*$/i.test(text);
  const value = isPlain ? undefined : readValue(text.trim());
  return value === undefined ? text : value;
}
