/** Builds the reports of turns, with texts as on approval cards. */
import { callText, cleaner, escapeHiddenLines } from "../approvals/card-text.ts";
import { callHeadline } from "../approvals/headline.ts";
import type { Toolbox } from "../ports/tool.ts";
import type { TurnReports } from "../ports/turn-report.ts";
import { createTurnReports } from "../turn-report/create-report.ts";
import type { State } from "./state.ts";

export function buildTurnReports(
  { ledger, mask }: Pick<State, "ledger" | "mask">,
  specs: Toolbox["specs"],
): TurnReports {
  return createTurnReports({
    ledger,
    texts: {
      line: cleaner(mask),
      lines: (text) => escapeHiddenLines(mask(text)),
      call: (call) => callText(call, mask),
      headline(call, conversationId) {
        const ask = specs(conversationId).find(({ name }) => name === call.name)?.ask;
        return ask === undefined ? undefined : callHeadline(call, ask, mask).text;
      },
      actsOutside(tool, conversationId) {
        const spec = specs(conversationId).find(({ name }) => name === tool);
        return spec?.isOutward === true && !spec.isReadOnly;
      },
    },
  });
}
