/**
 * How a pattern of a SKILL.md is named to people. Patterns may be hundreds of characters long, and a card or a list that
 * shows them whole hides what matters: the reason, and the file and line where the whole pattern stands.
 *
 * Only patterns are ever shortened, never a call.
 */

/** In characters. */
const longestPattern = 60;

export function describePattern(pattern: string): string {
  const characters = [...pattern];
  return characters.length <= longestPattern ? pattern : `${characters.slice(0, longestPattern - 1).join("")}…`;
}

/** What asks, in words: the rule's reason, or else its pattern. */
export function describeRule({ pattern, reason }: { pattern: string; reason?: string }): string {
  return `“${reason ?? describePattern(pattern)}”`;
}
