/** The whole diff of an undecided draft, as `git diff` would print it. */
import { join } from "node:path";
import type { ApprovalRecord } from "../../ports/approval.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { createDiff } from "../effects/create-diff.ts";
import { listEffects } from "../effects/list-effects.ts";
import { createDraftStore } from "./draft-store.ts";

const never = new AbortController().signal;

/** Drafts and what belongs to them. */
export function draftsFolderOf(workspace: string): string {
  return join(workspace, "drafts");
}

/** Drafts that are open are kept below it. */
export function openDraftsFolder(draftsFolder: string): string {
  return join(draftsFolder, "open");
}

/** Undefined once the draft was kept or discarded. */
export async function readDraftDiff(
  ledger: Ledger,
  draftsFolder: string,
  { changes }: Pick<ApprovalRecord, "changes">,
): Promise<string | undefined> {
  const draft = changes === undefined ? undefined : await ledger.get("draft", changes.draftId);
  if (draft === undefined || draft.state !== "open") return undefined;
  const { layer } = createDraftStore(ledger, openDraftsFolder(draftsFolder)).places(draft.id);
  const folders = { base: draft.body.folder, layer };
  const effects = await listEffects(folders, never);
  return effects.type === "effects" ? (await createDiff(folders, effects, never)).text : undefined;
}
