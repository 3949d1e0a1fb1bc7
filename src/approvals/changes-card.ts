/** The part of a card that shows changes to a folder: texts escaped like every text of a card, and what may be chosen. */

import type { Mask } from "../lib/redact.ts";
import type { ApprovalRecord, ApprovalState, ChangesRecord, ShownChanges } from "../ports/approval.ts";
import type { AnswerChoice } from "../ports/message.ts";
import { escapeHidden, escapeHiddenLines } from "./card-text.ts";
import { grantableRules } from "./grants.ts";

/** While the changes wait for an answer. */
export function choicesOfChanges(body: ApprovalRecord, changes: ChangesRecord): AnswerChoice[] {
  const choices: AnswerChoice[] = ["approve", "deny"];
  // One person can neither choose nor agree in advance for others who must agree too.
  const isOnesOwn = body.quorum <= 1;
  if (isOnesOwn && changes.paths.length > 1 && changes.shown.moreFiles === 0) choices.push("part");
  if (isOnesOwn && body.isMasked !== true && grantableRules(body.matches) !== undefined) choices.push("allow");
  if (changes.shown.diff === undefined) choices.push("diff");
  return choices;
}

/** Once they were decided, or kept by the rules. */
export function choicesAfter({ undoId, mayRunAgain }: ChangesRecord): AnswerChoice[] {
  return [...(undoId === undefined ? [] : ["undo" as const]), ...(mayRunAgain === true ? ["again" as const] : [])];
}

/** A card that was decided shrinks: the diff, the commands and their output were there to decide by. */
export function changesText({ shown, kind }: ChangesRecord, state: ApprovalState, mask: Mask): ShownChanges {
  const line = (text: string) =>
    escapeHidden(
      mask(text)
        .trim()
        .replace(/\s*\n\s*/g, " "),
    );
  // A line end as a blank would make a command of many lines one comment; a blank at the end would be another file.
  const exact = (text: string) => escapeHidden(mask(text)).replace(/^ | $/g, "\\u{20}");
  const lines = (text: string) => escapeHiddenLines(mask(text));
  const isOpen = state === "open";
  return {
    title: line(shown.title),
    summary: isOpen || kind === "report" ? line(shown.summary) : "",
    files: shown.files.map(({ path, action, detail }) => ({ path: exact(path), action, detail: line(detail) })),
    moreFiles: shown.moreFiles,
    commands: isOpen
      ? shown.commands.map(({ text, outcome }) => ({ text: exact(text.trim()), outcome: line(outcome) }))
      : [],
    ...(isOpen && shown.lastOutput !== undefined ? { lastOutput: lines(shown.lastOutput) } : {}),
    ...(isOpen && shown.diff !== undefined ? { diff: lines(shown.diff) } : {}),
    labels: shown.labels,
  };
}

/** `diff`: the whole one, which may be longer than what the card shows of it. */
export function areChangesMasked(changes: ChangesRecord, diff: string | undefined, mask: Mask): boolean {
  const shown = JSON.stringify(changesText(changes, "open", mask));
  if (shown !== JSON.stringify(changesText(changes, "open", (text) => text))) return true;
  return diff !== undefined && mask(diff) !== diff;
}
