/**
 * Values as models write them into calls: JSON, JSON with single quotes, bare keys, doubled braces or a missing last brace, Python's
 * literals, Gemma's `<|"|>` around texts; and Python's calls.
 */
import { parseJson } from "../lib/json.ts";

/** Deeper values are no arguments, and would fill the stack. */
const maxDepth = 100;
const quotes = ['<|"|>', '"""', "'''", '"', "'"];
const words: Readonly<Record<string, unknown>> = {
  ...{ true: true, false: false, null: null, True: true, False: false, None: null },
};

export interface PythonCall {
  name: string;
  positional: unknown[];
  named: Record<string, unknown>;
}

/** Undefined if the text is no value. */
export function readValue(text: string): unknown {
  const spellings = [text, text.replace(/^\{(\{[\s\S]*\})\}$/, "$1"), undoubled(text)];
  for (const spelling of spellings) {
    const value = parseJson(spelling) ?? whole(spelling, (reader) => reader.value(0));
    if (value !== undefined) return value;
  }
  return undefined;
}

function undoubled(text: string): string {
  return text.startsWith("{{") ? text.replaceAll("{{", "{").replaceAll("}}", "}") : text;
}

/** `name(…)`, a list of such calls, or one in `print(…)`. */
export function readPythonCalls(text: string): PythonCall[] | undefined {
  return whole(text, (reader) => reader.calls());
}

function whole<T>(text: string, read: (reader: ReturnType<typeof createReader>) => T): T | undefined {
  const reader = createReader(text.trim());
  try {
    const value = read(reader);
    return reader.isAtEnd() ? value : undefined;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

function createReader(text: string) {
  let at = 0;
  const fail = (): never => {
    throw new SyntaxError("not a value");
  };
  const space = () => {
    while (/\s/.test(text[at] ?? "")) at += 1;
  };
  const take = (mark: string): boolean => {
    space();
    if (!text.startsWith(mark, at)) return false;
    at += mark.length;
    return true;
  };
  const match = (pattern: RegExp): string | undefined => {
    space();
    pattern.lastIndex = at;
    const [found] = pattern.exec(text) ?? [];
    at += found?.length ?? 0;
    return found;
  };

  function list<T>(close: string, item: () => T): T[] {
    const items: T[] = [];
    while (!take(close)) {
      items.push(item());
      if (!take(",")) return take(close) ? items : fail();
    }
    return items;
  }

  function quoted(quote: string): string {
    let value = "";
    for (;;) {
      if (at >= text.length) return fail();
      if (text.startsWith(quote, at)) {
        at += quote.length;
        return value;
      }
      const isEscape = text[at] === "\\" && quote !== '<|"|>';
      const pattern = isEscape ? /\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])/y : undefined;
      if (pattern === undefined) {
        value += text[at];
        at += 1;
        continue;
      }
      pattern.lastIndex = at;
      const [found = fail()] = pattern.exec(text) ?? [];
      value += unescaped(found);
      at += found.length;
    }
  }

  function textHere(): string | undefined {
    space();
    const quote = quotes.find((each) => text.startsWith(each, at));
    if (quote === undefined) return undefined;
    at += quote.length;
    return quoted(quote);
  }

  function member(depth: number): [string, unknown] {
    const key = textHere() ?? match(/[\w$.-]+/y) ?? fail();
    return take(":") ? [key, value(depth)] : fail();
  }

  function value(depth: number): unknown {
    if (depth > maxDepth) return fail();
    const string = textHere();
    if (string !== undefined) return string;
    if (take("{")) return Object.fromEntries(list("}", () => member(depth + 1)));
    if (take("[")) return list("]", () => value(depth + 1));
    if (take("(")) return list(")", () => value(depth + 1));
    const word = match(/[A-Za-z]+\b/y);
    if (word !== undefined) return Object.hasOwn(words, word) ? words[word] : fail();
    return Number(match(/[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])/y) ?? fail());
  }

  function call(): PythonCall {
    const name = match(/[A-Za-z_][\w.-]*/y) ?? fail();
    if (!take("(")) return fail();
    if (name === "print") {
      const inner = call();
      return take(")") ? inner : fail();
    }
    const positional: unknown[] = [];
    const named: [string, unknown][] = [];
    list(")", () => {
      const key = match(/[A-Za-z_]\w*(?=\s*=[^=])/y);
      if (key === undefined) return void positional.push(value(0));
      return take("=") ? void named.push([key, value(0)]) : fail();
    });
    return { name: name.replace(/^default_api\./, ""), positional, named: Object.fromEntries(named) };
  }

  return {
    value,
    isAtEnd() {
      space();
      return at >= text.length;
    },
    calls(): PythonCall[] {
      if (take("[")) return list("]", call);
      const found = [call()];
      while (!this.isAtEnd() && (take(";") || /[A-Za-z]/.test(text[at] ?? ""))) if (!this.isAtEnd()) found.push(call());
      return found;
    },
  };
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", "\n": "" };

function unescaped(written: string): string {
  const letter = written[1] ?? "";
  if ((letter === "u" || letter === "x") && written.length > 2)
    return String.fromCharCode(Number.parseInt(written.slice(2), 16));
  return escapes[letter] ?? letter;
}

/** How far the brackets of a text that grows have been read. */
export interface Balance {
  at: number;
  open: string[];
  quote: string;
  end?: number;
}

/** Where the brackets that open at `balance.at` are closed. Undefined as long as they are not. */
export function balancedEnd(text: string, balance: Balance): number | undefined {
  if (balance.end !== undefined) return balance.end;
  for (; balance.at < text.length; balance.at += 1) {
    const character = text[balance.at] ?? "";
    if (balance.quote !== "") {
      if (character === "\\") {
        // The character that it escapes may not have come yet.
        if (balance.at + 1 === text.length) return undefined;
        balance.at += 1;
      } else if (character === balance.quote) balance.quote = "";
    } else if (character === '"' || (character === "'" && !/\w/.test(text[balance.at - 1] ?? ""))) {
      // Within a word, it is an apostrophe.
      balance.quote = character;
    } else if ("{[(".includes(character)) balance.open.push(character);
    else if ("}])".includes(character)) {
      balance.open.pop();
      if (balance.open.length === 0) {
        balance.end = balance.at + 1;
        return balance.end;
      }
    }
  }
  return undefined;
}
