/** Describes a rule to people. Long patterns are shortened, because they would hide what matters on a card. */

const maxPatternCharacters = 60;

export function describePattern(pattern: string): string {
  const characters = [...pattern];
  return characters.length <= maxPatternCharacters
    ? pattern
    : `${characters.slice(0, maxPatternCharacters - 1).join("")}…`;
}

export function describeRule({ pattern, reason }: { pattern: string; reason?: string }): string {
  return `“${reason ?? describePattern(pattern)}”`;
}
