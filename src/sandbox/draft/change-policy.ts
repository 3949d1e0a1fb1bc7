/** Decides whether changes are kept immediately or need approval, and says why they need it. */
import type { DraftEnd, DraftRecord } from "../../ports/draft.ts";
import type { Effects } from "../effects/effect.ts";
import { countFiles } from "./count-files.ts";
import { folderPhrase } from "./shown-changes.ts";

export interface ChangePolicy {
  own: "keep" | "ask";
  given: "keep" | "ask";
}

export interface PolicyInput {
  draft: DraftRecord;
  effects: Effects;
  end: DraftEnd;
  changedBase: string[];
}

export type ChangeDecision = { type: "keep" } | { type: "ask"; why: string };

export const maxUndecidedMs = 24 * 60 * 60 * 1_000;
const maxDeletedUnasked = 20;

export async function decide(
  { draft, effects, end, changedBase }: PolicyInput,
  policy: ChangePolicy,
): Promise<ChangeDecision> {
  const { totals, isLarge } = effects;
  if (end !== "done") {
    const what = end === "stopped" ? "The turn was stopped" : "The turn failed";
    return ask(
      `${what}, so nothing was kept. You can keep or discard these changes within ${maxUndecidedMs / 3_600_000} hours.`,
    );
  }
  if (changedBase.length > 0) {
    return ask(
      `Somebody else changed ${changedBase.slice(0, 3).join(", ")} in the meantime. Approving overwrites those changes.`,
    );
  }
  if (isLarge) return ask("These changes are too large to keep without asking.");
  if (policy[draft.kind] === "ask") return ask(`Nothing in ${folderPhrase(draft)} changes until somebody approves.`);
  if (totals.deleted > maxDeletedUnasked) return ask(`This deletes more than ${maxDeletedUnasked} files.`);
  if (totals.deleted > 1 && totals.deleted * 2 > (await countFiles(draft.folder, totals.deleted * 2))) {
    return ask("This deletes more than half of the folder.");
  }
  return { type: "keep" };
}

function ask(why: string): ChangeDecision {
  return { type: "ask", why };
}
