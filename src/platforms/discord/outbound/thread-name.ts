/** What a thread is called: the first words of what began it, as plain text. */
import { plainCell } from "./markdown-table.ts";
import { clip } from "./plain-text.ts";

const longest = 80;

export function threadNameFor(text: string, authorName: string): string {
  const line = text
    .replace(/```[\s\S]*?(?:```|$)/g, " ")
    // Mentions are written `@Ann (<@1>)` by then, or stand as they came.
    .replace(/ ?\(?<(?:@[!&]?|#|a?:\w+:)\d+>\)?/g, "")
    .replace(/https?:\/\/(\S{1,60})\S*/g, "$1")
    .split("\n")
    .map((each) => plainCell(each.replace(/^[\s>#*+-]+/, "")))
    .map((each) =>
      each
        .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}`*_~|\\]+/gu, " ")
        .replace(/\s+/gu, " ")
        .trim(),
    )
    .find((each) => /[\p{L}\p{N}\p{Emoji}]/u.test(each));
  if (line !== undefined) return shortened(line);
  const name = authorName.replace(/[\p{Cc}\p{Cf}]+/gu, "").trim();
  return clip(name === "" ? "Conversation" : `Conversation with ${name}`, longest);
}

/** Whole words, where that does not leave too little. */
function shortened(line: string): string {
  if (line.length <= longest) return line;
  const cut = clip(line, longest);
  const space = cut.lastIndexOf(" ");
  return space > longest / 2 ? `${cut.slice(0, space)}…` : cut;
}
