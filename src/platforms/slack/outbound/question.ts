/** A plugin's question, with a button for each option, or one for a form, while it is open. Cards have no quotes. */
import { answerInWordsLabel, answerLabel, optionLine, type QuestionCard } from "../../../ports/question.ts";
import { button, smallLine } from "./blocks.ts";
import type { MessageContent } from "./render.ts";
import { bold, plain, quote, richText } from "./rich-text.ts";
import { beginningOf, escapeText, wordJoiner } from "./safe-text.ts";

export const pickAction = "remora_pick_";
export const wordsAction = "remora_answer_in_words";
const maxNotificationLength = 500;

export function questionMessage({ id, head, question, options, words, note, isOpen }: QuestionCard): MessageContent {
  const quoted = `“${question}”`;
  const buttons =
    words === undefined
      ? options.map((_option, index) => button(answerLabel(index), `${pickAction}${index}`, id))
      : [button(answerInWordsLabel, wordsAction, id)];
  return {
    // Clients make links of addresses there.
    text: escapeText(beginningOf(`${head} ${quoted}`, maxNotificationLength).replaceAll("://", `:${wordJoiner}//`)),
    blocks: [
      // One block, because notifications on the desktop show the first one.
      quote(bold(head), quoted),
      ...(options.length === 0 ? [] : [richText([plain(options.map(optionLine).join("\n"))])]),
      ...(isOpen ? [{ type: "actions", elements: buttons }] : []),
      smallLine(note),
    ],
  };
}
