/** Whom a card mentions. Only the ids listed in `mentions` can ping, whatever the rest of the message says. */
import { ComponentType } from "discord.js";
import type { ApprovalCard, CardNote, NotePart } from "../../../../ports/card.ts";
import { isSnowflake } from "../../conversation-id.ts";
import { maxMessageLength } from "../../limits.ts";
import type { Mentions, OutgoingMessage } from "../messages.ts";
import { escapePlain } from "../plain-text.ts";

/** A card leaves this much of its message for the line. */
export const maxMentionLineLength = 600;

/** Adds the line above the first message. A settled card pings nobody. */
export function withMentions(messages: OutgoingMessage[], card: ApprovalCard): OutgoingMessage[] {
  const [first, ...more] = messages;
  const { notify, copy, items } = card;
  const isOpen = items.some(({ state }) => state === "open");
  const told = isOpen ? (notify?.line ?? []) : [];
  const lines = [copy === undefined ? "" : copyLine(copy), lineText(told)];
  // The mentions alone are short.
  const texts = [lines.filter((text) => text !== "").join("\n"), mentionsText(told)];
  const line = texts.find((text) => text !== "" && text.length <= maxMentionLineLength);
  if (first === undefined || line === undefined) return messages;
  const components = [{ type: ComponentType.TextDisplay as const, content: line }, ...(first.components ?? [])];
  return [{ ...first, components, mentions: mentionsIn(told) }, ...more];
}

export function noteMessage({ line }: CardNote): OutgoingMessage {
  return { content: lineText(line).slice(0, maxMessageLength), mentions: mentionsIn(line) };
}

function copyLine({ text, link }: NonNullable<ApprovalCard["copy"]>): string {
  return link === undefined ? escapePlain(text) : `${escapePlain(text)} ${link}`;
}

function lineText(line: readonly NotePart[]): string {
  return line.map(partText).join("");
}

function mentionsText(line: readonly NotePart[]): string {
  return line
    .filter((part) => typeof part !== "string")
    .map(partText)
    .join(" ");
}

function partText(part: NotePart): string {
  if (typeof part === "string") return escapePlain(part);
  if ("userId" in part && isSnowflake(part.userId)) return `<@${part.userId}>`;
  if ("roleId" in part && isSnowflake(part.roleId)) return `<@&${part.roleId}>`;
  return escapePlain(`@${part.name}`);
}

function mentionsIn(line: readonly NotePart[]): Mentions {
  const users = line.flatMap((part) => (typeof part !== "string" && "userId" in part ? [part.userId] : []));
  const roles = line.flatMap((part) => (typeof part !== "string" && "roleId" in part ? [part.roleId] : []));
  return { users: users.filter(isSnowflake), roles: roles.filter(isSnowflake) };
}
