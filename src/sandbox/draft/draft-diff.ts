/** Reads the complete diff of an open draft, in the format of `git diff`. */
import { never } from "../../lib/never.ts";
import type { ApprovalRecord } from "../../ports/approval.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { createDiff } from "../effects/create-diff.ts";
import { listEffects } from "../effects/list-effects.ts";
import { openDraftsFolder } from "./draft-folders.ts";
import { createDraftStore } from "./draft-store.ts";

export async function readDraftDiff(
  ledger: Ledger,
  draftsFolder: string,
  { changes }: Pick<ApprovalRecord, "changes">,
): Promise<string | undefined> {
  const draft = changes === undefined ? undefined : await ledger.get("draft", changes.draftId);
  if (draft === undefined || draft.state !== "open") return undefined;
  const { layer } = createDraftStore(ledger, openDraftsFolder(draftsFolder)).paths(draft.id);
  const folders = { base: draft.body.folder, layer };
  const effects = await listEffects(folders, never);
  return effects.type === "effects" ? (await createDiff(folders, effects, never)).text : undefined;
}
