/** A tool's question as a message: the question as plain text, and a button for each option while it is open. */
import { ButtonStyle, ComponentType } from "discord.js";
import type { QuestionCard } from "../../../ports/question.ts";
import { formatButtonId } from "../interactions/custom-id.ts";
import type { OutgoingMessage } from "./messages.ts";
import { clip, escapePlain } from "./plain-text.ts";

/** `isPlain`: without an embed. */
export function questionMessage(card: QuestionCard, thread: string | null, isPlain: boolean): OutgoingMessage {
  const { id, tool, question, options, requesterName, outcome } = card;
  const ending =
    outcome === undefined ? `Only ${escapePlain(requesterName)} can answer` : `**${escapePlain(outcome)}**`;
  const buttons = options.slice(0, 5).map((label, option) => ({
    type: ComponentType.Button as const,
    style: ButtonStyle.Primary as const,
    label: clip(label, 80),
    custom_id: formatButtonId({ meaning: { type: "pick", option }, thread, id }),
  }));
  const title = clip(`Question: ${escapePlain(tool)}`, 100);
  const description = `${escapePlain(clip(question, 1_000))}\n\n${ending}`;
  const color = outcome === undefined ? 0x5865f2 : 0x80848e;
  const lines = outcome === undefined ? [{ type: ComponentType.ActionRow as const, components: buttons }] : [];
  if (isPlain) return { content: `**${title}**\n${clip(description, 1_800)}`, components: lines };
  return { embeds: [{ title, description, color }], components: lines };
}
