/**
 * Approval cards as messages: one embed a row of the card, one line of buttons an open row, and a last line for all of them.
 *
 * All texts of a card are plain text, and are shown as that. The whole call is on the card; what does not fit is shown with its
 * head and tail and attached whole as a file, and the card says so. Where files can't be attached, what is not seen whole can't be
 * approved there.
 */
import {
  type APIButtonComponentWithCustomId,
  type APIEmbed,
  type APIMessageTopLevelComponent,
  ButtonStyle,
  ComponentType,
  type RawFile,
} from "discord.js";
import type { ApprovalCard, ApprovalState, CardItem } from "../../core/approval.ts";
import type { AnswerChoice } from "../../core/message.ts";
import { rowText, wholeRow } from "./card-row.ts";
import { type ButtonPlace, formatButtonId, parseButtonId } from "./custom-id.ts";
import type { OutgoingMessage } from "./messages.ts";
import { messageLimit } from "./parts.ts";
import { clip, cutAt, escapePlain } from "./plain-text.ts";

/** What Discord lets us send: `plain` is text without embeds and files. */
export type CardStyle = "full" | "without-files" | "plain";

/** The best first. */
export const cardStyles: readonly CardStyle[] = ["full", "without-files", "plain"];

export interface CardOptions {
  place: ButtonPlace;
  style: CardStyle;
}

/** Lines of buttons in a message; with several rows one is for all of them. */
const mostLines = 5;
/** Discord takes 6,000 characters for all embeds of a message, titles and the last lines included. */
const mostCharacters = 5_400;
const mostDescription = 3_400;

/** The first message carries the card's id; a card of more rows than it has room for goes on in further ones. */
export function cardMessages(card: ApprovalCard, options: CardOptions): OutgoingMessage[] {
  const { items } = card;
  const hasAll = items.filter((item) => item.choices.includes("approve")).length > 1;
  // Also when the line for all is gone, so that a row stays in its message.
  const first = items.slice(0, mostLines - 1);
  const chunks = [first];
  for (let from = first.length; from < items.length; from += mostLines)
    chunks.push(items.slice(from, from + mostLines));
  let number = 0;
  return chunks.map((chunk, index) => {
    const place = index === 0 ? { thread: options.place.thread } : options.place;
    const rows = chunk.map((item) => ({ item, number: ++number }));
    const message = messageOf(card, rows, { ...options, place }, index === 0 && hasAll);
    return options.style === "plain" ? asText(message) : message;
  });
}

/** What does not fit can't be approved here. */
function asText({ embeds = [], components = [] }: OutgoingMessage): OutgoingMessage {
  const content = embeds.map(({ title, description }) => `**${title}**\n${description}`).join("\n\n");
  if (content.length <= messageLimit) return { content, components };
  const note = `\n… ⚠️ There is more than I can show here without the permission Embed Links.`;
  const denials = components.flatMap((line) => {
    const buttons = line.type === ComponentType.ActionRow ? line.components.filter(isDenial) : [];
    return buttons.length === 0 ? [] : [{ type: ComponentType.ActionRow as const, components: buttons }];
  });
  return {
    content: closeBlock(content.slice(0, cutAt(content, messageLimit - note.length - 4))) + note,
    components: denials,
  };
}

function isDenial(component: object): component is APIButtonComponentWithCustomId {
  if (!("custom_id" in component) || typeof component.custom_id !== "string") return false;
  const meaning = parseButtonId(component.custom_id)?.meaning;
  return meaning?.type === "answer" && meaning.choice === "deny";
}

