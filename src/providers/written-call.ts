/** Finds a whole call in a model's text, with the tags around it: behind a tag that announces it, or at the start of a line. */
import { type Header, type Tag, tagAt } from "./model-tags.ts";
import {
  type BodyPlace,
  bodyAt,
  firstKeys,
  isToolName,
  type KnownTools,
  nameKeys,
  plainName,
  toolNameIn,
  type WrittenCall,
} from "./text-tool-call.ts";
import type { Balance } from "./written-values.ts";

export interface CallPlace {
  known: KnownTools;
  /** No more text follows. */
  isEnd: boolean;
  balances: Map<number, Balance>;
}

export type FoundCall =
  | { type: "wait" }
  | { type: "calls"; calls: WrittenCall[]; end: number }
  /** It names its tool, but can't be read. */
  | { type: "broken"; call: WrittenCall; end: number }
  | { type: "none" };

/** In characters. Longer than any call that an output limit allows. */
const maxCallLength = 500_000;
/** How long an unreadable call may go on without a closing tag. */
const maxBrokenLength = 2_000;
const wait: FoundCall = { type: "wait" };
const none: FoundCall = { type: "none" };

/** At the beginning of the text is a tag, and perhaps a header, that announces a call. */
export function announcedCall(text: string, tag: Tag, header: Header | undefined, place: CallPlace): FoundCall {
  const from = header?.end ?? (tag.kind === "function" ? 0 : tag.raw.length);
  const name = header?.calls?.replace(/^functions\./, "");
  // Without any tool, there are no calls.
  const isTagged = place.known.size > 0;
  const bodyPlace: BodyPlace = { ...place, isTagged, ...(name === undefined ? {} : { name }) };
  const body = bodyAt(text, from, bodyPlace);
  if (body.type === "more" && text.length < maxCallLength) return wait;
  if (body.type !== "calls") return brokenCall(text, from, bodyPlace, tag.kind === "function");
  const calls = [...body.calls];
  for (let end = body.end; ; ) {
    const closed = pastClosing(text, end, place.isEnd);
    if (closed === "unclear") return text.length < maxCallLength ? wait : { type: "calls", calls, end };
    // Some models write several objects between one pair of tags.
    const more = pastSpace(text, end);
    const next = closed === end && name === undefined && text[more] === "{" ? bodyAt(text, more, bodyPlace) : undefined;
    if (next?.type === "more") return wait;
    if (next?.type !== "calls") return { type: "calls", calls, end: closed };
    calls.push(...next.calls);
    end = next.end;
  }
}

function pastSpace(text: string, index: number): number {
  return index + (/^[\s,;]*/.exec(text.slice(index, index + 200))?.[0].length ?? 0);
}

