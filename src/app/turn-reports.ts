/** Builds the reports of turns, with texts as on approval cards. */
import { callText, cleaner, escapeHiddenLines } from "../approvals/card-text.ts";
import type { TurnReports } from "../ports/turn-report.ts";
import { createTurnReports } from "../turn-report/create-report.ts";
import type { State } from "./state.ts";

export function buildTurnReports({ ledger, mask }: Pick<State, "ledger" | "mask">): TurnReports {
  return createTurnReports({
    ledger,
    texts: {
      line: cleaner(mask),
      lines: (text) => escapeHiddenLines(mask(text)),
      call: (call) => callText(call, mask),
    },
  });
}
