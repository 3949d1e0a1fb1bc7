/** A tool's question as a message, with a button for each option while the question is open. */
import { ButtonStyle } from "discord.js";
import { shorten } from "../../../lib/text/shorten.ts";
import type { QuestionCard } from "../../../ports/question.ts";
import { maxButtonsPerRow } from "../limits.ts";
import { button, rowsOf } from "./buttons.ts";
import type { OutgoingMessage } from "./messages.ts";
import { escapePlain } from "./plain-text.ts";

const maxTitleLength = 100;
const maxQuestionLength = 1_000;
const maxPlainDescriptionLength = 1_800;

export function questionMessage(card: QuestionCard, thread: string | null, isPlain: boolean): OutgoingMessage {
  const { id, tool, question, options, requesterName, outcome } = card;
  const ending =
    outcome === undefined ? `Only ${escapePlain(requesterName)} can answer` : `**${escapePlain(outcome)}**`;
  const buttons = options
    .slice(0, maxButtonsPerRow)
    .map((label, option) => button({ type: "pick", option }, label, id, { thread }, ButtonStyle.Primary));
  const title = shorten(`Question: ${escapePlain(tool)}`, maxTitleLength);
  const description = `${escapePlain(shorten(question, maxQuestionLength))}\n\n${ending}`;
  const color = outcome === undefined ? 0x5865f2 : 0x80848e;
  const components = outcome === undefined ? rowsOf(buttons) : [];
  if (isPlain) return { content: `**${title}**\n${shorten(description, maxPlainDescriptionLength)}`, components };
  return { embeds: [{ title, description, color }], components };
}