/** Behind the closing tags that follow, and brackets too many before them. */
function pastClosing(text: string, index: number, isEnd: boolean, between = /^[\s}\]),;`]*/): number | "unclear" {
  for (let end = index; ; ) {
    const [space = ""] = between.exec(text.slice(end, end + 200)) ?? [];
    const at = end + space.length;
    const tag = tagAt(text, at);
    if (tag === "unclear" || at === text.length) return isEnd ? end : "unclear";
    if (tag === undefined || tag.kind !== "special") return end;
    end = at + tag.raw.length;
  }
}

const closing =
  /<\/(?:[a-z]{1,12}:|｜DSML｜)?(?:tools|tool_calls?|function_calls?|function|invoke)>|<[|｜][\w▁]*(?:end|call)[|｜]>|\[END_TOOL_REQUEST\]/i;

function brokenCall(text: string, from: number, place: BodyPlace, isFunction: boolean): FoundCall {
  const rest = text.slice(from);
  const isObject = /^\s*[{[<]/.test(rest) || isFunction;
  const close = closing.exec(rest);
  if (isObject && close === null && !place.isEnd && rest.length < maxBrokenLength) return wait;
  const written = rest.slice(0, close?.index);
  const end = close === null ? text.length : from + close.index + close[0].length;
  // The last brace of all may be missing.
  const again = bodyAt(written, 0, { ...place, isEnd: true, balances: new Map() });
  if (again.type === "calls") return { type: "calls", calls: again.calls, end };
  const name = place.name ?? toolNameIn(written);
  const isAttempt = isObject && place.isTagged && name !== undefined && !describesTool.test(written);
  const isCall = isAttempt && (place.known.has(name) || /["']?(?:arguments|parameters|args|input)\b/.test(written));
  return isCall ? { type: "broken", call: { name, inputJson: written.trim() }, end } : none;
}

/** As our prompt or the template has it. */
const describesTool = /["'](?:description|properties)["']\s*:/;

const fenceLabels = [
  "",
  "json",
  "jsonc",
  "json5",
  "xml",
  "tool",
  "tool_call",
  "tool_calls",
  "tool_code",
  "function_call",
];
const wholeFence = /^(`{3,}|~{3,})([\w-]*)[ \t]*(?:\r?\n|(?=[{[<]))/;
const openFence = /^(?:`{1,2}|~{1,2}|(?:`{3,}|~{3,})([\w-]*)[ \t]*\r?)$/;

/** A call that no tag announces: an object, Python's words or a name with its arguments, also in a fence. */
export function bareCall(text: string, place: CallPlace): FoundCall {
  const label = openFence.exec(text);
  if (label !== null && !place.isEnd) {
    return fenceLabels.some((each) => each.startsWith((label[1] ?? "").toLowerCase())) ? wait : none;
  }
  const fence = wholeFence.exec(text);
  if (fence === null && /^[`~]/.test(text)) return none;
  const [start = "", marks = "", named = ""] = fence ?? [];
  if (!fenceLabels.includes(named.toLowerCase())) return none;
  const calls: WrittenCall[] = [];
  for (let at = start.length; ; ) {
    const may = mayBeCall(text, at, place.known);
    if (may === "unclear" && !place.isEnd) return wait;
    if (may !== true) return none;
    const body = bodyAt(text, at, { ...place, isTagged: false });
    if (body.type === "more" && text.length < maxCallLength) return wait;
    if (body.type !== "calls") return none;
    calls.push(...body.calls);
    const [extra = ""] = /^[}\])]*/.exec(text.slice(body.end, body.end + 20)) ?? [];
    if (marks === "") return { type: "calls", calls, end: body.end + extra.length };
    const closed = pastClosing(text, body.end, place.isEnd, /^[\s,;]*/);
    if (closed === "unclear") return wait;
    at = pastSpace(text, closed);
    if (text.startsWith(marks, at)) return { type: "calls", calls, end: at + marks.length };
    if (marks.startsWith(text.slice(at))) return place.isEnd ? { type: "calls", calls, end: text.length } : wait;
  }
}

/** Whether a text that no tag has called a call can become one. */
export function mayBeCall(text: string, from: number, known: KnownTools): boolean | "unclear" {
  const start = text.slice(from, from + 400).trimStart();
  const tag = tagAt(start, 0);
  if (tag !== undefined) return tag === "unclear" ? tag : tag.kind === "call" || tag.kind === "function";
  const inList = start.replace(/^\[\s*/, "");
  if (inList === "") return "unclear";
  return inList.startsWith("{") ? objectMayBeCall(inList, known) : nameMayBeCall(inList, known);
}

/** A member at the beginning of an object whose value is no object, with the comma behind it. */
const plainMember = /^["']?(\w+)["']?\s*:\s*("(?:[^"\\]|\\.)*"|'[^'\\]*'|[\w.-]+)\s*(?:,\s*|(?=\}))/;

function objectMayBeCall(text: string, known: KnownTools): boolean | "unclear" {
  const inner = text.replace(/^\{[\s{]*/, "");
  const [all = "", key = "", end] = /^["']?(\w*)(\W)?/.exec(inner) ?? [];
  if (inner === "" || end === undefined) {
    return all === inner && firstKeys.some((each) => each.startsWith(key)) ? "unclear" : false;
  }
  if (!firstKeys.includes(key)) return false;
  let rest = inner;
  for (;;) {
    const [next] = /^["']?\w+(?=["']?\s*:)/.exec(rest) ?? [];
    if (next !== undefined && !firstKeys.includes(next.replace(/^\W/, ""))) return false;
    const [member = "", each = "", value = ""] = plainMember.exec(rest) ?? [];
    if (member === "") break;
    const name = plainName(value.slice(1, -1), known);
    rest = rest.slice(member.length);
    if (!nameKeys.includes(each) || !/^["']/.test(value) || known.has(name)) continue;
    const [, after = ""] = /^["']?(\w*)/.exec(rest) ?? [];
    if (!isToolName(name) || !"arguments".startsWith(after)) return false;
  }
  return true;
}

/** In Python's words, or a name alone before its arguments. */
function nameMayBeCall(text: string, known: KnownTools): boolean | "unclear" {
  const [prefix = ""] = /^(?:print\(\s*)?(?:default_api\.|functions\.)?/.exec(text) ?? [];
  const [name = ""] = /^[A-Za-z_][\w.-]*/.exec(text.slice(prefix.length)) ?? [];
  const after = text.slice(prefix.length + name.length);
  if (after !== "" && known.has(name)) return /^\s*$/.test(after) ? "unclear" : /^(?:\(|(?::\d+)?\s*[{[<])/.test(after);
  const rest = text.slice(prefix.length);
  const starts = [...known.keys()].flatMap((each) => [each, `functions.${each}`, `default_api.${each}`, "print("]);
  return after === "" && text !== "" && starts.some((each) => each.startsWith(rest)) ? "unclear" : false;
}
