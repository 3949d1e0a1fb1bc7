/**
 * Describes a rule of a SKILL.md to people. Patterns can have hundreds of characters, and whole patterns would hide what
 * matters on a card or in a list. Only patterns are shortened, never a call.
 */

const maxPatternCharacters = 60;

export function describePattern(pattern: string): string {
  const characters = [...pattern];
  return characters.length <= maxPatternCharacters
    ? pattern
    : `${characters.slice(0, maxPatternCharacters - 1).join("")}…`;
}

/** The rule's reason, or else its pattern, in quotes. */
export function describeRule({ pattern, reason }: { pattern: string; reason?: string }): string {
  return `“${reason ?? describePattern(pattern)}”`;
}
