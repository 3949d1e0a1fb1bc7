/** What people should know before they answer, such as the hosts that a call reaches: one bold line each. */
import { shortenMiddle } from "../../../../lib/text/shorten.ts";
import type { Block } from "../render.ts";
import { bold, italic, richText } from "../rich-text.ts";

const maxFactCharacters = 300;
const maxFactsCharacters = 800;

export function factBlocks(
  facts: readonly string[],
  fileName: string,
  files: { name: string; text: string }[],
): Block[] {
  if (facts.length === 0) return [];
  const shown: string[] = [];
  let room = maxFactsCharacters;
  for (const fact of facts) {
    const line = `• ${shortenMiddle(fact, maxFactCharacters)}`;
    if (line.length > room) break;
    shown.push(line);
    room -= line.length;
  }
  const lines = richText([bold(shown.join("\n"))]);
  const isWhole = shown.length === facts.length && facts.every((fact) => fact.length <= maxFactCharacters);
  if (isWhole) return [lines];
  files.push({ name: fileName, text: facts.join("\n") });
  const more = facts.length - shown.length;
  const what = more === 0 ? "A line above is shortened" : `And ${more} more`;
  return [
    lines,
    richText([italic(`${what}. The full text is in the file ${fileName} below. Read it before you approve.`)]),
  ];
}
