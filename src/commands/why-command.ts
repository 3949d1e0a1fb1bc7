/** `/remora why [N]` shows what was done for the last answer here, or for the one N before. */
import type { FooterReceipt } from "../ports/answer-footer.ts";
import type { CommandAnswer, CommandHandler } from "../ports/command.ts";
import type { Author } from "../ports/message.ts";
import type { AnsweredTurns } from "./answered-turns.ts";

export interface WhyCommandOptions {
  turnsHere: AnsweredTurns;
  show(turnId: string, platform: string, by: Author): Promise<FooterReceipt>;
}

const maxBack = 50;
export const nothingHere = "I have not answered anything here in the last 30 days.";

export function whyCommand({ turnsHere, show }: WhyCommandOptions): CommandHandler<CommandAnswer> {
  return {
    usage: "why [N]",
    description: "show what I did for the last answer here, and why",
    async run(command) {
      const back = command.rest.trim() === "" ? 1 : Number(command.rest.trim());
      if (!Number.isInteger(back) || back < 1 || back > maxBack)
        return `Write \`/remora why\`, or \`/remora why 2\` for the answer before. At most ${maxBack}.`;
      const turns = await turnsHere(command, back);
      const turn = turns[back - 1];
      if (turn === undefined) {
        if (turns.length === 0) return nothingHere;
        return `I have answered only ${turns.length === 1 ? "once" : `${turns.length} times`} here in the last 30 days.`;
      }
      const { text, file } = await show(turn.id, command.platform, command.by);
      return { text, ...(file === undefined ? {} : { file }) };
    },
  };
}
