/**
 * Approval cards as messages: one embed a row of the card, one line of buttons a row that can be answered, and a last line for all.
 *
 * All texts of a card are plain text, and are shown as that. The whole call is on the card; what does not fit is shown with its
 * head and tail and attached whole as a file, and the card says so. Where files can't be attached, what is not seen whole can't be
 * approved there.
 */
import type { APIEmbed, APIMessageTopLevelComponent, RawFile } from "discord.js";
import type { ApprovalCard, ApprovalState, CardItem } from "../../../../ports/approval.ts";
import type { ButtonPlace } from "../../interactions/custom-id.ts";
import type { OutgoingMessage } from "../messages.ts";
import { clip, clipStart, cutAt, escapePlain } from "../plain-text.ts";
import { messageLimit } from "../render.ts";
import { buttonLine, lineForAll, lineWithoutConsent, withoutConsent } from "./card-buttons.ts";
import { rowText, wholeRow } from "./card-row.ts";
import { wholeChanges } from "./changes-file.ts";
import { changesText, isAsked } from "./changes-text.ts";

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
  const content = embeds.map(({ title, description = "" }) => `**${title}**\n${description}`).join("\n\n");
  if (content.length <= messageLimit) return { content, components };
  const note = `\n… ⚠️ I can't show the rest without the Embed Links permission.`;
  return {
    content: closeBlock(content.slice(0, cutAt(content, messageLimit - note.length - 4))) + note,
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
  const most = options.style === "plain" ? 1_700 : mostCharacters;
  const room = Math.min(mostDescription, Math.floor(most / rows.length) - 200);
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

/** `whole`: the file to attach where not all of it is in the text. */
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
    title: label + titleOf(item, isOne ? maxTitle : maxTitleOfSeveral),
    ...(text === "" ? {} : { description: text }),
    color: colors[item.state],
  };
}

/** Discord takes 256 characters, and an escaped text has up to twice as many. */
const maxTitle = 120;
const maxTitleOfSeveral = 45;
const maxCallTitle = 96;

const colors: Record<ApprovalState, number> = {
  open: 0xf0b232,
  approved: 0x23a55a,
  consumed: 0x23a55a,
  denied: 0xda373c,
  expired: 0x80848e,
  cancelled: 0x80848e,
};

/** The counts at the end of a title about changes say more than the folder's name in front. */
function titleOf({ tool, times, changes }: CardItem, longest: number): string {
  if (changes !== undefined) return escapePlain(clipStart(changes.title, longest));
  return clip(`Approval: ${escapePlain(tool)}${times > 1 ? ` (${times} identical calls)` : ""}`, maxCallTitle);
}

function whoAndUntil({ items, approversText, expiresAt }: ApprovalCard): string {
  const who = escapePlain(clip(approversText, 300));
  const isOpen = items.some((item) => item.state === "open");
  return isOpen && expiresAt !== null ? `${who} · expires <t:${Math.floor(expiresAt / 1000)}:R>` : who;
}
