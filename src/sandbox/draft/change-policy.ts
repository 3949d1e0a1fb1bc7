/** Decides whether changes are kept immediately or need approval, and says why they need it. */
import type { DraftEnd, DraftRecord } from "../../ports/draft.ts";
import type { Effects } from "../effects/effect.ts";
import type { RawPath } from "../effects/raw-path.ts";
import { maxUndecidedMs } from "./draft-store.ts";
import { uncoveredReason } from "./grant-scope.ts";
import { folderPhrase } from "./keep-draft.ts";
import { lossProblem, lostFiles } from "./lost-files.ts";

export interface ChangePolicy {
  own: "keep" | "ask";
  given: "keep" | "ask";
}

export interface PolicyInput {
  draft: DraftRecord;
  effects: Effects;
  autorun: ReadonlySet<RawPath>;
  end: DraftEnd;
  changedBase: string[];
}

/** `isCoverable`: only the settings ask, and a grant that covers the changes answers. */
export type ChangeDecision = { type: "keep" } | { type: "ask"; why: string; isCoverable: boolean };

export async function decide(input: PolicyInput, policy: ChangePolicy): Promise<ChangeDecision> {
  const { draft, effects, autorun, end, changedBase } = input;
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
  if (effects.isLarge) return ask("These changes are too large to keep without asking.");
  const isAsked = policy[draft.kind] === "ask";
  // In the conversation's own folder, a command may remove a whole folder of what it built.
  const loss = await lossProblem(draft.folder, lostFiles(effects), { isEachFolder: isAsked || draft.kind === "given" });
  if (!isAsked) return loss === undefined ? { type: "keep" } : ask(loss);
  const reason = loss ?? uncoveredReason(effects, autorun);
  const why = [
    `Nothing in ${folderPhrase(draft)} changes until somebody approves.`,
    ...(reason === undefined ? [] : [reason]),
  ];
  return { type: "ask", why: why.join(" "), isCoverable: reason === undefined };
}

function ask(why: string): ChangeDecision {
  return { type: "ask", why, isCoverable: false };
}
