/** Whom a card mentions. Only the ids listed in `mentions` can ping, whatever the rest of the message says. */
import { ComponentType } from "discord.js";
import { shorten } from "../../../../lib/text/shorten.ts";
import { type ApprovalCard, type CardNote, type NotePart, openCountText } from "../../../../ports/card.ts";
import { isSnowflake, parseConversationId } from "../../conversation-id.ts";
import { maxMessageLength } from "../../limits.ts";
import type { Mentions, OutgoingMessage } from "../messages.ts";
import { escapePlain } from "../plain-text.ts";
import { headlineText } from "./headline.ts";

/** A card leaves this much of its message for the line. */
export const maxMentionLineLength = 600;
/** Leaves a notification room for what is asked. */
const maxRequesterLength = 60;

/** Adds the line above the first message. A settled card pings nobody. */
export function withMentions(messages: OutgoingMessage[], card: ApprovalCard): OutgoingMessage[] {
  const [first, ...more] = messages;
  const { notify, copy, items } = card;
  const isOpen = items.some(({ state }) => state === "open");
  const told = isOpen ? (notify?.line ?? []) : [];
  const line = fitting([copy === undefined ? "" : copyLine(copy), lineText(told)], told);
  if (first === undefined || line === undefined) return messages;
  const components = [{ type: ComponentType.TextDisplay as const, content: line }, ...(first.components ?? [])];
  return [{ ...first, components, mentions: mentionsIn(told) }, ...more];
}

/**
 * What a card says at first, before it becomes components: Discord's notifications show no words of those. Undefined if it
 * notifies nobody: it does by mentions, and in a direct message.
 */
export function announcement({ items, requesterName, notify, target }: ApprovalCard): OutgoingMessage | undefined {
  const open = items.filter(({ state }) => state === "open");
  const [first] = open;
  const told = notify?.line ?? [];
  const isDirect = parseConversationId(target.conversationId)?.type === "dm";
  if (first === undefined || !(isDirect || mentionsText(told) !== "")) return undefined;
  const what = items.length === 1 ? headlineText(first) : openCountText(open.length);
  const asked = `${escapePlain(shorten(requesterName, maxRequesterLength))} asks: ${what}`;
  return { content: [asked, fitting([lineText(told)], told) ?? ""].join("\n").trim(), mentions: mentionsIn(told) };
}

/** The mentions alone are short. */
function fitting(lines: string[], told: readonly NotePart[]): string | undefined {
  const texts = [lines.filter((text) => text !== "").join("\n"), mentionsText(told)];
  return texts.find((text) => text !== "" && text.length <= maxMentionLineLength);
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
