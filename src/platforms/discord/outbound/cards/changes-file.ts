/** Everything that a card says about changes, as the text of an attached file. */
import { type CardItem, moreFilesText, type ShownChanges } from "../../../../ports/card.ts";
import { aboutText } from "../../../shared/changed-file.ts";
import { visiblePath, withoutLineBreaks } from "../plain-text.ts";

/** Numbers the files as the form behind Choose files… does. */
export function wholeChanges(item: CardItem, changes: ShownChanges): string {
  const {
    title,
    summary,
    files,
    moreFiles,
    moreWarned = 0,
    commands,
    moreCommands = 0,
    lastOutput = "",
    diff = "",
  } = changes;
  const list = files.map((file, index) => {
    const about = withoutLineBreaks(aboutText(file));
    return `${index + 1}. ${file.action} ${visiblePath(file.path)}${about === "" ? "" : `  (${about})`}`;
  });
  const parts = [
    title,
    summary,
    item.warning === undefined ? undefined : `Warning: ${item.warning}`,
    item.facts?.join("\n"),
    [...list, ...(moreFiles > 0 ? [moreFilesText(moreFiles, moreWarned)] : [])].join("\n"),
    [
      ...(moreCommands > 0 ? [`${moreCommands} earlier commands are in Show diff`] : []),
      ...commands.map(({ text, outcome }) => `$ ${withoutLineBreaks(text)} — ${withoutLineBreaks(outcome)}`),
    ].join("\n"),
    lastOutput === "" ? "" : `End of the last output:\n${lastOutput}`,
    item.undo,
    item.progress,
    diff,
  ];
  return `${parts.filter((part) => part !== undefined && part !== "").join("\n\n")}\n`;
}
