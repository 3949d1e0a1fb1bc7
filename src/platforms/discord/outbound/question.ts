/** A plugin's question, with a button for each option, or one for a form, while it is open. It has embeds and blue buttons; cards have neither. */
import { ButtonStyle } from "discord.js";
import { shorten } from "../../../lib/text/shorten.ts";
import { answerInWordsLabel, answerLabel, optionLine, type QuestionCard } from "../../../ports/question.ts";
import { maxButtonsPerRow } from "../limits.ts";
import { button, rowsOf } from "./buttons.ts";
import type { OutgoingMessage } from "./messages.ts";
import { escapePlain } from "./plain-text.ts";

const maxHeadLength = 200;
const maxQuestionLength = 1_000;
/** Escapes can double the length, and a message without embeds has room for 2,000 characters. */
const maxPlainQuestionLength = 500;

export function questionMessage(card: QuestionCard, thread: string | null, isPlain: boolean): OutgoingMessage {
  const { id, question, options, words, note, isOpen } = card;
  const head = escapePlain(shorten(card.head, maxHeadLength));
  const quoted = escapePlain(`“${shorten(question, isPlain ? maxPlainQuestionLength : maxQuestionLength)}”`);
  const lines = [`> ${quoted}`, ...options.map(optionLine).map(escapePlain), escapePlain(note)];
  const picks = options
    .slice(0, maxButtonsPerRow)
    .map((_label, option) =>
      button({ type: "pick", option }, answerLabel(option), id, { thread }, ButtonStyle.Primary),
    );
  const form = button({ type: "write" }, answerInWordsLabel, id, { thread }, ButtonStyle.Primary);
  const buttons = words === undefined ? picks : [form];
  const components = isOpen ? rowsOf(buttons) : [];
  const description = lines.join("\n");
  if (isPlain) return { content: `**${head}**\n${description}`, components };
  // Notifications show no words of embeds.
  return { content: `**${head}**`, embeds: [{ description, color: isOpen ? 0x5865f2 : 0x80848e }], components };
}
