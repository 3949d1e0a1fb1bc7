/**
 * Approval cards in Block Kit. Text from models, people and skills is rich text, in which Slack reads no markup. A call
 * that is too long shows its beginning and end. Its buttons appear only once the complete call is uploaded as a file.
 * If the upload fails, the card says so and has no button that approves. Each message begins with who asks and for what,
 * because notifications on the desktop show its first block.
 */
import { formatNumber } from "../../../../lib/text/format-number.ts";
import { upperFirst } from "../../../../lib/text/sentence.ts";
import { type ApprovalCard, type CardItem, reasonParts } from "../../../../ports/card.ts";
import { maxBlocksLength, maxMessageBlocks, maxTextObjectLength } from "../../limits.ts";
import { button, plainText } from "../blocks.ts";
import type { Block, MessageContent } from "../render.ts";
import { bold, italic, plain, preformatted, type RichElement, richText } from "../rich-text.ts";
import { beginningOf, endOf } from "../safe-text.ts";
import { actionOf, choiceBlock, withoutConsent } from "./card-buttons.ts";
import { asks, headBlocks, headlineElements, noticeOf, settledBlocks } from "./card-line.ts";
import { askingChangeBlocks, reportBlocks } from "./change-blocks.ts";
import { factBlocks } from "./facts-block.ts";
import { notifyBlocks } from "./mention-line.ts";

export interface CardMessages {
  parts: MessageContent[];
  files: { name: string; text: string }[];
}

/** Both leave room for parts that are added later: buttons, expiry, notes. */
const maxBlocks = maxMessageBlocks - 8;
const maxCardLength = maxBlocksLength - 1_700;
/** Characters that Slack counts per block in addition to the text. */
const blockOverhead = 130;
const maxCallLength = 6_000;
const maxShownHeadLength = 2_000;
const maxShownTailLength = 1_000;
/** People would have to scroll from the first line to the buttons. */
const maxShownLines = 24;
const shownHeadLines = 12;
const shownTailLines = 5;

export type CardFiles = "shared" | "awaited" | "refused";

export function cardMessages(card: ApprovalCard, cardFiles: CardFiles): CardMessages {
  const files: CardMessages["files"] = [];
  const rows = card.items.map((item, index) => rowBlocks(card, item, index, files));
  const state = files.length === 0 ? "shared" : cardFiles;
  const shown = rows.map((row) => row.flatMap((block) => offered(block, state)));
  const notified = notifyBlocks(card);
  const groups = packed(shown, [...notified, ...headBlocks(card, 1), ...endBlocks(card, state)]);
  const parts = groups.map((blocks, part) => {
    const end = part === groups.length - 1 ? endBlocks(card, state) : [];
    const all = [
      ...headBlocks(card, part),
      ...(card.items.length === 1 ? beforeButtons(blocks, end) : blocks.concat(end)),
    ];
    const told = part === 0 ? notified : [];
    return { text: noticeOf(card), blocks: [...all.slice(0, 1), ...told, ...all.slice(1)].map(withId(part)) };
  });
  return { parts, files };
}

function offered(block: Block, files: CardFiles): Block[] {
  if (block.type !== "actions" || files === "shared") return [block];
  return files === "awaited" ? [] : withoutConsent(block);
}

export function emptyPart(): MessageContent {
  return { text: "Shown above.", blocks: [richText([italic("This card is shown above.")])] };
}

function isAboutChanges({ items }: ApprovalCard): boolean {
  return items.length === 1 && items[0]?.changes !== undefined;
}

/** What must be read before a click stands above the buttons. */
function beforeButtons(row: Block[], end: Block[]): Block[] {
  const buttons = row.filter((block) => block.type === "actions");
  return [...row.filter((block) => block.type !== "actions"), ...end, ...buttons];
}

function endBlocks(card: ApprovalCard, files: CardFiles): Block[] {
  const open = card.items.filter((item) => item.state === "open");
  if (open.length === 0) return [];
  const forAll = open.length > 1 ? offered(allBlock(card, open.length), files) : [];
  const what = isAboutChanges(card) ? "the rest" : "the full call";
  const note: Record<CardFiles, Block[]> = {
    shared: [],
    awaited: [richText([italic(`The buttons appear once the file with ${what} is uploaded.`)])],
    refused: [richText([bold(`⚠ I couldn't upload the file with ${what}, so this can't be approved here.`)])],
  };
  const who = [...note[files], whoBlock(card)];
  return card.items.length === 1 ? who : [divider, ...who, ...forAll];
}

/** Approve all looks like no other button, and asks once more, because a slip would approve everything. */
function allBlock({ id }: ApprovalCard, open: number): Block {
  const dialog = {
    title: plainText(`Approve all ${open}?`),
    text: plainText("Every action on this card will run."),
    confirm: plainText(`Approve all ${open}`),
    deny: plainText("Back"),
  };
  return {
    type: "actions",
    elements: [
      { ...button(`Approve all ${open}`, actionOf("approve"), id), confirm: dialog },
      button(`Deny all ${open}`, actionOf("deny"), id),
    ],
  };
}

const divider: Block = { type: "divider" };

/** Who can answer, and until when, in one small line. */
function whoBlock({ approversText, expiresAt }: ApprovalCard): Block {
  const who = beginningOf(upperFirst(approversText), maxTextObjectLength);
  const elements = [plainText(who), ...(expiresAt === null ? [] : [{ type: "mrkdwn", text: expiryText(expiresAt) }])];
  return { type: "context", elements };
}

