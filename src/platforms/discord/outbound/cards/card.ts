/**
 * Approval cards as messages: one embed and one row of buttons per item, and a last row for all items. All texts are
 * plain. A long call is shortened and attached in full. If it can't be attached, it can't be approved.
 */
import type { APIEmbed, APIMessageTopLevelComponent, RawFile } from "discord.js";
import { shorten, shortenStart } from "../../../../lib/text/shorten.ts";
import type { ApprovalCard, ApprovalState, CardItem } from "../../../../ports/card.ts";
import type { ButtonPlace } from "../../interactions/custom-id.ts";
import { maxButtonRows, maxEmbedLength, maxEmbedTitleLength, maxMessageLength } from "../../limits.ts";
import type { OutgoingMessage } from "../messages.ts";
import { cutAt, escapePlain } from "../plain-text.ts";
import { buttonLine, lineForAll, lineWithoutConsent, withoutConsent } from "./card-buttons.ts";
import { rowText, wholeRow } from "./card-row.ts";
import { wholeChanges } from "./changes-file.ts";
import { changesText, isAsked } from "./changes-text.ts";
import { withMentions } from "./mention-line.ts";

/** What Discord lets us send, tried in the order of `cardStyles`. `plain` is text without embeds and files. */
export type CardStyle = "full" | "without-files" | "plain";

export const cardStyles: readonly CardStyle[] = ["full", "without-files", "plain"];

export interface CardOptions {
  place: ButtonPlace;
  style: CardStyle;
}

/** Leaves room for titles and the last lines. */
const maxDescriptionsLength = maxEmbedLength - 600;
const maxDescriptionLength = 3_400;
const maxPlainLength = maxMessageLength - 300;

/** The first message identifies the card. Items that don't fit continue in further messages. */
export function cardMessages(card: ApprovalCard, options: CardOptions): OutgoingMessage[] {
  const items = card.copy === undefined ? card.items : card.items.map(withoutHandOver);
  const hasAll = items.filter((item) => item.choices.includes("approve")).length > 1;
  // Reserve the last row even if it is not shown so that every item stays in its message.
  const first = items.slice(0, maxButtonRows - 1);
  const chunks = [first];
  for (let from = first.length; from < items.length; from += maxButtonRows)
    chunks.push(items.slice(from, from + maxButtonRows));
  let number = 0;
  const messages = chunks.map((chunk, index) => {
    const place = index === 0 ? { thread: options.place.thread } : options.place;
    const rows = chunk.map((item) => ({ item, number: ++number }));
    const message = messageOf(card, rows, { ...options, place }, index === 0 && hasAll);
    return options.style === "plain" ? asText(message) : message;
  });
  return withMentions(messages, card);
}

/** In a direct message, Discord's menu of people lists nobody else. */
function withoutHandOver(item: CardItem): CardItem {
  return { ...item, choices: item.choices.filter((choice) => choice !== "handover") };
}

/** Converts embeds to text. If the text does not fit, the message offers no approval. */
function asText({ embeds = [], components = [] }: OutgoingMessage): OutgoingMessage {
  const content = embeds.map(({ title, description = "" }) => `**${title}**\n${description}`).join("\n\n");
  if (content.length <= maxMessageLength) return { content, components };
  const note = `\n… ⚠️ I can't show the rest without the Embed Links permission.`;
  return {
    content: closeBlock(content.slice(0, cutAt(content, maxMessageLength - note.length - 4))) + note,
    components: components.flatMap((line) => lineWithoutConsent(line) ?? []),
  };
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
  const most = options.style === "plain" ? maxPlainLength : maxDescriptionsLength;
  const room = Math.min(maxDescriptionLength, Math.floor(most / rows.length) - 200);
  const files: RawFile[] = [];
  const embeds: APIEmbed[] = [];
  const lines: APIMessageTopLevelComponent[] = [];
  for (const row of rows) {
    const { text, isWhole, whole } = shownRow(row, room, canAttach);
    if (whole !== undefined) files.push(whole);
    embeds.push(embedFor(row, isOne, text));
    const choices = isWhole || canAttach ? row.item.choices : withoutConsent(row.item.choices);
    const line = buttonLine(row.item, choices, isOne ? "" : ` ${row.number}`, options.place);
    if (line !== undefined) lines.push(line);
  }
  const last = embeds.at(-1);
  if (last !== undefined && rows.some(({ item }) => item.changes === undefined || isAsked(item)))
    last.description = [last.description ?? "", whoAndUntil(card)].filter(Boolean).join("\n\n");
  if (hasAll) lines.push(lineForAll(card, options.place, options.style === "full"));
  return { embeds, components: lines, files };
}

function shownRow({ item, number }: Row, room: number, canAttach: boolean) {
  const { changes } = item;
  const name = changes === undefined ? `call-${number}.txt` : `changes-${number}.txt`;
  const rowOptions = { room, fileName: canAttach ? name : undefined };
  const { text, isWhole } = changes === undefined ? rowText(item, rowOptions) : changesText(item, changes, rowOptions);
  if (isWhole || !canAttach) return { text, isWhole };
  const data = changes === undefined ? wholeRow(item) : wholeChanges(item, changes);
  return { text, isWhole, whole: { name, data, contentType: "text/plain" } satisfies RawFile };
}

function embedFor({ item, number }: Row, isOne: boolean, text: string): APIEmbed {
  const label = isOne ? "" : `${number}. `;
  return {
    title: label + itemTitle(item, isOne ? maxTitleLength : maxTitleLengthOfSeveral),
    ...(text === "" ? {} : { description: text }),
    color: colors[item.state],
  };
}

/** Escaping can double the length of a text. */
const maxTitleLength = maxEmbedTitleLength / 2 - 8;
const maxTitleLengthOfSeveral = 45;
const maxCallTitleLength = 96;

const colors: Record<ApprovalState, number> = {
  open: 0xf0b232,
  approved: 0x23a55a,
  consumed: 0x23a55a,
  denied: 0xda373c,
  expired: 0x80848e,
  cancelled: 0x80848e,
};

/** In a title about changes, the counts at the end matter more than the folder's name at the start. */
function itemTitle({ tool, times, changes }: CardItem, longest: number): string {
  if (changes !== undefined) return escapePlain(shortenStart(changes.title, longest));
  return shorten(`Approval: ${escapePlain(tool)}${times > 1 ? ` (${times} identical calls)` : ""}`, maxCallTitleLength);
}

function whoAndUntil({ items, approversText, expiresAt }: ApprovalCard): string {
  const who = escapePlain(shorten(approversText, 300));
  const isOpen = items.some((item) => item.state === "open");
  return isOpen && expiresAt !== null ? `${who} · expires <t:${Math.floor(expiresAt / 1000)}:R>` : who;
}
