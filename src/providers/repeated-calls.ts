/**
 * Calls that stand word for word in what others wrote: in a page, a file or a message that the model has read. A model that
 * repeats such a text does not decide to call anything. Without native calls, the text alone can't tell the one from the other.
 */
import { isJsonObject } from "../lib/json.ts";
import type { ModelMessage, ModelRequest } from "../ports/provider.ts";
import { loadSkillName, useToolName } from "../ports/tool-offer.ts";
import { headerAt, tagAt } from "./model-tags.ts";
import { type BodyPlace, bodyAt, firstKeys, type KnownTools, type WrittenCall } from "./text-tool-call.ts";
import { announcedCall, type FoundCall, mayBeCall } from "./written-call.ts";
import { readValue } from "./written-values.ts";

/** A prompt that needs more to be read is an attack. */
const maxScanned = 2_000_000;
/** How far from a tool's name what it gets may stand, in letters and digits. */
const maxDistance = 2_000;
/** Shorter values stand in every text. */
const minValue = 3;

export interface RepeatedCalls {
  has(call: WrittenCall): boolean;
}

/** Reads the prompt when the first call is asked about, because most answers have none. */
export function createRepeatedCalls(
  { messages, system }: Pick<ModelRequest, "messages"> & Partial<Pick<ModelRequest, "system">>,
  known: KnownTools,
): RepeatedCalls {
  let found: Set<string> | "too many" | undefined;
  let letters: string[] | undefined;
  return {
    has(call) {
      const systemTexts = (system ?? []).map(({ text }) => text);
      if (found === undefined) {
        const own = [...systemTexts, ...messages.flatMap(tagTextOf)];
        found = keysIn([...messages.flatMap(othersTextOf), ...systemTexts.flatMap(memoryIn)], own, known);
      }
      if (found === "too many" || found.has(keyOf(call))) return true;
      letters ??= [...messages.flatMap(readTextOf), ...systemTexts.flatMap(memoryIn)].map(lettersOf);
      return isDescribed(call, letters);
    },
  };
}

/** What tools, attachments and notes say, without what people say themselves. */
function readTextOf(message: ModelMessage): string[] {
  if (message.role === "user" && message.isWords === true) return [];
  return othersTextOf(message).map((text) =>
    message.role === "user" ? text.replaceAll(/<message\b[^>]*>\n[\s\S]*?\n<\/message>/g, "") : text,
  );
}

function memoryIn(text: string): string[] {
  return [...text.matchAll(/<memory>[\s\S]*?<\/memory>/g)].map(([part]) => part);
}

function lettersOf(text: string): string {
  return text
    .replaceAll(/\\u([0-9a-f]{4})|&#(\d{1,6});/gi, (_all, hex?: string, decimal?: string) =>
      String.fromCharCode(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)),
    )
    .replaceAll(/\\[nrt]|&\w{2,6};/g, "")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** A text names the tool, and near it has all that the tool would get: in a quotation, a diff, a table, other marks. */
function isDescribed({ name, inputJson }: WrittenCall, texts: readonly string[]): boolean {
  if (!name.includes("_")) return false;
  const values = textsIn(readValue(inputJson)).map(lettersOf);
  const needles = values.filter((value) => value.length >= minValue);
  if (needles.length === 0) return false;
  const wanted = lettersOf(name);
  return texts.some((text) => {
    if (!needles.every((needle) => text.includes(needle))) return false;
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) {
      const length = needles.reduce((sum, needle) => sum + needle.length, maxDistance);
      const near = text.slice(Math.max(0, at - length), at + wanted.length + length);
      if (needles.every((needle) => near.includes(needle))) return true;
    }
    return false;
  });
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function othersTextOf(message: ModelMessage): string[] {
  if (message.role === "assistant") return [];
  // Why a call did not run is in our own words, which may say what to call instead.
  if (message.role === "tool") return isSkill(message) || isInvalid(message) ? [] : [message.text];
  return message.content.flatMap((part) => (part.type === "text" ? [part.text.replaceAll(skillTexts, "")] : []));
}

/** Only our own text can have this tag, because fence.ts escapes it in all others. */
const skillTexts = /<skills>\n[\s\S]*?\n<\/skills>/g;

/**
 * Instructions may show what a call looks like, for the model to write it. Only tags there are nobody's instruction. In what the
 * model said, a call with tags is one that it has quoted.
 */
function tagTextOf(message: ModelMessage): string[] {
  if (message.role === "assistant") return [message.text];
  if (message.role === "user")
    return message.content.flatMap((part) => (part.type === "text" ? (part.text.match(skillTexts) ?? []) : []));
  return message.role === "tool" && isSkill(message) ? [message.text] : [];
}

