/** The whole of what an open draft would change: what ran, and the diff in the format of `git diff`. */
import { never } from "../../lib/never.ts";
import type { ApprovalRecord, WholeChanges } from "../../ports/approval.ts";
import type { DraftRecord } from "../../ports/draft.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { createDiff, type DraftDiff } from "../effects/create-diff.ts";
import type { TooLarge } from "../effects/limits.ts";
import { autorunFolderWarning, autorunWarning, findAutorunFiles, warningOf } from "./autorun-files.ts";
import { openDraftsFolder } from "./draft-folders.ts";
import { createDraftStore } from "./draft-store.ts";
import { callsThatRan, outcomeOf, type RanCall } from "./shown-changes.ts";

const maxCardDiffCharacters = 1_800;

export async function readDraftDiff(
  ledger: Ledger,
  draftsFolder: string,
  { changes }: Pick<ApprovalRecord, "changes">,
): Promise<WholeChanges | "changed" | undefined> {
  const draft = changes === undefined ? undefined : await ledger.get("draft", changes.draftId);
  if (draft === undefined || draft.state !== "open") return undefined;
  const store = createDraftStore(ledger, openDraftsFolder(draftsFolder));
  const ran = await callsThatRan(ledger, store, draft.body);
  const diff = await createWarningDiff(draft.body, store.paths(draft.id).layer);
  // Approve keeps what the hash covers, so nothing else may be shown for it.
  return diff.type === "too-large" || diff.effects.hash !== changes?.hash ? "changed" : wholeChanges(ran, diff);
}

/** The diff with the warning of each file that can run by itself, as on cards, which may have no room for all of them. */
export function createWarningDiff({ folder, kind }: DraftRecord, layer: string): Promise<DraftDiff | TooLarge> {
  return createDiff({ base: folder, layer }, never, (effects) => {
    const autorun = findAutorunFiles(effects, folder, kind);
    return (effect) => warningOf(effect, autorun);
  });
}

const warningNote = new RegExp(`^note: (?:${autorunWarning}|${autorunFolderWarning})\n`, "gm");

/** The diff if it is short enough for a card. There, the list of files has the warnings. */
export function cardDiff({ text, missing }: DraftDiff): string | undefined {
  const short = text.replace(warningNote, "");
  return missing === undefined && short.length <= maxCardDiffCharacters ? short : undefined;
}

/** Later lines of a command have a bar, or they could look like the diff. */
export function wholeChanges(ran: readonly RanCall[], { text, missing }: DraftDiff): WholeChanges {
  const calls = ran.map((call) => {
    const lines = `${call.isCommand ? "$ " : ""}${call.text}`.replaceAll("\n", "\n  | ");
    return `${lines} — ${outcomeOf(call).replace(/\s+/g, " ")}\n`;
  });
  const head = calls.length === 0 ? "" : `What ran:\n${calls.join("")}\n`;
  return { text: head + text, ...(missing === undefined ? {} : { missing }) };
}
