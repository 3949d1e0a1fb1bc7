/** A turn's changes to its folder, as blocks. Whatever does not fit is behind Show diff or in a file, never dropped. */
import { formatNumber } from "../../../../lib/text/format-number.ts";
import {
  type CardItem,
  maxCommandCharacters,
  maxOutcomeCharacters,
  maxShownCommands,
  maxShownFiles,
  maxSummaryCharacters,
  type ShownChange,
  type ShownChanges,
} from "../../../../ports/card.ts";
import { choiceLabel } from "../../../shared/card-choices.ts";
import { smallLine } from "../blocks.ts";
import type { Block } from "../render.ts";
import { bold, italic, plain, preformatted, richText } from "../rich-text.ts";
import { beginningOf, endOf, middleCut } from "../safe-text.ts";
import { headlineElements } from "./card-line.ts";

type Files = { name: string; text: string }[];

/** Even with 25 files, these limits leave room for facts, the rule that Allow creates, and who may answer. */
const maxPathCharacters = 110;
const maxDetailCharacters = 40;
const maxOutputCharacters = 1_000;
/** People would scroll past a card with a longer diff. */
const maxDiffCharacters = 4_000;
const maxReportedFiles = 5;
const listFile = "changes.txt";
const diffFile = "changes.diff";

export const changeHeadings: Record<ShownChange["action"], string> = {
  deleted: "⚠ Deleted",
  changed: "Changed",
  added: "Added",
};
export const changeActions: readonly ShownChange["action"][] = ["deleted", "changed", "added"];

export interface AskingChanges {
  diffRoom(blocks: Block[]): number;
  files: Files;
}

export function askingChangeBlocks(item: CardItem, changes: ShownChanges, asking: AskingChanges): Block[] {
  const { summary, lastOutput } = changes;
  const blocks = [
    richText([...headlineElements(item), plain(summary === "" ? "" : `\n${middleCut(summary, maxSummaryCharacters)}`)]),
    ...fileBlocks(changes, asking.files),
    ...commandBlocks(item, changes),
    ...(lastOutput === undefined || lastOutput === "" ? [] : outputBlocks(lastOutput)),
  ];
  return [...blocks, ...diffBlocks(item, changes, asking, blocks)];
}

/** The files of changes that were kept without asking, because nobody has seen them yet. */
export function reportBlocks({ state, settledAt }: CardItem, changes: ShownChanges): Block[] {
  if (state !== "consumed" || settledAt !== undefined) return [];
  const summary = changes.summary === "" ? [] : [middleCut(changes.summary, maxSummaryCharacters)];
  const lines = [...summary, ...reportedLines(changes)];
  if (lines.length === 0) return [];
  return [smallLine(lines.join("\n"))];
}

function fileBlocks(changes: ShownChanges, files: Files): Block[] {
  const { shown, more } = listed(changes, maxShownFiles);
  const groups = changeActions.flatMap((action) => {
    const group = shown.filter((file) => file.action === action);
    if (group.length === 0) return [];
    const lines = group.map((file) => `• ${fileText(file)}`);
    return [richText([bold(`${changeHeadings[action]}\n`), plain(lines.join("\n"))])];
  });
  const isWhole = shown.length === changes.files.length && shown.every(isShownWhole);
  if (!isWhole) files.push({ name: listFile, text: wholeList(changes) });
  const where = isWhole ? "" : `The full list is in the file ${listFile} below. Read it before you approve.`;
  const notes = [...(more === 0 ? [] : [`And ${counted(more, "more file")}.`]), where].filter(Boolean);
  return [...groups, ...(notes.length === 0 ? [] : [richText([italic(notes.join(" "))])])];
}

/** Puts deletions first so that a shortened list still contains them. */
function listed({ files, moreFiles }: ShownChanges, most: number): { shown: ShownChange[]; more: number } {
  const ordered = changeActions.flatMap((action) => files.filter((file) => file.action === action));
  const shown = ordered.slice(0, most);
  return { shown, more: moreFiles + ordered.length - shown.length };
}

function fileText({ path, detail }: ShownChange): string {
  const more = detail === "" ? "" : `   ${middleCut(detail, maxDetailCharacters)}`;
  return `${middleCut(path, maxPathCharacters)}${more}`;
}

function isShownWhole({ path, detail }: ShownChange): boolean {
  return path.length <= maxPathCharacters && detail.length <= maxDetailCharacters;
}

function wholeList({ files, moreFiles }: ShownChanges): string {
  const lines = changeActions.flatMap((action) =>
    files
      .filter((file) => file.action === action)
      .map(({ path, detail }) => `${action}  ${path}${detail === "" ? "" : `  ${detail}`}`),
  );
  return [...lines, ...(moreFiles === 0 ? [] : [`and ${counted(moreFiles, "more file")}`])].join("\n");
}

function reportedLines(changes: ShownChanges): string[] {
  const { shown, more } = listed(changes, maxReportedFiles);
  const lines = shown.map((file) => `${file.action} ${fileText(file)}`);
  return [...lines, ...(more === 0 ? [] : [`and ${counted(more, "more file")}`])];
}

/** Shows the latest commands, because they may have repaired an earlier failure. */
function commandBlocks(item: CardItem, { commands, moreCommands = 0 }: ShownChanges): Block[] {
  if (commands.length === 0) return [];
  const shown = commands.slice(-maxShownCommands);
  const earlier = commands.length - shown.length + moreCommands;
  const lines = shown.map(
    ({ text, outcome }) => `• ${commandText(text)} — ${middleCut(outcome, maxOutcomeCharacters)}`,
  );
  const first = earlier === 0 ? [] : [`… ${counted(earlier, "earlier command")}`];
  const isWhole = earlier === 0 && shown.every(({ text }) => text.length <= maxCommandCharacters);
  const where =
    isWhole || !item.choices.includes("diff") ? "" : `\n${choiceLabel("diff", item)} has all of them, whole.`;
  return [richText([bold("Commands\n"), plain([...first, ...lines].join("\n")), italic(where)])];
}

function commandText(text: string): string {
  if (text.length <= maxCommandCharacters) return text;
  const shown = beginningOf(text, maxCommandCharacters);
  return `${shown}… (${counted(text.length - shown.length, "more character")})`;
}

function outputBlocks(output: string): Block[] {
  const shown = endOf(output, maxOutputCharacters);
  const earlier = output.length - shown.length;
  const label = earlier === 0 ? "" : `, ${formatNumber(earlier)} earlier characters left out`;
  return [richText([italic(`End of the last output${label}:`)]), preformatted(shown)];
}

function diffBlocks(item: CardItem, { diff }: ShownChanges, asking: AskingChanges, above: Block[]): Block[] {
  if (diff === undefined || diff === "") {
    const isElsewhere = item.choices.includes("diff");
    return isElsewhere ? [richText([italic(`The diff is not on this card. Use ${choiceLabel("diff", item)}.`)])] : [];
  }
  if (diff.length <= Math.min(maxDiffCharacters, asking.diffRoom(above))) return [preformatted(diff)];
  const size = `The diff has ${formatNumber(diff.length)} characters, too many for this card`;
  if (item.choices.includes("diff")) return [richText([italic(`${size}. Use ${choiceLabel("diff", item)}.`)])];
  asking.files.push({ name: diffFile, text: diff });
  return [richText([italic(`${size}. It is in the file ${diffFile} below. Read it before you approve.`)])];
}

export function counted(count: number, what: string): string {
  return `${formatNumber(count)} ${what}${count === 1 ? "" : "s"}`;
}
