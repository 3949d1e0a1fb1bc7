/**
 * Reads the text of models that may write into it what other services give apart: calls, thinking, tokens of their template,
 * tags of our prompt. People see the text alone, as soon as it can't become anything else.
 *
 *   a call with tags around it    is one wherever it stands
 *   an object, also in a fence    begins a line. Words behind it are made up, because its result is not known
 *   a call in Python's words      begins a line, and nothing but such calls follows
 *   in code, in quotation marks, in the middle of a sentence, introduced or asked for as an example, or word for word what
 *   others wrote: text
 *
 * One long function, because all its steps read and shorten the same held text.
 */
import type { ModelRequest, ModelToolCall } from "../ports/provider.ts";
import { asksForCalls } from "./asks-for-calls.ts";
import { type Header, headerAt, isOpenHeader, type Tag, tagAt, tagStarts } from "./model-tags.ts";
import { createRepeatedCalls } from "./repeated-calls.ts";
import { createShownText, type ReadText } from "./shown-text.ts";
import {
  asCode,
  createSpokenTags,
  introducesExample,
  isCallInSentence,
  isInSentence,
  isQuoted,
  isThoughtInSentence,
} from "./text-place.ts";
import { type KnownTools, toolNameIn, type WrittenCall } from "./text-tool-call.ts";
import { announcedCall, bareCall, type FoundCall } from "./written-call.ts";
import type { Balance } from "./written-values.ts";

export interface TextCallReader {
  /** The service gives the model's thinking apart. */
  thinksApart(): void;
  /** Returns the text that people may see now. */
  add(text: string): ReadText;
  /** Others wrote such calls, so they are quotes. */
  isRepeated(calls: readonly WrittenCall[]): boolean;
  /** The model has begun to write what others say to it, so nothing more of its own will come. */
  isOver(): boolean;
  /** At the end of the text, returns what was held back: as calls, or as text for people. */
  end(isCut: boolean): ReadText & { calls: ModelToolCall[] };
}

/** `other`: somebody else speaks. `facts`: of our prompt. */
type Mode = "text" | "thought" | "other" | "facts";
type Step = "again" | "wait";

/** Of thinking, so much is kept for the call that may be its end. */
const maxThought = 100_000;
/** A model that writes what others say, and comes back to its own words within so much, is heard. */
const maxOfOthers = 2_000;
/** A longer call is read again only when it may have come to its end. */
const maxEagerLength = 200;

type Read = Pick<ModelRequest, "tools" | "named" | "messages"> & Partial<Pick<ModelRequest, "system">>;

