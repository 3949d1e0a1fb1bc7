/**
 * Approval cards as messages of components alone. Each open item is a box with its first line, the call, and its
 * buttons; a settled item is one line. All texts are plain. A long call is shortened and attached in full. If it can't
 * be attached, it can't be approved.
 */
import {
  type APIComponentInContainer,
  type APIMessageTopLevelComponent,
  type APITextDisplayComponent,
  ComponentType,
  type RawFile,
} from "discord.js";
import { shorten } from "../../../../lib/text/shorten.ts";
import {
  type ApprovalCard,
  areUnseenChanges,
  type CardItem,
  openCountText,
  reasonParts,
} from "../../../../ports/card.ts";
import { isConsent } from "../../../shared/card-choices.ts";
import type { ButtonPlace } from "../../interactions/custom-id.ts";
import { maxLayoutTextLength } from "../../limits.ts";
import { rowsOf } from "../buttons.ts";
import type { OutgoingMessage } from "../messages.ts";
import { escapePlain } from "../plain-text.ts";
import { itemButtons, rowForAll } from "./card-buttons.ts";
import { rowText, wholeRow } from "./card-row.ts";
import { wholeChanges } from "./changes-file.ts";
import { changesText, reportText } from "./changes-text.ts";
import { headlineText, settledText } from "./headline.ts";
import { maxMentionLineLength, withMentions } from "./mention-line.ts";

/** What Discord lets us send, tried in the order of `cardStyles`. Cards need no embeds, but questions do. */
export type CardStyle = "full" | "without-files" | "plain";

export const cardStyles: readonly CardStyle[] = ["full", "without-files", "plain"];

export interface CardOptions {
  place: ButtonPlace;
  style: CardStyle;
}

/** With all their parts they stay below the 40 components of a message, and each has room for a call. */
const maxItemsPerMessage = 3;
/** With the time of expiry. */
const maxWhoLength = 450;
const maxApproversLength = 250;
/** The first line and the reason of an item. Escaping can double a text's length. */
const maxOpeningLength = 900;
const maxReasonLength = 200;
const accentColor = 0xf0b232;

/** The first message identifies the card. Items that don't fit continue in further messages. */
export function cardMessages(card: ApprovalCard, options: CardOptions): OutgoingMessage[] {
  const items = card.copy === undefined ? card.items : card.items.map(withoutHandOver);
  const rows = items.map((item, index) => ({ item, number: index + 1 }));
  const chunks: Row[][] = [];
  for (let from = 0; from < rows.length || from === 0; from += maxItemsPerMessage)
    chunks.push(rows.slice(from, from + maxItemsPerMessage));
  const messages = chunks.map((chunk, index) => {
    const place = index === 0 ? { thread: options.place.thread } : options.place;
    return messageOf(card, chunk, { ...options, place }, index === chunks.length - 1);
  });
  return withMentions(messages, card);
}

/** In a direct message, Discord's menu of people has only the person and the bot. */
function withoutHandOver(item: CardItem): CardItem {
  return { ...item, choices: item.choices.filter((choice) => choice !== "handover") };
}

interface Row {
  item: CardItem;
  number: number;
}

function messageOf(card: ApprovalCard, rows: Row[], options: CardOptions, isLast: boolean): OutgoingMessage {
  const canAttach = options.style === "full";
  const hasLine = card.notify !== undefined || card.copy !== undefined;
  const reserved = maxWhoLength + (hasLine ? maxMentionLineLength : 0);
  const room = Math.floor((maxLayoutTextLength - reserved) / rows.length);
  const files: RawFile[] = [];
  const isOne = card.items.length === 1;
  const parts = rows.flatMap((row) => {
    if (row.item.state !== "open") return settledParts(row.item, options.place, room);
    const shown = openParts(row, { room, canAttach, suffix: isOne ? "" : ` ${row.number}`, place: options.place });
    if (shown.file !== undefined) files.push(shown.file);
    const who = isOne ? [text(whoAndUntil(card))] : [];
    const components = [...shown.above, ...who, ...shown.buttons];
    return [{ type: ComponentType.Container as const, accent_color: accentColor, components }];
  });
  const open = card.items.filter(({ state }) => state === "open");
  const isFirst = rows[0]?.number === 1;
  const head = isOne || !isFirst || open.length === 0 ? [] : [text(`**${openCountText(open.length)}**`)];
  const hasAll = isLast && open.filter(({ choices }) => choices.includes("approve")).length > 1;
  const below: APIMessageTopLevelComponent[] = [
    ...(isLast && !isOne && open.length > 0 ? [text(whoAndUntil(card))] : []),
    ...(hasAll ? rowForAll(card, options.place, canAttach) : []),
  ];
  return { isLayout: true, components: [...head, ...parts, ...below], files };
}

