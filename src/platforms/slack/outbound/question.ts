/** A tool's question with a button per option. Once the question is closed, shows its outcome instead. */
import type { QuestionCard } from "../../../ports/question.ts";
import { button } from "./blocks.ts";
import type { MessageContent } from "./render.ts";
import { richText } from "./rich-text.ts";
import { beginningOf, escapeText } from "./safe-text.ts";

export const pickAction = "remora_pick_";
const maxNotificationLength = 500;

export function questionMessage({ id, tool, question, options, requesterName, outcome }: QuestionCard): MessageContent {
  const head = richText([{ type: "text", text: question }]);
  const from = richText([{ type: "text", text: `${tool} asks ${requesterName}`, style: { italic: true } }]);
  const end =
    outcome === undefined
      ? {
          type: "actions",
          elements: options.map((option, index) => button(option, `${pickAction}${index}`, id)),
        }
      : richText([{ type: "text", text: outcome, style: { bold: true } }]);
  return { text: escapeText(beginningOf(question, maxNotificationLength)), blocks: [head, from, end] };
}