function closeBlock(text: string): string {
  return (text.match(/```/g)?.length ?? 0) % 2 === 0 ? text : `${text}\n\`\`\``;
}

interface Row {
  item: CardItem;
  number: number;
}

function messageOf(card: ApprovalCard, rows: Row[], options: CardOptions, hasAll: boolean): OutgoingMessage {
  const isOne = card.items.length === 1;
  const canAttach = options.style === "full";
  const most = options.style === "plain" ? 1_700 : mostCharacters;
  const room = Math.min(mostDescription, Math.floor(most / rows.length) - 200);
  const files: RawFile[] = [];
  const embeds: APIEmbed[] = [];
  const lines: APIMessageTopLevelComponent[] = [];
  for (const { item, number } of rows) {
    const fileName = `call-${number}.txt`;
    const { text, isWhole } = rowText(item, { room, fileName: canAttach ? fileName : undefined });
    if (!isWhole && canAttach) files.push({ name: fileName, data: wholeRow(item), contentType: "text/plain" });
    const label = isOne ? "" : `${number}. `;
    embeds.push({
      title: clip(`${label}${titleOf(item)}`, 100),
      description: text,
      color: colors[item.state],
    });
    const choices = isWhole || canAttach ? item.choices : item.choices.filter((choice) => choice === "deny");
    if (choices.length > 0) lines.push(lineOf(choices, item, isOne ? "" : ` ${number}`, options.place));
  }
  const last = embeds.at(-1);
  if (last !== undefined) last.description = `${last.description}\n\n${whoAndUntil(card)}`;
  if (hasAll) lines.push(lineForAll(card, options));
  return { embeds, components: lines, files };
}

const colors: Record<ApprovalState, number> = {
  open: 0xf0b232,
  approved: 0x23a55a,
  consumed: 0x23a55a,
  denied: 0xda373c,
  expired: 0x80848e,
  cancelled: 0x80848e,
};

function titleOf({ tool, times }: CardItem): string {
  return `Approval: ${escapePlain(tool)}${times > 1 ? ` (${times} identical calls)` : ""}`;
}

function whoAndUntil({ items, approversText, expiresAt }: ApprovalCard): string {
  const who = escapePlain(clip(approversText, 300));
  const isOpen = items.some((item) => item.state === "open");
  return isOpen && expiresAt !== null ? `${who} · expires <t:${Math.floor(expiresAt / 1000)}:R>` : who;
}

const looks: Record<AnswerChoice, { label: string; style: APIButtonComponentWithCustomId["style"] }> = {
  approve: { label: "Approve", style: ButtonStyle.Success },
  deny: { label: "Deny", style: ButtonStyle.Danger },
  edit: { label: "Edit…", style: ButtonStyle.Secondary },
  allow: { label: "Allow", style: ButtonStyle.Secondary },
  part: { label: "Choose files…", style: ButtonStyle.Secondary },
  diff: { label: "Show diff", style: ButtonStyle.Secondary },
  undo: { label: "Undo", style: ButtonStyle.Secondary },
  again: { label: "Run again", style: ButtonStyle.Secondary },
};
const order: readonly AnswerChoice[] = ["approve", "deny", "edit", "allow"];

function lineOf(
  choices: AnswerChoice[],
  item: CardItem,
  suffix: string,
  place: ButtonPlace,
): APIMessageTopLevelComponent {
  const buttons = order
    .filter((choice) => choices.includes(choice) && (choice !== "edit" || item.editJson !== undefined))
    .map((choice) => button(choice, allowLabel(choice, item) + suffix, item.approvalId, place));
  return { type: ComponentType.ActionRow, components: buttons };
}

/** With the time that the rule would hold, as the rule's own text begins: `For 30 minutes, …`. */
function allowLabel(choice: AnswerChoice, { grantText }: CardItem): string {
  if (choice !== "allow") return looks[choice].label;
  const [, minutes] = /^For (\d+) minutes?\b/.exec(grantText ?? "") ?? [];
  return minutes === undefined ? "Allow here for a while" : `Allow ${minutes} min here`;
}

/** A call that may not be seen whole is not approved along with others. */
function lineForAll(card: ApprovalCard, { place, style }: CardOptions): APIMessageTopLevelComponent {
  const deny = button("deny", "Deny all", card.id, { thread: place.thread });
  const approve = button("approve", "Approve all", card.id, { thread: place.thread });
  return { type: ComponentType.ActionRow, components: style === "full" ? [approve, deny] : [deny] };
}

function button(choice: AnswerChoice, label: string, id: string, place: ButtonPlace): APIButtonComponentWithCustomId {
  return {
    type: ComponentType.Button,
    style: looks[choice].style,
    label: clip(label, 80),
    custom_id: formatButtonId({ meaning: { type: "answer", choice }, ...place, id }),
  };
}