function isInvalid({ text }: Extract<ModelMessage, { role: "tool" }>): boolean {
  return /^<tool_result tool="[^"]*" status="invalid">\nNot run: /.test(text);
}

function isSkill({ name }: Extract<ModelMessage, { role: "tool" }>): boolean {
  return name === loadSkillName;
}

function keysIn(others: readonly string[], own: readonly string[], known: KnownTools): Set<string> | "too many" {
  const keys = new Set<string>();
  let scanned = 0;
  const scan = (text: string, beginning: RegExp) => {
    for (const { index } of text.matchAll(beginning)) {
      if (scanned > maxScanned) return;
      const place: BodyPlace = { known, isEnd: true, isTagged: true, balances: new Map() };
      const body = callAt(text, index, place);
      scanned += 100 + [...place.balances].reduce((sum, [from, { at }]) => sum + at - from, 0);
      if (body === undefined) continue;
      for (const call of body.calls) keys.add(keyOf(call));
    }
  };
  const names = [...known.keys()].map((name) => name.replace(/\W/g, "\\$&")).join("|");
  const anyBeginning = new RegExp(`${tagBeginning.source}|\\[\\s*(?=\\{)|\\{|(?<!\\w)(?:${names})(?=\\s*[({[<])`, "g");
  for (const text of others) for (const spelling of spellingsOf(text)) scan(spelling, anyBeginning);
  for (const text of own) for (const spelling of spellingsOf(text)) scan(spelling, tagBeginning);
  return scanned > maxScanned ? "too many" : keys;
}

/** Most objects that begin with a name or an id are no calls, and reading all of them would take too long. */
const givesInput = /["'](?:arguments|args|parameters|params|input|tool_input|action_input|kwargs)["']\s*:/;

/** Not `<tools>`, which stands around the list of tools in our own text. */
const tagBeginning =
  /[<[](?!tools\b)(?=[|｜/\w:▁ ]{0,20}(?:tool|function|invoke|channel|start|action|python|call|TOOL|ARGS))/g;

function callAt(text: string, index: number, place: BodyPlace): Extract<FoundCall, { type: "calls" }> | undefined {
  const tag = tagAt(text, index);
  if (tag === undefined || tag === "unclear") {
    // Also by a name that other agents call a tool by.
    const [, key = ""] = /^\{\s*["'](\w+)/.exec(text.slice(index, index + 100)) ?? [];
    const isObject = firstKeys.includes(key) && givesInput.test(text.slice(index, index + maxDistance));
    if (!isObject && mayBeCall(text, index, place.known) === false) return undefined;
    const body = bodyAt(text, index, { ...place, isTagged: isObject, isEnd: false });
    return body.type === "calls" ? body : undefined;
  }
  if (tag.kind !== "call" && tag.kind !== "function" && tag.kind !== "header") return undefined;
  const rest = text.slice(index);
  const header = tag.kind === "header" ? headerAt(rest, tag.raw.length) : undefined;
  if (header !== undefined && header.calls === undefined) return undefined;
  const found = announcedCall(rest, tag, header, place);
  return found.type === "calls" ? { ...found, end: index + found.end } : undefined;
}

/** As it is; as HTML has it; as the text of a JSON document has it. */
function spellingsOf(text: string): Set<string> {
  const html = text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replace(/&quot;|&#34;/g, '"')
    .replace(/&#39;|&apos;/g, "'")
    .replaceAll("&amp;", "&");
  const json = text.replace(/\\(["\\/nt])/g, (_all, letter: string) => ({ n: "\n", t: "\t" })[letter] ?? letter);
  return new Set([text, html, json]);
}

/** The same for the same call, however it is written. */
function keyOf({ name, inputJson }: WrittenCall): string {
  const input = inputJson === "" ? {} : readValue(inputJson);
  if (name === useToolName && isJsonObject(input) && typeof input.name === "string") {
    const inner = input.input ?? input.arguments ?? {};
    return keyOf({ name: input.name, inputJson: typeof inner === "string" ? inner : JSON.stringify(inner) });
  }
  return JSON.stringify([name, plain(input ?? inputJson)]);
}

function plain(value: unknown): unknown {
  if (typeof value === "string") return value.replace(/\s+/g, " ").trim();
  if (Array.isArray(value)) return value.map(plain);
  if (!isJsonObject(value)) return value;
  return Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, inner]) => [key, plain(inner)]);
}
