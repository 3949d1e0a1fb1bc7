/** A turn's changes to its folder, as blocks. Whatever does not fit is behind Show diff or in a file, never dropped. */
import { formatNumber } from "../../../../lib/text/format-number.ts";
import { upperFirst } from "../../../../lib/text/sentence.ts";
import { shortenMiddle } from "../../../../lib/text/shorten.ts";
import {
  areUnseenChanges,
  type CardItem,
  maxCommandCharacters,
  maxOutcomeCharacters,
  maxShownCommands,
  maxShownFiles,
  maxSummaryCharacters,
  moreFilesText,
  type ShownChange,
  type ShownChanges,
} from "../../../../ports/card.ts";
import { choiceLabel } from "../../../shared/card-choices.ts";
import { aboutText, countWarned, type FittedFile, fitFile } from "../../../shared/changed-file.ts";
import { smallLine } from "../blocks.ts";
import type { Block } from "../render.ts";
import { bold, italic, plain, preformatted, type RichElement, richText } from "../rich-text.ts";
import { beginningOf, endOf } from "../safe-text.ts";
import { headlineElements } from "./card-line.ts";

type Files = { name: string; text: string }[];

/** Even with 25 files, these limits leave room for facts, the rule that Allow creates, and who may answer. */
const maxPathCharacters = 110;
const maxDetailCharacters = 40;
const maxOutputCharacters = 1_000;
/** People would scroll past a card with a longer diff. */
const maxDiffCharacters = 4_000;
const maxReportedFiles = 5;
const linesPerPart = 13;
const listFile = "changes.txt";
const diffFile = "changes.diff";

export const changeHeadings: Record<ShownChange["action"], string> = {
  deleted: "⚠ Deleted",
  changed: "Changed",
  added: "Added",
};
export const changeActions: readonly ShownChange["action"][] = ["deleted", "changed", "added"];

export interface AskingChanges {
  lead: RichElement;
  diffRoom(blocks: Block[]): number;
  files: Files;
}

export function askingChangeBlocks(item: CardItem, changes: ShownChanges, asking: AskingChanges): Block[] {
  const { summary, lastOutput } = changes;
  const blocks = [
    richText([
      asking.lead,
      ...headlineElements(item),
      plain(summary === "" ? "" : `\n${shortenMiddle(summary, maxSummaryCharacters)}`),
    ]),
    ...fileBlocks(changes, asking.files),
    ...commandBlocks(item, changes),
    ...(lastOutput === undefined || lastOutput === "" ? [] : outputBlocks(lastOutput)),
  ];
  return [...blocks, ...diffBlocks(item, changes, asking, blocks)];
}

/** The files of changes that were kept without asking, because nobody has seen them yet. */
export function reportBlocks(item: CardItem, changes: ShownChanges): Block[] {
  if (!areUnseenChanges(item)) return [];
  const summary = changes.summary === "" ? [] : [shortenMiddle(changes.summary, maxSummaryCharacters)];
  const lines = [...summary, ...reportedLines(changes, item.isGranted ? maxShownFiles : maxReportedFiles)];
  return inParts(lines).map((part) => smallLine(part.join("\n")));
}

/** A small line holds at most 3,000 characters. */
function inParts(lines: string[]): string[][] {
  const starts = Array.from({ length: Math.ceil(lines.length / linesPerPart) }, (_, part) => part * linesPerPart);
  return starts.map((start) => lines.slice(start, start + linesPerPart));
}

function fileBlocks(changes: ShownChanges, files: Files): Block[] {
  const { shown, more } = listed(changes, maxShownFiles, isWarned);
  const groups = changeActions.flatMap((action) => {
    const group = shown.filter((file) => file.action === action);
    if (group.length === 0) return [];
    const lines = group.map((file) => `• ${fileText(file)}`);
    return [richText([bold(`${changeHeadings[action]}\n`), plain(lines.join("\n"))])];
  });
  const isWhole = shown.length === changes.files.length && shown.every((file) => fitted(file).isWhole);
  if (!isWhole) files.push({ name: listFile, text: wholeList(changes) });
  const where = isWhole ? "" : `The full list is in the file ${listFile} below. Read it before you approve.`;
  const notes = [more === "" ? "" : `${upperFirst(more)}.`, where].filter(Boolean);
  return [...groups, ...(notes.length === 0 ? [] : [richText([italic(notes.join(" "))])])];
}

const isWarned = ({ warning }: ShownChange) => warning !== undefined;

/** Puts deletions first so that a shortened list still contains them, and before them what is more important. */
function listed({ files, moreFiles, moreWarned = 0 }: ShownChanges, most: number, isFirst = (_: ShownChange) => false) {
  const inOrder = changeActions.flatMap((action) => files.filter((file) => file.action === action));
  const ordered = [...inOrder.filter(isFirst), ...inOrder.filter((file) => !isFirst(file))];
  const shown = ordered.slice(0, most);
  const hidden = ordered.slice(most);
  const more = moreFiles + hidden.length;
  return { shown, more: more === 0 ? "" : moreFilesText(more, moreWarned + countWarned(hidden)) };
}

function fileText(file: ShownChange): string {
  const { path, about } = fitted(file);
  return about === "" ? path : `${path}   ${about}`;
}

function fitted(file: ShownChange): FittedFile {
  return fitFile(file, maxPathCharacters, maxDetailCharacters);
}

function wholeList({ files, moreFiles, moreWarned = 0 }: ShownChanges): string {
  const lines = changeActions.flatMap((action) =>
    files
      .filter((file) => file.action === action)
      .map((file) => `${action}  ${file.path}  ${aboutText(file)}`.trimEnd()),
  );
  return [...lines, ...(moreFiles === 0 ? [] : [moreFilesText(moreFiles, moreWarned)])].join("\n");
}

/** What carries a warning comes first, so that it is not among the files that are only counted. */
function reportedLines(changes: ShownChanges, most: number): string[] {
  const { shown, more } = listed(changes, most, isWarned);
  const lines = shown.map((file) => `${file.action} ${fileText(file)}`);
  return [...lines, ...(more === "" ? [] : [more])];
}

/** Shows the latest commands, because they may have repaired an earlier failure. */
function commandBlocks(item: CardItem, { commands, moreCommands = 0 }: ShownChanges): Block[] {
  if (commands.length === 0) return [];
  const shown = commands.slice(-maxShownCommands);
  const earlier = commands.length - shown.length + moreCommands;
  const lines = shown.map(
    ({ text, outcome }) => `• ${commandText(text)} — ${shortenMiddle(outcome, maxOutcomeCharacters)}`,
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
