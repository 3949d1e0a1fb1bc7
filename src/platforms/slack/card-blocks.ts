/**
 * Approve cards in Block Kit: for each row the tool, the whole call, why it asks, and exactly the buttons it offers.
 *
 * Everything that was written by a model, a person or a skill stands in rich text, where Slack reads no markup at all. A call
 * that is too long for a message is shown by its beginning and its end; the whole of it is a file, and there are no buttons
 * before that file is there. More rows than a message holds make several messages.
 */
import type { ApprovalCard, CardItem } from "../../core/approval.ts";
import type { AnswerChoice } from "../../core/message.ts";
import type { Block, MessageContent } from "./contents.ts";
import { beginningOf, escapeText } from "./safe-text.ts";

export interface CardMessages {
  /** At least one; each is one message. */
  parts: MessageContent[];
  /** What is shown in part only. */
  files: { name: string; text: string }[];
}

export const choiceActions: Record<AnswerChoice, string> = {
  approve: "remora_approve",
  deny: "remora_deny",
  edit: "remora_edit",
  allow: "remora_allow",
};

/** Slack takes 50 blocks, and about 13,200 characters of all of them together, in which a block counts 125 by itself. */
const mostBlocks = 44;
const mostCharacters = 11_500;
const blockOverhead = 130;
const longestCall = 6_000;
const longestOriginal = 2_500;
const shownHead = 2_000;
const shownTail = 1_000;

/** `hasFiles`: what does not fit stands below the card already. */
export function cardMessages(card: ApprovalCard, hasFiles: boolean): CardMessages {
  const files: CardMessages["files"] = [];
  const rows = card.items.map((item, index) => rowBlocks(item, index, files));
  const isWhole = hasFiles || files.length === 0;
  const shown = isWhole ? rows : rows.map((row) => row.filter((block) => block.type !== "actions"));
  const groups = packed(shown, [...headBlocks(card), ...endBlocks(card, isWhole)]);
  const parts = groups.map((blocks, part) => {
    const head = part === 0 ? headBlocks(card) : [];
    const end = part === groups.length - 1 ? endBlocks(card, isWhole) : [];
    return { text: noticeOf(card), blocks: [...head, ...blocks, ...end].map(withId(part)) };
  });
  return { parts, files };
}

/** What is left of a card's message whose rows stand in another one now. */
export function emptyPart(): MessageContent {
  return { text: "See above.", blocks: [richText([italic("All of this card stands above.")])] };
}

function headBlocks({ requesterName, items }: ApprovalCard): Block[] {
  const what = items.length === 1 ? "Approval needed" : `Approval needed for ${items.length} calls`;
  return [richText([bold(what), plain(` — asked for by ${requesterName}`)])];
}

function endBlocks(card: ApprovalCard, isWhole: boolean): Block[] {
  const open = card.items.filter((item) => item.state === "open");
  if (open.length === 0) return [];
  const all: Block = {
    type: "actions",
    elements: [
      button("Approve all", "remora_approve", card.id, "primary"),
      button("Deny all", "remora_deny", card.id, "danger"),
    ],
  };
  const expiry =
    card.expiresAt === null
      ? []
      : [{ type: "context", elements: [{ type: "mrkdwn", text: expiryText(card.expiresAt) }] }];
  const wait = isWhole ? [] : [richText([italic("The buttons come as soon as the file with the whole call is here.")])];
  return [...(open.length > 1 && isWhole ? [all] : []), richText([plain(card.approversText)]), ...expiry, ...wait];
}