/** `mayBeginThinking`: the answer may begin with thinking that only its end shows to be that, so it waits for this end. */
export function createTextCallReader(request: Read, mayBeginThinking = false): TextCallReader {
  const known = knownTools(request);
  const repeated = createRepeatedCalls(request, known);
  const isAskedFor = asksForCalls(request);
  const isRepeated = (found: readonly WrittenCall[]) => found.some((call) => repeated.has(call));
  const shown = createShownText();
  const spoken = createSpokenTags();
  let mode: Mode = "text";
  let held = "";
  let isEnd = false;
  let isInCall = false;
  let balances = new Map<number, Balance>();
  let thought = "";
  /** A tag in the middle of a line that nothing has closed yet: it may be a place to fill in. */
  let placeholder = "";
  let ofOthers = 0;
  let factsBegun = 0;
  /** Thinking that a header began ends with the next token. */
  let isThoughtOfHeader = false;
  /** The text so far was thinking, if more follows. */
  let isVoid = false;
  let calls: WrittenCall[] = [];
  /** Calls without tags, as long as no words follow. */
  let candidates: { raw: string; calls: WrittenCall[] }[] = [];
  let hasExample = false;
  let isWaiting = mayBeginThinking;
  let waiting = "";
  const line = () => shown.place().line();
  /** Each message of a person begins with the facts of its turn. */
  const isOver = () => ofOthers > maxOfOthers || factsBegun > 1;

  function take(length: number): void {
    held = held.slice(length);
    balances = new Map();
  }

  function begin(): void {
    if (!isVoid) return;
    isVoid = false;
    calls = [];
    shown.restart();
  }

  function leave(text: string): Step {
    take(text.length);
    const hasWords = /\S/.test(text);
    if (hasWords && candidates.length > 0) {
      const space = shown.takeSpace();
      const found = candidates.flatMap((each) => each.calls);
      const areObjects = candidates.every(({ raw }) => /^\s*[`~{[]/.test(raw));
      if (areObjects && /^\s*\n/.test(space + text) && !isAskedFor && !isRepeated(found)) {
        candidates = [];
        accept(found, 0);
        return skip("other", 0);
      }
      hasExample = true;
      const raw = candidates.splice(0).map((each) => each.raw);
      shown.put(raw.join("") + space);
    }
    if (hasWords) begin();
    shown.say(text);
    return "again";
  }

  function drop(length: number): Step {
    take(length);
    shown.leaveOut();
    return "again";
  }

  function skip(as: Mode, length: number): Step {
    mode = as;
    thought = "";
    if (as !== "other") ofOthers = 0;
    if (as === "facts") factsBegun += 1;
    return drop(length);
  }

  function speakOf(tag: Tag): Step {
    spoken.add(tag);
    return leave(tag.raw);
  }

  function accept(found: readonly WrittenCall[], length: number): Step {
    begin();
    calls.push(...found);
    return drop(length);
  }

  function tagStep(tag: Tag): Step {
    const after = held.slice(tag.raw.length);
    const before = line();
    const isOfThought = tag.kind === "thought" || tag.kind === "thought-end";
    const isOpen = isOfThought ? /^[^\S\n]*(?:is )?\w{0,7}$/ : /^[^\S\n]*$/;
    if (isOpen.test(after) && !isEnd) return "wait";
    if (spoken.closes(tag)) return leave(tag.raw);
    if (tag.kind === "call" || tag.kind === "function") return isQuoted(before) ? speakOf(tag) : callStep(tag);
    if (isOfThought ? isThoughtInSentence(before, after) : isInSentence(before, after)) return speakOf(tag);
    switch (tag.kind) {
      case "thought":
        placeholder = before.trim() === "" ? "" : tag.raw;
        isThoughtOfHeader = false;
        isWaiting = false;
        return skip("thought", tag.raw.length);
      case "thought-end":
        isVoid ||= shown.hasText() || calls.length > 0;
        candidates = [];
        return drop(tag.raw.length);
      case "header":
      case "foreign":
        return headerStep(tag);
      case "result":
        // What follows a made-up result is made up, too.
        if (!tag.isClosing && calls.length + candidates.length > 0) return skip("other", tag.raw.length);
        return wrapperStep(tag);
      case "wrapper":
        return wrapperStep(tag);
      case "facts":
        // In somebody's XML, it is indented. The model's own begin a line.
        if (/^\s+$/.test(before) && !shown.isBehindGap()) return speakOf(tag);
        return skip(tag.isClosing || tag.raw.endsWith("/>") ? "text" : "facts", tag.raw.length);
      case "special":
        return drop(tag.raw.length);
      default:
        return tag.kind satisfies never;
    }
  }

  /** Tags around an answer stand at its beginning, or behind something else that was left out. */
  function wrapperStep(tag: Tag): Step {
    const isAtEdge = tag.isClosing || !shown.hasText() || shown.isBehindGap();
    return isAtEdge ? drop(tag.raw.length) : speakOf(tag);
  }

  function headerStep(tag: Tag): Step {
    if (tag.kind === "foreign") return skip("other", tag.raw.length);
    if (isOpenHeader(held, tag.raw.length) && !isEnd) return "wait";
    const header = headerAt(held, tag.raw.length);
    mode = "text";
    if (header.calls !== undefined) return callStep(tag, header);
    isThoughtOfHeader = true;
    return skip(header.speaks === "other" ? "other" : header.isThought ? "thought" : "text", header.end);
  }

  function callStep(tag: Tag, header?: Header): Step {
    const found = announcedCall(held, tag, header, { known, isEnd, balances });
    isInCall = found.type === "wait";
    if (found.type === "wait") return "wait";
    if (found.type === "broken") return accept([found.call], found.end);
    if (found.type === "none") {
      const isSpoken = isInSentence(line(), held.slice(tag.raw.length));
      return isSpoken ? speakOf(tag) : drop(header?.end ?? tag.raw.length);
    }
    const after = held.slice(found.end);
    if (/^[^\S\n]*$/.test(after) && !isEnd) return "wait";
    if (isCallInSentence(line(), after)) return leave(held.slice(0, found.end));
    return isRepeated(found.calls) ? quoteStep(found.end) : accept(found.calls, found.end);
  }

  /** A call that others wrote, as code. */
  function quoteStep(length: number): Step {
    const raw = held.slice(0, length).trim();
    take(length);
    leave("");
    shown.say(asCode(raw, line()));
    return "again";
  }

  function bareStep(): Step | "text" {
    if (known.size === 0 || hasExample || isVoid) return "text";
    if (shown.hasText() && introducesExample(shown.place().lead())) return "text";
    const found: FoundCall = bareCall(held, { known, isEnd, balances });
    isInCall = found.type === "wait";
    if (found.type === "wait") return "wait";
    if (found.type !== "calls" || (isAskedFor && found.calls.some(({ name }) => !known.has(name)))) return "text";
    candidates.push({ raw: shown.takeSpace() + held.slice(0, found.end), calls: found.calls });
    return drop(found.end);
  }

  /** Functionary's `>>>name`, and `>>>all` before words. */
  function recipientStep(): Step | "text" {
    const [raw, name = ""] = /^>>>([\w.-]+)\n/.exec(held) ?? [];
    if (raw === undefined) return !isEnd && /^>{1,3}$|^>>>[\w.-]+$/.test(held) ? "wait" : "text";
    if (name === "all") return drop(raw.length);
    if (!known.has(name)) return "text";
    const header: Header = { end: raw.length, calls: name, speaks: "agent", isThought: false };
    return callStep({ kind: "header", raw, name, isClosing: false }, header);
  }

  function textStep(): Step {
    const place = shown.place();
    const isCode = place.isCode();
    const tag = isCode ? undefined : tagAt(held, 0);
    if (tag === "unclear" && !isEnd) return "wait";
    if (tag !== undefined && tag !== "unclear") return tagStep(tag);
    const isLineStart = !isCode && line().trim() === "";
    const isAnswerStart = !shown.hasText() && calls.length === 0 && /^[A-Za-z_]/.test(held);
    if (isLineStart && (/^[`~{[]/.test(held) || isAnswerStart)) {
      const step = bareStep();
      if (step !== "text") return step;
    }
    // Not the end of an HTML tag.
    if (!isCode && held.startsWith(">") && !/<[^<>]*$/.test(line())) {
      const step = recipientStep();
      if (step !== "text") return step;
    }
    return leave(/^(?:[`~]+|\s+|>+|[\s\S][^<>[\]◁\n`~]*)/.exec(held)?.[0] ?? "");
  }

  /** Leaves out what is no answer, up to the tag that ends it. */
  function skipStep(): Step {
    const start = held.search(tagStarts);
    const before = start === -1 ? held : held.slice(0, start);
    const tag = start === -1 ? undefined : tagAt(held, start);
    const isOpen = tag === "unclear" && !isEnd;
    const raw = tag === undefined || tag === "unclear" ? held.slice(start, start + 1) : tag.raw;
    const skipped = start === -1 || isOpen ? before : before + raw;
    if (mode === "thought") thought = (thought + skipped).slice(-maxThought);
    if (mode === "other") ofOthers += skipped.length;
    if (isOpen) {
      take(before.length);
      return "wait";
    }
    if (tag === undefined || tag === "unclear" || !endsSkipping(tag)) {
      take(skipped.length);
      return "again";
    }
    take(before.length);
    if (tag.kind === "header") return headerStep(tag);
    return skip("text", tag.raw.length);
  }

  function endsSkipping({ kind, name, raw, isClosing }: Tag): boolean {
    if (mode === "facts") return kind === "facts" && isClosing;
    if (mode === "other") return kind === "header" || /^(?:im)?assistant$|^chatbot/.test(name);
    return (
      kind === "thought-end" ||
      (isThoughtOfHeader && (kind === "header" || (kind === "special" && /^<[|｜]/.test(raw))))
    );
  }

  function run(): ReadText {
    while (held !== "" && !isOver() && (mode === "text" ? textStep() : skipStep()) === "again");
    if (isOver()) held = "";
    const { isNew, text } = shown.read();
    waiting = isNew ? text : waiting + text;
    const wasWaiting = isWaiting;
    isWaiting &&= !isNew && !isEnd;
    if (isWaiting) return { isNew: false, text: "" };
    const read = { isNew: isNew && !wasWaiting, text: waiting };
    waiting = "";
    return read;
  }

  /** The output limit ended the call, so the model is told to repeat it. */
  function cutCall(): WrittenCall[] {
    const tag = mode === "text" && !shown.place().isCode() && known.size > 0 ? tagAt(held, 0) : undefined;
    const isAnnounced = tag !== undefined && tag !== "unclear" && /^(?:call|function|header)$/.test(tag.kind);
    const name = mode === "text" ? toolNameIn(held) : undefined;
    return name !== undefined && (isAnnounced || known.has(name)) ? [{ name, inputJson: held }] : [];
  }

  /** Some models call in the middle of thinking, and never end it. */
  function callsOfThought(): WrittenCall[] {
    const start = thought.search(/<[|｜]?(?:tool|function|invoke)[^<>]*>|\[TOOL_CALLS\]/);
    if (mode !== "thought" || shown.hasText() || calls.length > 0 || start === -1) return [];
    const inner = createTextCallReader(request);
    const { text } = inner.add(thought.slice(start));
    const rest = inner.end(false);
    return (text + rest.text).trim() === "" ? rest.calls.map(({ name, inputJson }) => ({ name, inputJson })) : [];
  }

  return {
    thinksApart() {
      isWaiting = false;
    },
    add(text) {
      held += text;
      const isPart = isInCall && held.length > maxEagerLength && !/[>\]})\n]/.test(text);
      return isPart ? { isNew: false, text: "" } : run();
    },
    isRepeated,
    isOver,
    end(isCut) {
      isEnd = true;
      const cut = isCut ? cutCall() : [];
      if (cut.length > 0) held = "";
      if (mode === "thought" && placeholder !== "" && !isCut) {
        mode = "text";
        held = "";
        shown.say(placeholder + thought);
        thought = "";
      }
      const { isNew, text } = run();
      const bare = candidates.flatMap((each) => each.calls);
      const isExample = isRepeated(bare);
      const written = [...calls, ...(isExample ? [] : bare), ...cut, ...callsOfThought()];
      // Small models write the same call again and again.
      const all = [...new Map(written.map((call) => [`${call.name} ${call.inputJson}`, call])).values()];
      const left = isExample ? candidates.map(({ raw }) => raw).join("") : shown.isBehindGap() ? "" : shown.takeSpace();
      candidates = [];
      calls = [];
      mode = "text";
      isEnd = false;
      return { isNew, text: text + left, calls: all.map((call, index) => ({ id: `call_${index + 1}`, ...call })) };
    },
  };
}

/** Also the tools of earlier calls: a model that may use no more tools still writes such calls. */
function knownTools({ tools, named = [], messages }: Read): KnownTools {
  return new Map([
    ...messages.flatMap((message) =>
      message.role === "assistant" ? message.toolCalls.map(({ name }) => [name, undefined] as const) : [],
    ),
    ...[...tools, ...named].map(({ name, parameters }) => [name, parameters] as const),
  ]);
}
