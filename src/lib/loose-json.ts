/**
 * Reads what a model writes where it means JSON: also single quotes, trailing commas, comments, bare keys, Python's literals,
 * line ends in strings, doubled braces, a fence around the value, words after it, and JSON inside a JSON string.
 *
 * It completes nothing and drops no character of a string, unlike the usual libraries: a value that is not closed, a quote inside a string
 * and an unknown escape have no certain reading, so the text is no JSON.
 */

/** How the numbers of an object or list are written, by key: `1.10` is another version than `1.1`. */
export type NumberTexts = WeakMap<object, Map<string, string>>;

/** Deeper nesting is refused before it fills the stack. */
const maxDepth = 100;
/** JSON text inside a JSON string inside another one. */
const maxLayers = 3;

/** Returns undefined if the text has no certain reading. */
export function parseLooseJson(text: string, numbers: NumberTexts = new WeakMap()): unknown {
  let value: unknown = text;
  for (let layer = 0; layer < maxLayers && typeof value === "string"; layer += 1) value = parseLayer(value, numbers);
  return typeof value === "string" ? undefined : value;
}

function parseLayer(text: string, numbers: NumberTexts): unknown {
  const trimmed = text.trim();
  return parseExact(trimmed, numbers) ?? parseLoose(trimmed, numbers) ?? parseEscaped(trimmed);
}

function parseExact(text: string, numbers: NumberTexts): unknown {
  try {
    return JSON.parse(text, function (this: object, key: string, value: unknown, context?: { source?: string }) {
      if (typeof value === "number") noteNumber(numbers, this, key, context?.source ?? String(value));
      return value;
    });
  } catch {
    return undefined;
  }
}

/** `{\"a\": \"b\"}`: escaped as inside a string, without the string. */
function parseEscaped(text: string): unknown {
  return /^[[{]\s*\\"/.test(text) ? parseExact(`"${text}"`, new WeakMap()) : undefined;
}

function parseLoose(text: string, numbers: NumberTexts): unknown {
  const start = /^```\w*\s/.exec(text)?.[0].length ?? 0;
  const reader = createReader(text.slice(start), numbers);
  try {
    const value = reader.value(0);
    return isOnlyWords(reader.rest(), reader.hasSingleQuotes()) ? value : undefined;
  } catch (thrown) {
    if (thrown instanceof NoJson) return undefined;
    throw thrown;
  }
}

/**
 * True for what may follow a value: closing brackets and words. A quotation mark would mean that the value ended at a quote inside of
 * one of its strings, and a bracket that a second value follows.
 */
function isOnlyWords(rest: string, hasSingleQuotes: boolean): boolean {
  const end = rest.trim();
  return !/^[,:]/.test(end) && !/["{[]/.test(end) && !(hasSingleQuotes && end.includes("'"));
}

function noteNumber(numbers: NumberTexts, holder: object, key: string, text: string): void {
  const known = numbers.get(holder) ?? new Map<string, string>();
  numbers.set(holder, known.set(key, text));
}

class NoJson extends Error {}

const words = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["True", true],
  ["False", false],
  ["None", null],
]);

const escapes = new Map(
  Object.entries({ n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", "/": "/", "\\": "\\", '"': '"', "'": "'" }),
);

function createReader(text: string, numbers: NumberTexts) {
  let at = 0;
  let hasSingleQuotes = false;

  /** Takes what matches here. */
  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  }

  function skip(): void {
    for (;;) {
      const comment = take(/\s+|\/\/.*|#.*|\/\*[\s\S]*?\*\//y);
      if (comment === undefined) return;
      // What looks like a comment may be the rest of a string with a quote in it.
      if (/["']/.test(comment)) throw new NoJson();
    }
  }

  function has(character: string): boolean {
    skip();
    if (text[at] !== character) return false;
    at += 1;
    return true;
  }

  function expect(character: string): void {
    if (!has(character)) throw new NoJson();
  }

  function string(quote: string): string {
    hasSingleQuotes ||= quote === "'";
    at += 1;
    let read = "";
    for (;;) {
      read += take(quote === '"' ? /[[^"\\\p{Cc}]\n\r\t]+/vy : /[[^'\\\p{Cc}]\n\r\t]+/vy) ?? "";
      const character = text[at];
      at += 1;
      if (character === quote) return read;
      if (character !== "\\") throw new NoJson();
      const code = take(/u[\da-f]{4}/iy);
      const plain =
        code === undefined ? escapes.get(text[at] ?? "") : String.fromCharCode(Number.parseInt(code.slice(1), 16));
      if (plain === undefined) throw new NoJson();
      if (code === undefined) at += 1;
      read += plain;
    }
  }

  function key(): string {
    skip();
    const next = text[at];
    if (next === '"' || next === "'") return string(next);
    const bare = take(/[\p{L}_$][\p{L}\d_$-]*/uy);
    if (bare === undefined) throw new NoJson();
    return bare;
  }

  function object(depth: number): object {
    if (depth > maxDepth) throw new NoJson();
    if (has("{")) {
      // Doubled, as in the format strings of templates.
      const inner = object(depth + 1);
      expect("}");
      return inner;
    }
    const entries = new Map<string, unknown>();
    const written = new Map<string, string>();
    while (!has("}")) {
      const name = key();
      if (entries.has(name)) throw new NoJson();
      expect(":");
      entries.set(
        name,
        member(depth, (number) => written.set(name, number)),
      );
      if (has("}")) break;
      expect(",");
    }
    return noted(Object.fromEntries(entries), written);
  }

  function list(depth: number): object {
    if (depth > maxDepth) throw new NoJson();
    const items: unknown[] = [];
    const written = new Map<string, string>();
    while (!has("]")) {
      items.push(member(depth, (number) => written.set(String(items.length), number)));
      if (has("]")) break;
      expect(",");
    }
    return noted(items, written);
  }

  function noted(holder: object, written: Map<string, string>): object {
    numbers.set(holder, written);
    return holder;
  }

  function member(depth: number, note: (number: string) => void): unknown {
    skip();
    const from = at;
    const read = value(depth + 1);
    if (typeof read === "number") note(text.slice(from, at));
    return read;
  }

  function value(depth: number): unknown {
    skip();
    const next = text[at];
    if (next === '"' || next === "'") return string(next);
    if (has("{")) return object(depth);
    if (has("[")) return list(depth);
    const number = take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y);
    if (number !== undefined) return Number(number);
    const word = take(/[A-Za-z]+(?![\w.])/y);
    if (word === undefined || !words.has(word)) throw new NoJson();
    return words.get(word);
  }

  return { value, rest: () => text.slice(at), hasSingleQuotes: () => hasSingleQuotes };
}
