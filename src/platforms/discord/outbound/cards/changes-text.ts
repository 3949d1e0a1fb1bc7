/** Changes to a folder as the text of a card's item, with only a few lines on a settled card or a report. */
import { shortenMiddle } from "../../../../lib/text/shorten.ts";
import { type CardItem, moreFilesText, type ShownChanges } from "../../../../ports/card.ts";
import { escapePlain, visiblePath } from "../plain-text.ts";
import { closingLines, type Fitted, factLines, fitLines, warningLines } from "./card-lines.ts";
import { commandSection, fileSection, textSection } from "./changes-sections.ts";

export interface ChangesOptions {
  /** In characters, at least 800. */
  room: number;
  fileName: string | undefined;
}

/** Room for the notice, and for the headings of sections that are not shown. */
const reservedLength = 360;

/** `isWhole` is true if everything is visible here or behind one of the card's buttons. */
export function changesText(item: CardItem, changes: ShownChanges, { room, fileName }: ChangesOptions): Fitted {
  const { summary, commands, moreCommands = 0, lastOutput = "", diff = "" } = changes;
  const hasDiffButton = item.choices.includes("diff");
  const closing = fitLines(closingLines(item), Math.floor(room / 4));
  const opening = fitLines([...warningLines(item), ...summaryLine(summary), ...factLines(item)], Math.floor(room / 4));
  let left = room - reservedLength - closing.text.length - opening.text.length;
  const take = <Section extends Fitted>(section: Section): Section => {
    left -= section.text.length;
    return section;
  };
  const isRest = commands.length === 0 && lastOutput === "" && diff === "";
  const shownFiles = take(fileSection(changes, isRest ? left : left * 0.7));
  const shownCommands = take(commandSection(commands, moreCommands, left * 0.4));
  const output = take(textSection("End of the last output", lastOutput, { room: left * 0.5, keeps: "end" }));
  const where = hasDiffButton ? "Show diff" : fileName;
  const shownDiff = textSection("Diff", diff, { room: left, keeps: "beginning", language: "diff", where });
  // The button shows all files, their complete diff and their warnings, which are too many for a card then.
  const isWhole =
    [opening, shownCommands, output, closing].every((part) => part.isWhole) &&
    (hasDiffButton ? shownFiles.hasAllWarnings : shownFiles.isWhole && shownDiff.isWhole);
  const notice = isWhole ? "" : noticeFor(fileName, hasDiffButton);
  const parts = [opening, shownFiles, shownCommands, output, shownDiff, closing].map(({ text }) => text);
  return { text: [...parts, notice].filter((text) => text !== "").join("\n"), isWhole };
}

function summaryLine(summary: string) {
  return summary === "" ? [] : [{ before: "", text: summary }];
}

function noticeFor(fileName: string | undefined, hasDiffButton: boolean): string {
  if (fileName !== undefined && hasDiffButton)
    return `📎 Shortened. More is attached as \`${fileName}\`, and Show diff has everything.`;
  if (fileName !== undefined) return `📎 Shortened. Everything is attached as \`${fileName}\`.`;
  if (hasDiffButton) return "⚠️ Shortened. Use Show diff to see every change.";
  return "⚠️ This is too long for a card and I can't attach files here, so it can't be approved here.";
}

/** How many files to name per action, tried in this order. */
const namesPerAction = [4, 2, 1];
const maxNameLength = 50;
const actionMarks = { deleted: "🗑️ deleted", changed: "✏️ changed", added: "➕ added" } as const;

/** Always counts as complete: names some files and counts the rest. */
export function reportText({ isGranted }: CardItem, changes: ShownChanges, room: number): Fitted {
  const { summary } = changes;
  const opening = fitLines(summaryLine(summary), Math.floor(room / 3));
  // Whoever allowed them has not seen which files they would be.
  if (isGranted) return fileSection(changes, room - opening.text.length);
  const lists = namesPerAction.map((names) => namesText(changes, names));
  const list = lists.find((text) => opening.text.length + text.length < room) ?? lists.at(-1) ?? "";
  return { text: [opening.text, list].filter((text) => text !== "").join("\n"), isWhole: true };
}

function namesText({ files: all, moreFiles, moreWarned = 0 }: ShownChanges, names: number): string {
  const warned = Map.groupBy(
    all.filter(({ warning }) => warning !== undefined),
    ({ warning = "" }) => warning,
  );
  const files = all.filter(({ warning }) => warning === undefined);
  const lines: string[] = [];
  let hidden = moreFiles;
  let hiddenWarned = moreWarned;
  for (const [warning, group] of warned) {
    const shown = group.slice(0, names).map(({ path }) => escapePlain(shortenMiddle(visiblePath(path), maxNameLength)));
    hidden += group.length - shown.length;
    hiddenWarned += group.length - shown.length;
    lines.push(`⚠️ ${warning}: ${shown.join(", ")}`);
  }
  for (const action of ["deleted", "changed", "added"] as const) {
    const paths = files.filter((file) => file.action === action).map(({ path }) => visiblePath(path));
    const shown = paths.slice(0, names).map((path) => escapePlain(shortenMiddle(path, maxNameLength)));
    hidden += paths.length - shown.length;
    if (shown.length > 0) lines.push(`${actionMarks[action]}: ${shown.join(", ")}`);
  }
  return [...lines, ...(hidden > 0 ? [moreFilesText(hidden, hiddenWarned)] : [])].join("\n");
}
