/** Names a thread by the first words of its message, as plain text. */
import { shorten } from "../../../lib/text/shorten.ts";
import { plainCell } from "./markdown-table.ts";

const longest = 80;

export function threadNameFor(text: string, authorName: string): string {
  const line = text
    .replace(/```[\s\S]*?(?:```|$)/g, " ")
    // Mentions are either readable already (`@Ann (<@1>)`) or still raw.
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
  return shorten(name === "" ? "Conversation" : `Conversation with ${name}`, longest);
}

function shortened(line: string): string {
  if (line.length <= longest) return line;
  const cut = shorten(line, longest);
  const space = cut.lastIndexOf(" ");
  return space > longest / 2 ? `${cut.slice(0, space)}…` : cut;
}
