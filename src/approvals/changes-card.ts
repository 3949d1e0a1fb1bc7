/** Builds the section of a card that shows changes to a folder: escaped text and choices. */
import type { Mask } from "../lib/redact.ts";
import type { ApprovalRecord, ChangesRecord } from "../ports/approval.ts";
import {
  type ApprovalState,
  maxCommandCharacters,
  maxOutcomeCharacters,
  maxShownCommands,
  maxSummaryCharacters,
  type ShownChanges,
} from "../ports/card.ts";
import type { AnswerChoice } from "../ports/message.ts";
import { cleaner, escapeHidden, escapeHiddenLines } from "./card-text.ts";
import { grantableRules } from "./grants.ts";

export function openChangesChoices(body: ApprovalRecord, changes: ChangesRecord, mask: Mask): AnswerChoice[] {
  // What nobody can read nobody may approve.
  if (changes.unseen !== undefined) return ["deny", "diff"];
  const choices: AnswerChoice[] = ["approve", "deny"];
  // If several people must approve, no single one may choose files or allow changes in advance.
  const decidesAlone = body.quorum <= 1;
  if (decidesAlone && changes.paths.length > 1 && changes.shown.moreFiles === 0) choices.push("part");
  if (decidesAlone && body.isMasked !== true && grantableRules(body.matches) !== undefined) choices.push("allow");
  if (!fitsCard(changes, mask)) choices.push("diff");
  return choices;
}

/** True if no service shortens what people decide on. Otherwise the choice `diff` gives all of it. */
function fitsCard(changes: ChangesRecord, mask: Mask): boolean {
  const { summary, commands, moreCommands = 0, diff } = changesText(changes, "open", mask);
  const isShort = ({ text, outcome }: ShownChanges["commands"][number]) =>
    text.length <= maxCommandCharacters && outcome.length <= maxOutcomeCharacters;
  if (diff === undefined || moreCommands > 0 || summary.length > maxSummaryCharacters) return false;
  return commands.length <= maxShownCommands && commands.every(isShort);
}

export function settledChangesChoices({ undoId, mayRunAgain }: ChangesRecord): AnswerChoice[] {
  return [...(undoId === undefined ? [] : ["undo" as const]), ...(mayRunAgain === true ? ["again" as const] : [])];
}

/** Omits the diff, commands and output from a settled card, because people needed them only to decide. */
export function changesText({ shown, kind }: ChangesRecord, state: ApprovalState, mask: Mask): ShownChanges {
  const line = cleaner(mask);
  // Escape line breaks, or code after a comment line could look like part of the comment. Escape outer blanks too.
  const exact = (text: string) => escapeHidden(mask(text)).replace(/^ | $/g, "\\u{20}");
  const lines = (text: string) => escapeHiddenLines(mask(text));
  const isOpen = state === "open";
  return {
    title: line(shown.title),
    summary: isOpen || kind === "report" ? line(shown.summary) : "",
    files: shown.files.map((file) => ({ ...file, path: exact(file.path), detail: line(file.detail) })),
    moreFiles: shown.moreFiles,
    ...(shown.moreWarned === undefined ? {} : { moreWarned: shown.moreWarned }),
    commands: isOpen
      ? shown.commands.map(({ text, outcome }) => ({ text: exact(text.trim()), outcome: line(outcome) }))
      : [],
    ...(isOpen && shown.moreCommands !== undefined ? { moreCommands: shown.moreCommands } : {}),
    ...(isOpen && shown.lastOutput !== undefined ? { lastOutput: lines(shown.lastOutput) } : {}),
    ...(isOpen && shown.diff !== undefined ? { diff: lines(shown.diff) } : {}),
    labels: shown.labels,
  };
}

/** `diff` is the complete diff, even if the card does not show it. */
export function areChangesMasked(changes: ChangesRecord, diff: string | undefined, mask: Mask): boolean {
  const shown = JSON.stringify(changesText(changes, "open", mask));
  if (shown !== JSON.stringify(changesText(changes, "open", (text) => text))) return true;
  return diff !== undefined && mask(diff) !== diff;
}
