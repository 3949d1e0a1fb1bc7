/** `/remora feedback TEXT` says something about the last answer here. `/remora feedback none` takes the rating back. */
import type { FooterReceipt } from "../ports/answer-footer.ts";
import type { CommandHandler } from "../ports/command.ts";
import type { Author } from "../ports/message.ts";
import type { TurnRecord } from "../ports/turn.ts";
import type { AnsweredTurns } from "./answered-turns.ts";
import { nothingHere } from "./why-command.ts";

export interface FeedbackCommandOptions {
  turnsHere: AnsweredTurns;
  say(turn: TurnRecord, by: Author, text: string): Promise<FooterReceipt>;
  counts(scope: TurnRecord["scope"]): Promise<{ good: number; bad: number }>;
}

export function feedbackCommand({ turnsHere, say, counts }: FeedbackCommandOptions): CommandHandler {
  return {
    usage: "feedback [TEXT]",
    description: "say what was good or wrong about my last answer here, or see the ratings",
    async run(command) {
      const said = command.rest.trim();
      if (said === "") {
        const { good, bad } = await counts(command.scope);
        const rated =
          good + bad === 0
            ? "Nobody has rated an answer here yet."
            : `Ratings here in the last 30 days: 👍 ${good} · 👎 ${bad}.`;
        return `${rated} \`/remora feedback TEXT\` says something about my last answer, \`/remora feedback none\` removes your rating.`;
      }
      const [turn] = await turnsHere(command, 1);
      if (turn === undefined) return nothingHere;
      return (await say(turn, command.by, said === "none" ? "" : said)).text;
    },
  };
}