/** Slack shows it in each reader's own time zone. */
function expiryText(expiresAt: number): string {
  const seconds = Math.floor(expiresAt / 1000);
  const fallback = `${new Date(expiresAt).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return `Expires <!date^${seconds}^{date_short_pretty} at {time}|${fallback}>`;
}

function rowBlocks(item: CardItem, index: number, files: CardMessages["files"]): Block[] {
  const { tool, times, editedFrom, warning, progress, outcome, grantText } = item;
  const times_ = times > 1 ? ` — ${times} identical calls, answered together` : "";
  const fileName = `call-${index + 1}-${tool.replace(/[^\w.-]+/g, "_").slice(0, 60)}`;
  const shorten = (text: string, limit: number, name: string) => shortened(text, limit, name, files);
  return [
    richText([bold(tool), plain(times_)]),
    preformatted(shorten(item.callText, longestCall, `${fileName}.txt`)),
    ...(editedFrom === undefined
      ? []
      : [
          richText([italic("It was edited. The model had asked for:")]),
          preformatted(shorten(editedFrom, longestOriginal, `${fileName}-before.txt`)),
        ]),
    ...(warning === undefined ? [] : [richText([bold("⚠ "), plain(warning)])]),
    ...item.reasons.map((reason) => richText([plain(`Why: ${reason}`)])),
    ...(item.choices.includes("allow") && grantText !== undefined ? [richText([italic(`Allow: ${grantText}`)])] : []),
    ...(progress === undefined ? [] : [richText([plain(progress)])]),
    ...(outcome === undefined ? [] : [richText([bold(outcome)])]),
    ...(item.choices.length === 0 ? [] : [choiceBlock(item)]),
  ];
}

function choiceBlock({ choices, approvalId, grantText }: CardItem): Block {
  const made: Record<AnswerChoice, () => Block> = {
    approve: () => button("Approve", choiceActions.approve, approvalId, "primary"),
    deny: () => button("Deny", choiceActions.deny, approvalId, "danger"),
    edit: () => button("Edit…", choiceActions.edit, approvalId),
    allow: () => button(allowLabel(grantText), choiceActions.allow, approvalId),
  };
  return { type: "actions", elements: choices.map((choice) => made[choice]()) };
}

function allowLabel(grantText = ""): string {
  const [, minutes] = /^For (\d+) minutes?\b/.exec(grantText) ?? [];
  return minutes === undefined ? "Allow for a while here" : `Allow ${minutes} min here`;
}

function button(label: string, action: string, value: string, style?: "primary" | "danger"): Block {
  return {
    type: "button",
    action_id: action,
    text: { type: "plain_text", text: label, emoji: false },
    value,
    ...(style === undefined ? {} : { style }),
  };
}

/** The whole goes into a file when there is no room for it. */
function shortened(text: string, limit: number, name: string, files: CardMessages["files"]): string {
  if (text.length <= limit) return text;
  files.push({ name, text });
  const left = text.length - shownHead - shownTail;
  return [
    wellFormed(text.slice(0, shownHead)),
    `… ${left.toLocaleString("en")} of ${text.length.toLocaleString("en")} characters are left out here. The whole call is in the file ${name} below this card: read it before you approve.`,
    wellFormed(text.slice(-shownTail)),
  ].join("\n");
}

/** A cut may leave half of a character. */
function wellFormed(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");
}

/** Rows in as few messages as they fit into; `extra` may come to any of them. */
function packed(rows: Block[][], extra: Block[]): Block[][] {
  const groups: Block[][] = [[]];
  for (const row of rows) {
    const last = groups.at(-1) ?? [];
    const together = [...last, ...row, ...extra];
    const fits = together.length <= mostBlocks && sizeOf(together) <= mostCharacters;
    if (fits || last.length === 0) last.push(...row);
    else groups.push([...row]);
  }
  return groups;
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + sizeOf(item) + blockOverhead, 0);
  if (typeof value !== "object" || value === null) return 0;
  return Object.entries(value).reduce(
    (sum, [key, item]) => sum + (key === "text" && typeof item === "string" ? item.length : sizeOf(item)),
    0,
  );
}

function noticeOf({ items, requesterName }: ApprovalCard): string {
  const open = items.filter((item) => item.state === "open");
  const names = [...new Set(items.map((item) => item.tool))].slice(0, 5).join(", ");
  if (open.length > 0) return escapeText(beginningOf(`Approval needed: ${names} (asked for by ${requesterName})`, 700));
  const outcomes = [...new Set(items.map((item) => item.outcome ?? item.state))].slice(0, 3).join("; ");
  return escapeText(beginningOf(`${names}: ${outcomes}`, 700));
}

/** The part is in the block's id, because a click tells it: only the first part is the message that is known as the card. */
function withId(part: number) {
  return (block: Block, index: number): Block => ({ ...block, block_id: `card-${part}-${index}` });
}

/** False for a card's further messages. */
export function isFirstPart(blockId: string): boolean {
  return !/^card-[1-9]\d*-/.test(blockId);
}

interface TextElement {
  type: "text";
  text: string;
  style?: { bold?: true; italic?: true };
}

function plain(text: string): TextElement {
  return { type: "text", text };
}

function bold(text: string): TextElement {
  return { type: "text", text, style: { bold: true } };
}

function italic(text: string): TextElement {
  return { type: "text", text, style: { italic: true } };
}

/** Slack refuses empty texts. */
export function richText(elements: TextElement[]): Block {
  const filled = elements.filter((element) => element.text !== "");
  return { type: "rich_text", elements: [{ type: "rich_text_section", elements: filled }] };
}

function preformatted(text: string): Block {
  return { type: "rich_text", elements: [{ type: "rich_text_preformatted", elements: [plain(text || " ")] }] };
}
