/** Decides what is below an answer: the quiet line, and which buttons. */
import { messageOf } from "../lib/errors.ts";
import type { AnswerFooter, FooterChoice } from "../ports/answer-footer.ts";
import type { TurnDeps } from "../ports/turn-deps.ts";
import type { TurnReports } from "../ports/turn-report.ts";
import { footerLine } from "../turn-report/footer.ts";
import type { AppOptions } from "./options.ts";

export function buildFooters({ settings, log }: AppOptions, reports: TurnReports): TurnDeps["footer"] {
  const { answers } = settings.config;
  return async (turn, end): Promise<AnswerFooter | undefined> => {
    try {
      const report = await reports.of(turn, end);
      const line = footerLine(report, answers);
      const choices: FooterChoice[] = [
        ...(line === "" && turn.failureReason === undefined ? [] : (["details"] as const)),
        ...(answers.feedback && end === "done" ? (["feedback"] as const) : []),
        ...(report.isSafeToRetry && turn.abort !== "interrupted" ? (["retry"] as const) : []),
      ];
      return line === "" && choices.length === 0 ? undefined : { turnId: turn.id, line, choices };
    } catch (thrown) {
      log.warn({ turnId: turn.id, error: messageOf(thrown) }, "an answer has no footer");
      return undefined;
    }
  };
}
