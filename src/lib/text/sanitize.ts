/** Makes untrusted text safe to show: it can't add formatting, hide text, mention anybody, or imitate other output. */

/** Removes invisible and direction-changing characters, but keeps line breaks. Does not escape markup. */
export function asPlain(text: string): string {
  return text.replace(/(?![\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, "").trim();
}

export function oneLine(text: string, maxCharacters: number): string {
  const clean = text
    .slice(0, maxCharacters * 4)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, (run) => (/[\s\p{Cc}\p{Zl}\p{Zp}]/u.test(run) ? " " : ""))
    .trim();
  const characters = Array.from(clean);
  return characters.length <= maxCharacters ? clean : `${characters.slice(0, maxCharacters - 1).join("")}…`;
}

/** Makes a line a Markdown code span, even if it contains backticks. */
export function codeSpan(line: string): string {
  const longest = Math.max(0, ...Array.from(line.matchAll(/`+/g), ([run]) => run.length));
  if (longest === 0) return `\`${line || " "}\``;
  const ticks = "`".repeat(longest + 1);
  return `${ticks} ${line} ${ticks}`;
}

export function asCode(text: string, maxCharacters: number): string {
  return codeSpan(oneLine(text, maxCharacters));
}
