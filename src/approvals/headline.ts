/**
 * The first line of a card: what will happen, in plain words, from the tool's `ask:` and the call's arguments. It never
 * replaces the call. It is one line; only the template's own backticks mark code, because a value's are replaced, and a
 * value's braces are never read again.
 */
import type { Mask } from "../lib/redact.ts";
import { type AskPiece, parseAskTemplate } from "../lib/text/ask-template.ts";
import type { ApprovalRecord } from "../ports/approval.ts";
import type { Json, JsonObject } from "../ports/message.ts";
import type { ToolCall } from "../ports/tool.ts";
import { budgetHeadline } from "./budget-text.ts";
import { escapeHidden } from "./card-text.ts";
import { canonicalJson } from "./hash.ts";

const maxValueCharacters = 120;
const maxHeadlineCharacters = 300;
const maxListedItems = 10;
/** A person's eye takes an apostrophe for a backtick. */
const tickSubstitute = "'";
const lineBreakMark = " ⏎ ";
const singleWord = /^[\w#@./-]+$/;

export interface Headline {
  text: string;
  /** Ids of channels that the text names, for services that show them by name. */
  channels: string[];
}

export function callHeadline(call: ToolCall, ask: string | undefined, mask: Mask): Headline {
  const template = ask === undefined ? undefined : parseAskTemplate(ask);
  const pieces = template?.type === "template" ? template.pieces : defaultPieces(call.name);
  const channels: string[] = [];
  const texts = pieces.map((piece) => {
    if (piece.type === "words") return escapeHidden(piece.text);
    const value = valueAt(call.input, piece.path);
    const channel = typeof value === "string" ? channelIdIn(piece.path, value) : undefined;
    if (channel !== undefined) channels.push(channel);
    return pieceValue(value, piece, mask);
  });
  // Two parts can form one secret.
  const text = mask(texts.join("")).replace(/\s+/g, " ").trim();
  return { text: shortenLine(text), channels };
}

/**
 * True if the headline shows every argument unchanged and unambiguously: all arguments but the last are single words, and
 * the last one ends the line or is code.
 */
export function isWholeCall(call: ToolCall, ask: string | undefined, mask: Mask): boolean {
  const template = ask === undefined ? undefined : parseAskTemplate(ask);
  if (template?.type !== "template") return false;
  const { pieces } = template;
  const named = pieces.filter((piece) => piece.type === "value" && Object.hasOwn(call.input, piece.path[0] ?? ""));
  if (
    new Set(named.map((piece) => (piece.type === "value" ? piece.path[0] : ""))).size !== Object.keys(call.input).length
  )
    return false;
  const isShown = named.every((piece, index) => {
    const value = piece.type === "value" && piece.path.length === 1 ? valueAt(call.input, piece.path) : undefined;
    if (typeof value !== "string" || value === "" || plainValue(value, mask) !== value || /^\s|\s{2}|\s$/.test(value))
      return false;
    return index === named.length - 1 ? endsClearly(pieces, piece) : singleWord.test(value);
  });
  return isShown && [...callHeadline(call, ask, mask).text].length < maxHeadlineCharacters - 2;
}

function endsClearly(pieces: readonly AskPiece[], last: AskPiece): boolean {
  const at = pieces.lastIndexOf(last);
  const [before, after] = [pieces[at - 1], pieces[at + 1]];
  const isCode =
    before?.type === "words" && before.text.endsWith("`") && after?.type === "words" && after.text.startsWith("`");
  return isCode || at === pieces.length - 1;
}

function defaultPieces(tool: string): AskPiece[] {
  return [{ type: "words", text: `Use \`${tool.replaceAll("`", tickSubstitute)}\`` }];
}

function pieceValue(
  value: Json | undefined,
  { path, words }: Extract<AskPiece, { type: "value" }>,
  mask: Mask,
): string {
  const isMissing =
    value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
  if (isMissing) return escapeHidden(words ?? `(no ${path.at(-1)?.replace(/[_-]+/g, " ") ?? "value"})`);
  return plainValue(value, mask);
}

/** Only an own property counts: `__proto__` and `constructor` name no argument. */
function valueAt(input: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = input;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key];
  }
  return value;
}

function plainValue(value: Json, mask: Mask): string {
  if (Array.isArray(value) && value.every((item) => typeof item !== "object" || item === null)) {
    const shown = value.slice(0, maxListedItems).map((item) => mask(String(item)));
    return oneLine(
      [...shown, ...(value.length > shown.length ? [`and ${value.length - shown.length} more`] : [])].join(", "),
    );
  }
  // Mask the whole value before cutting it, or a part of a secret could remain.
  return oneLine(mask(typeof value === "object" && value !== null ? canonicalJson(value) : String(value)));
}

export function markLineBreaks(text: string): string {
  const lines = text.split(/[\r\n\u2028\u2029]/).map((line) => line.trim());
  return lines.filter((line) => line !== "").join(lineBreakMark);
}

function oneLine(text: string): string {
  const line = markLineBreaks(text.slice(0, 4 * maxValueCharacters)).replaceAll("`", tickSubstitute);
  const shown = [...line];
  const isCut = shown.length > maxValueCharacters || text.trim().length > 4 * maxValueCharacters;
  return escapeHidden(isCut ? `${shown.slice(0, maxValueCharacters - 1).join("")}…` : line).replaceAll(
    "`",
    tickSubstitute,
  );
}

/** Keeps pairs of backticks whole. */
function shortenLine(text: string): string {
  const characters = [...text];
  if (characters.length <= maxHeadlineCharacters) return text;
  const cut = characters.slice(0, maxHeadlineCharacters - 2).join("");
  return `${cut}…${(cut.split("`").length - 1) % 2 === 1 ? "`" : ""}`;
}

/** Alone, or after a name: `#plans (C…)` or `#plans (<#…>)`. The id counts there, so the card must show what it names. */
function channelIdIn(path: readonly string[], value: string): string | undefined {
  if (path.at(-1) !== "channel") return undefined;
  return /^(?:#.*\((?:<#)?)?([CG][A-Z0-9]{7,20}|\d{17,20})(?:(?:\|[^>]*)?>?\))?$/.exec(value.trim())?.[1];
}

export function recordHeadline(
  { call, ask, changes, budget }: Pick<ApprovalRecord, "call" | "ask" | "changes" | "budget">,
  mask: Mask,
): Headline {
  if (budget !== undefined) return { text: shortenLine(oneLine(mask(budgetHeadline(budget)))), channels: [] };
  if (changes === undefined) return callHeadline(call, ask, mask);
  const { headline, title } = changes.shown;
  return { text: shortenLine(oneLine(mask(headline ?? title))), channels: [] };
}