/** Slack shows the time in each reader's time zone. */
function expiryText(expiresAt: number): string {
  const seconds = Math.floor(expiresAt / 1000);
  const fallback = `${new Date(expiresAt).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return `· expires <!date^${seconds}^{date_short_pretty} at {time}|${fallback}>`;
}

function rowBlocks(card: ApprovalCard, item: CardItem, index: number, files: CardMessages["files"]): Block[] {
  const needed = item.state === "open" ? files : [];
  const isOne = card.items.length === 1;
  const lead = isOne ? asks(card) : bold(`${index + 1}. `);
  const row = { lead, number: index + 1, files: needed };
  const subject = item.changes === undefined ? callBlocks(item, row) : changeBlocks(card, item, needed);
  const above = isOne || index === 0 ? [] : [divider];
  return [...above, ...subject, ...(item.choices.length === 0 ? [] : [choiceBlock(item)])];
}

interface Row {
  lead: RichElement;
  number: number;
  files: CardMessages["files"];
}

function callBlocks(item: CardItem, { lead: first, number, files }: Row): Block[] {
  if (item.state !== "open") return settledBlocks(item);
  const { tool, times, facts = [], callText, isHeadlineWhole } = item;
  const times_ = times > 1 ? ` — ${times} identical calls, one answer` : "";
  const fileName = `call-${number}-${tool.replace(/[^\w.-]+/g, "_").slice(0, 60)}`;
  const { lead, rest } = reasonParts(item);
  const shown = shortened(callText, `${fileName}.txt`);
  if (shown.note !== "") files.push({ name: `${fileName}.txt`, text: callText });
  return [
    richText([first, ...headlineElements(item), plain(times_)]),
    ...warningBlocks(item),
    ...(lead + rest === "" ? [] : [richText([bold(lead), plain(rest)])]),
    ...(callText === "" || isHeadlineWhole === true ? [] : [preformatted(shown.text)]),
    ...factBlocks(facts, `${fileName}-facts.txt`, files),
    ...answerBlocks(item),
    ...(shown.note === "" ? [] : [richText([bold(shown.note)])]),
  ];
}

function changeBlocks(card: ApprovalCard, item: CardItem, files: CardMessages["files"]): Block[] {
  const { changes, facts = [] } = item;
  if (changes === undefined) return [];
  if (item.state !== "open") return [...settledBlocks(item), ...reportBlocks(item, changes)];
  const factFiles: CardMessages["files"] = [];
  const below = [...warningBlocks(item), ...factBlocks(facts, "facts.txt", factFiles), ...answerBlocks(item)];
  const buttons = item.choices.length === 0 ? [] : [choiceBlock(item)];
  const diffRoom = (above: Block[]) =>
    maxCardLength - charactersOf([...above, ...below, ...endBlocks(card, "shared"), ...buttons]) - blockOverhead;
  const blocks = askingChangeBlocks(item, changes, { lead: asks(card), diffRoom, files });
  files.push(...factFiles);
  return [...blocks, ...below];
}

function warningBlocks({ warning }: CardItem): Block[] {
  return warning === undefined ? [] : [richText([bold(`⚠ ${warning}`)])];
}

function answerBlocks({ undo, progress }: CardItem): Block[] {
  const lines = [undo, progress].filter((line) => line !== undefined);
  return lines.length === 0 ? [] : [richText([bold(lines.join("\n"))])];
}

/** Keeps the first and the last lines of a text that is too long. The note says what is missing, and where it is. */
function shortened(text: string, name: string): { text: string; note: string } {
  const lines = text.split("\n");
  if (text.length <= maxCallLength && lines.length <= maxShownLines) return { text, note: "" };
  const head = wholeLines(beginningOf(lines.slice(0, shownHeadLines).join("\n"), maxShownHeadLength), text);
  const tail = endOf(lines.slice(-shownTailLines).join("\n"), Math.min(maxShownTailLength, text.length - head.length));
  const whole = formatNumber(text.length);
  const left = formatNumber(text.length - head.length - tail.length);
  const note = `⚠ ${left} of ${whole} characters are not shown. Read the file ${name} below before you approve.`;
  return { text: `${head}\n…\n${tail}`, note };
}

/** Drops a last line that was cut, unless it is most of the text. */
function wholeLines(beginning: string, text: string): string {
  const isCut = text[beginning.length] !== "\n";
  const end = beginning.lastIndexOf("\n");
  return isCut && end > beginning.length / 2 ? beginning.slice(0, end) : beginning;
}

function packed(rows: Block[][], extra: Block[]): Block[][] {
  const groups: Block[][] = [[]];
  for (const row of rows) {
    const last = groups.at(-1) ?? [];
    const together = [...last, ...row, ...extra];
    const fits = together.length <= maxBlocks && textLength(together, blockOverhead) <= maxCardLength;
    if (fits || last.length === 0) last.push(...row);
    else groups.push([...row]);
  }
  return groups;
}

/** Counts characters as Slack does, as far as measured. */
function charactersOf(blocks: Block[]): number {
  return blocks.reduce((sum, block) => sum + blockOverhead + textLength(block), 0);
}

/** Adds `perItem` for each item of an array, at every level. */
function textLength(value: unknown, perItem = 0): number {
  const lengthOf = (item: unknown) => textLength(item, perItem);
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + lengthOf(item) + perItem, 0);
  if (typeof value !== "object" || value === null) return 0;
  return Object.entries(value).reduce(
    (sum, [key, item]) => sum + (key === "text" && typeof item === "string" ? item.length : lengthOf(item)),
    0,
  );
}

/** The block id tells which message of a card was clicked, because only the first message's id is stored. */
function withId(part: number) {
  return (block: Block, index: number): Block => ({ ...block, block_id: `card-${part}-${index}` });
}

export function isFirstPart(blockId: string): boolean {
  return !/^card-[1-9]\d*-/.test(blockId);
}
