/** Whether changes are kept at once or asked about, and the sentence that says why they are asked about. */

import type { DraftEnd, DraftRecord } from "../../ports/draft.ts";
import type { Effects } from "../effects/effect.ts";
import { countFiles } from "./count-files.ts";
import { folderName } from "./shown-changes.ts";

export interface ChangePolicy {
  /** In the conversation's own folder. */
  own: "keep" | "ask";
  /** In a folder that the configuration names. */
  given: "keep" | "ask";
}

export interface ToDecide {
  draft: DraftRecord;
  effects: Effects;
  end: DraftEnd;
  /** Touched files that somebody else has changed since the draft touched them. */
  changedBase: string[];
}

export type ChangeDecision = { type: "keep" } | { type: "ask"; why: string };

const maxDeletedUnasked = 20;

export async function decide(
  { draft, effects, end, changedBase }: ToDecide,
  policy: ChangePolicy,
): Promise<ChangeDecision> {
  const { totals, isLarge } = effects;
  const name = folderName(draft);
  if (end !== "done") {
    const what = end === "stopped" ? "The turn was stopped" : "The turn failed";
    return ask(`${what}, so nothing was kept. These changes can be kept or discarded for 24 hours.`);
  }
  if (changedBase.length > 0) {
    return ask(
      `Somebody else changed ${changedBase.slice(0, 3).join(", ")} in the meantime. Keeping these changes overwrites that.`,
    );
  }
  if (isLarge) return ask("This is more than is kept without asking.");
  if (policy[draft.kind] === "ask") return ask(`Nothing in ${name} changes until somebody approves.`);
  if (totals.deleted > maxDeletedUnasked) return ask(`More than ${maxDeletedUnasked} files are deleted.`);
  if (totals.deleted > 1 && totals.deleted * 2 > (await countFiles(draft.folder, totals.deleted * 2))) {
    return ask("More than half of the folder is deleted.");
  }
  return { type: "keep" };
}

function ask(why: string): ChangeDecision {
  return { type: "ask", why };
}
