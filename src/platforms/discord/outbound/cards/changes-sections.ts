/** The sections of a card about changes. Without enough room, a section is a single line that says what is missing. */
import { formatNumber } from "../../../../lib/text/format-number.ts";
import { shorten } from "../../../../lib/text/shorten.ts";
import { moreFilesText, type ShownChange, type ShownChanges } from "../../../../ports/card.ts";
import { countWarned, type FittedFile, fitFile } from "../../../shared/changed-file.ts";
import { codeBlock, visiblePath, withoutFences, withoutLineBreaks } from "../plain-text.ts";
import type { Fitted } from "./card-lines.ts";

const nothing: Fitted = { text: "", isWhole: true };

/** Maximum lengths of a path or command, tried in this order. */
const lineLengths = [300, 200, 120, 80, 50];
const minLineLength = 50;
const maxDetailLength = 60;
const maxOutcomeLength = 60;

/** In a diff block, deletions are red and additions green. */
const signs: Record<ShownChange["action"], string> = { deleted: "- ⚠️", changed: "~", added: "+" };

export interface FittedFiles extends Fitted {
  /** None of the files that are only counted carries one. */
  hasAllWarnings: boolean;
}

/** Shortens long paths. If not all files fit, shows the first ones; those with a warning come first. */
export function fileSection(
  { files, moreFiles, moreWarned = 0 }: Pick<ShownChanges, "files" | "moreFiles" | "moreWarned">,
  room: number,
): FittedFiles {
  if (files.length === 0 && moreFiles === 0) return { ...nothing, hasAllWarnings: true };
  const most = room - codeBlock("", "diff").length - moreFilesText(1_000_000, 1_000_000).length - 1;
  const { lines, longest } = linesOf(files, fileLine, most);
  const shown = linesWithin(lines, most);
  const hidden = files.length - shown.length + moreFiles;
  const hiddenWarned = countWarned(files.slice(shown.length)) + moreWarned;
  const list = shown.length === 0 ? [] : [codeBlock(shown.join("\n"), "diff")];
  return {
    text: [...list, ...(hidden > 0 ? [moreFilesText(hidden, hiddenWarned)] : [])].join("\n"),
    isWhole: shown.length === files.length && files.every((file) => fitted(file, longest).isWhole),
    hasAllWarnings: hiddenWarned === 0,
  };
}

function fileLine(file: ShownChange, longest: number): string {
  const { path, about } = fitted(file, longest);
  return `${signs[file.action]} ${file.action}  ${path}  ${about}`.trimEnd();
}

function fitted(file: ShownChange, longest: number): FittedFile {
  const visible = { ...file, path: visiblePath(file.path), detail: withoutLineBreaks(file.detail) };
  return fitFile(visible, longest, maxDetailLength);
}

type Command = ShownChanges["commands"][number];

export function commandSection(commands: Command[], moreCommands: number, room: number): Fitted {
  if (commands.length === 0) return nothing;
  const titled = (missing: number) => sectionTitle("Commands", missing, "before them");
  const most = room - codeBlock("").length - titled(1_000_000).length - 1;
  const { lines, longest } = linesOf(commands, commandLine, most);
  const shown = linesWithin(lines.toReversed(), most).toReversed();
  const missing = commands.length - shown.length + moreCommands;
  const isFull = ({ text, outcome }: Command) => text.length <= longest && outcome.length <= maxOutcomeLength;
  return { text: withBlock(titled(missing), shown, ""), isWhole: missing === 0 && commands.every(isFull) };
}

function commandLine({ text, outcome }: Command, longest: number): string {
  return `$ ${shorten(withoutLineBreaks(text), longest)} — ${shorten(withoutLineBreaks(outcome), maxOutcomeLength)}`;
}

export interface TextOptions {
  room: number;
  keeps: "beginning" | "end";
  language?: string;
  where?: string | undefined;
}

export function textSection(title: string, text: string, options: TextOptions): Fitted {
  const { room, keeps, language = "", where } = options;
  if (text.trim() === "") return nothing;
  const titled = (missing: number) =>
    sectionTitle(title, missing, where === undefined ? "lines" : `lines: see ${where}`);
  const most = room - codeBlock("", language).length - titled(1_000_000).length - 1;
  const lines = withoutFences(text.replace(/^(?:[ \t]*\r?\n)+|\s+$/g, "")).split(/\r?\n/);
  const shown = keeps === "beginning" ? linesWithin(lines, most) : linesWithin(lines.toReversed(), most).toReversed();
  const missing = lines.length - shown.length;
  return { text: withBlock(titled(missing), shown, language), isWhole: missing === 0 };
}

function sectionTitle(title: string, missing: number, what: string): string {
  return missing === 0 ? `**${title}**` : `**${title}** (${formatNumber(missing)} more ${what})`;
}

function withBlock(title: string, lines: string[], language: string): string {
  return lines.length === 0 ? title : `${title}\n${codeBlock(lines.join("\n"), language)}`;
}

function linesOf<Value>(values: Value[], lineOf: (value: Value, longest: number) => string, room: number) {
  const at = (longest: number) => values.map((value) => withoutFences(lineOf(value, longest)));
  const longest = lineLengths.find((length) => at(length).join("\n").length <= room) ?? minLineLength;
  return { lines: at(longest), longest };
}

function linesWithin(lines: string[], room: number): string[] {
  let length = -1;
  const end = lines.findIndex((line) => {
    length += line.length + 1;
    return length > room;
  });
  return end === -1 ? lines : lines.slice(0, end);
}
