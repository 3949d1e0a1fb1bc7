/** Foreign text in answers to commands: one clean line that can't format, hide or mention anything. */

/** For places that read no markup: without invisible and direction-changing characters; line breaks stay. */
export function asPlain(text: string): string {
  return text.replace(/(?![\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, "").trim();
}

/** As a code span of at most `limit` characters; invisible and direction-changing characters are left out. */
export function asCode(text: string, limit: number): string {
  const clean = text
    .slice(0, limit * 4)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, (run) => (/[\s\p{Cc}\p{Zl}\p{Zp}]/u.test(run) ? " " : ""))
    .trim();
  const characters = Array.from(clean);
  const line = characters.length <= limit ? clean : `${characters.slice(0, limit - 1).join("")}…`;
  const longest = Math.max(0, ...Array.from(line.matchAll(/`+/g), ([run]) => run.length));
  const ticks = "`".repeat(longest + 1);
  return longest === 0 ? `\`${line || " "}\`` : `${ticks} ${line} ${ticks}`;
}
