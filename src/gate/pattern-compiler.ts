/**
 * RE2 runs each pattern whose JavaScript meaning it can express; JavaScript's engine runs the others under a time
 * limit. If the engines read a pattern differently, both run it, because safety must not depend on a dialect.
 */
import { RE2JS, RE2JSException, RE2Set } from "re2js";

export interface Readings {
  source: string;
  /** In RE2's syntax. Absent if RE2 can't express the pattern. */
  re2?: string;
  /** In JavaScript's syntax, for the timed engine. Absent if RE2 suffices. */
  javascript?: string;
}

/** A pattern longer than this is matched as literal text and never compiled. */
export const maxPatternCharacters = 20_000;

// JavaScript's `\s` and its complement, for RE2 classes. RE2's own `\s` is ASCII only and lacks \v.
const spaceRanges = "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const otherRanges =
  "\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
// Both engines accept these spellings but read them differently: \a \A \C \E \Q \z \p \P, POSIX classes, `(?U)`.
const readDifferently = /\\[aACEQzpP]|\[:|\(\?\w*U/;
const namedReference = /\\k</;

export function readPattern(written: string): Readings | undefined {
  const pattern = withoutInlineFlag(written);
  const isJavaScript = isAccepted(() => new RegExp(pattern, "i"));
  const re2 = namedReference.test(pattern) ? undefined : inRe2(pattern, isJavaScript);
  if (re2 !== undefined && isJavaScript && readDifferently.test(pattern))
    return { source: pattern, re2, javascript: pattern };
  if (re2 !== undefined) return { source: pattern, re2 };
  return isJavaScript ? { source: pattern, javascript: pattern } : undefined;
}

/** Ignoring case is the default here, and JavaScript does not support a leading `(?i)`. */
function withoutInlineFlag(pattern: string): string {
  return pattern.replace(/^\(\?i\)/, "");
}

export function literally(text: string): Readings {
  const source = RE2JS.quote(text);
  return { source, re2: source };
}

function inRe2(pattern: string, isJavaScript: boolean): string | undefined {
  const translated = widenSpaces(isJavaScript ? RE2JS.translateRegExp(pattern) : pattern);
  return isAccepted(() => new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE).add(translated))
    ? translated
    : undefined;
}

function isAccepted(compile: () => unknown): boolean {
  try {
    compile();
    return true;
  } catch (thrown) {
    if (thrown instanceof SyntaxError || thrown instanceof RE2JSException) return false;
    // The pattern is nested too deeply for a recursive parser, so treat it as invalid.
    if (thrown instanceof RangeError) return false;
    throw thrown;
  }
}

/** Gives `\s` and `\S` their JavaScript meaning, inside and outside of classes. */
function widenSpaces(pattern: string): string {
  let widened = "";
  let isInClass = false;
  for (let index = 0; index < pattern.length; index += 1) {
    const character = pattern.charAt(index);
    if (character === "\\") {
      index += 1;
      widened += spaceEscape(pattern.charAt(index), isInClass) ?? character + pattern.charAt(index);
      continue;
    }
    if (character === "[" && !isInClass) isInClass = true;
    else if (character === "]") isInClass = false;
    widened += character;
  }
  return widened;
}

function spaceEscape(letter: string, isInClass: boolean): string | undefined {
  if (letter === "s") return isInClass ? spaceRanges : `[${spaceRanges}]`;
  // Negate `spaceRanges`, because RE2 would fold the case of a million code points, which takes milliseconds per `\S`.
  if (letter === "S") return isInClass ? otherRanges : `[^${spaceRanges}]`;
  return undefined;
}
