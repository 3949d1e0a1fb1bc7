/**
 * How a pattern as people write it is read: as a JavaScript regular expression with flag `i`, and run by RE2 wherever RE2
 * can say the same. Three outcomes: RE2, JavaScript's own engine under a time limit, or both where the two would read one
 * spelling differently; then either match counts, because a safety rule must not depend on whose dialect its author knew.
 */
import { RE2JS, RE2JSException, RE2Set } from "re2js";

export interface Readings {
  /** The pattern as an author would write it. */
  source: string;
  /** In RE2's syntax; absent when RE2 can't express it. */
  re2?: string;
  /** In JavaScript's syntax, for the timed engine; absent when RE2 says it all. */
  javascript?: string;
}

/** A pattern longer than this is taken as literal text: no engine is asked to compile it. */
export const longestPattern = 20_000;

// JavaScript's `\s` and its complement, as the inside of an RE2 class. RE2's own `\s` is ASCII only and lacks \v.
const spaceRanges = "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const otherRanges =
  "\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
// Spellings that both engines accept and read differently: \a \A \C \E \Q \z \p \P, POSIX classes, `(?U)`.
const readDifferently = /\\[aACEQzpP]|\[:|\(\?\w*U/;
const namedReference = /\\k</;

/** Undefined when neither engine accepts the pattern. */
export function readPattern(written: string): Readings | undefined {
  const pattern = withoutInlineFlag(written);
  const isJavaScript = isAccepted(() => new RegExp(pattern, "i"));
  const re2 = namedReference.test(pattern) ? undefined : inRe2(pattern, isJavaScript);
  if (re2 !== undefined && isJavaScript && readDifferently.test(pattern))
    return { source: pattern, re2, javascript: pattern };
  if (re2 !== undefined) return { source: pattern, re2 };
  return isJavaScript ? { source: pattern, javascript: pattern } : undefined;
}

/** A leading `(?i)` says what holds anyway, and JavaScript does not know it. */
function withoutInlineFlag(pattern: string): string {
  return pattern.replace(/^\(\?i\)/, "");
}

/** The text itself, as a pattern. */
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
    // Too deep for a recursive parser: as good as invalid.
    if (thrown instanceof RangeError) return false;
    throw thrown;
  }
}

/** Makes `\s` and `\S` mean what they mean in JavaScript, inside and outside of classes. */
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
  // Not `otherRanges`: folding the case of a million characters takes milliseconds for every `\S` of a pattern.
  if (letter === "S") return isInClass ? otherRanges : `[^${spaceRanges}]`;
  return undefined;
}