interface OpenOptions {
  room: number;
  canAttach: boolean;
  suffix: string;
  place: ButtonPlace;
}

function openParts({ item, number }: Row, { room, canAttach, suffix, place }: OpenOptions) {
  const { changes } = item;
  const opening = openingText(item, suffix, Math.min(maxOpeningLength, Math.floor(room / 3)));
  const name = changes === undefined ? `call-${number}.txt` : `changes-${number}.txt`;
  const isCallAbove = item.isHeadlineWhole === true && opening.includes(headlineText(item));
  const left = { room: room - opening.length - 1, fileName: canAttach ? name : undefined, isCallAbove };
  const { text: body, isWhole } = changes === undefined ? rowText(item, left) : changesText(item, changes, left);
  const choices = isWhole || canAttach ? item.choices : item.choices.filter((choice) => !isConsent(choice));
  const buttons = rowsOf(itemButtons(item, choices, suffix, place));
  const data = isWhole || !canAttach ? undefined : changes === undefined ? wholeRow(item) : wholeChanges(item, changes);
  const file = data === undefined ? undefined : ({ name, data, contentType: "text/plain" } satisfies RawFile);
  const above: APIComponentInContainer[] = [
    text(body === "" ? opening : `${opening}\n${body}`),
    ...(file === undefined ? [] : [{ type: ComponentType.File as const, file: { url: `attachment://${name}` } }]),
  ];
  return { above, buttons, file };
}

/** Drops the reason, then the formatting, if the first line needs the room. */
function openingText(item: CardItem, suffix: string, room: number): string {
  const { times, changes, headline } = item;
  const { lead, rest } = reasonParts(item);
  const number = suffix === "" ? "" : `${suffix.trim()}. `;
  const twins = times > 1 ? ` (${times} identical calls, one answer)` : "";
  const line = `**${number}${headlineText(item)}**${twins}`;
  const why = `${lead === "" ? "" : `**${lead}**`}${escapePlain(shorten(rest, maxReasonLength))}`;
  const both = why === "" || changes !== undefined ? line : `${line}\n${why}`;
  if (both.length <= room) return both;
  if (line.length <= room) return line;
  return `**${number}${escapePlain(shorten(headline, Math.floor((room - 60) / 2)))}**${twins}`;
}

/** One line. A single button stands beside it. */
function settledParts(item: CardItem, place: ButtonPlace, room: number): APIMessageTopLevelComponent[] {
  const line = settledText(item);
  const { changes } = item;
  const isReport = changes !== undefined && areUnseenChanges(item);
  const files = isReport ? reportText(item, changes, Math.max(0, room - line.length - 1)).text : "";
  const content = text(files === "" ? line : `${line}\n${files}`);
  const buttons = itemButtons(item, item.choices, "", place);
  const [only, another] = buttons;
  if (only !== undefined && another === undefined)
    return [{ type: ComponentType.Section, components: [content], accessory: only }];
  return [content, ...rowsOf(buttons)];
}

function text(content: string): APITextDisplayComponent {
  return { type: ComponentType.TextDisplay, content: content || "…" };
}

function whoAndUntil({ requesterName, approversText, expiresAt }: ApprovalCard): string {
  const asked = `Asked by ${escapePlain(shorten(requesterName, 60))}`;
  const who = escapePlain(shorten(approversText, maxApproversLength));
  const until = expiresAt === null ? "" : ` · expires <t:${Math.floor(expiresAt / 1000)}:R>`;
  return `-# ${shorten(`${asked} · ${who}`, maxWhoLength - 40)}${until}`;
}
