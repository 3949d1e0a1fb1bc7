/** `/remora why [N]` shows what was done for the last answer here, or for the one N before. */

import type { FooterReceipt } from "../ports/answer-footer.ts";
import type { CommandAnswer, CommandHandler } from "../ports/command.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Author, InboundCommand } from "../ports/message.ts";
import type { TurnRecord } from "../ports/turn.ts";

export interface WhyCommandOptions {
  ledger: Pick<Ledger, "list">;
  records: {
    show(turnId: string, by: Author): Promise<FooterReceipt>;
    mayRead(turn: TurnRecord, by: Author): Promise<boolean>;
  };
}

const maxBack = 50;
const maxSearchedTurns = 200;

export function whyCommand({ ledger, records }: WhyCommandOptions): CommandHandler<CommandAnswer> {
  /** In a channel, looks in its threads, because not every service allows commands in a thread. */
  async function turnsHere({ conversationId, scope, by }: InboundCommand, wanted: number): Promise<TurnRecord[]> {
    const here = await ledger.list("turn", { group: conversationId, order: "newest", limit: wanted });
    if (here.length > 0) return here.map(({ body }) => body);
    const all = await ledger.list("turn", { order: "newest", limit: maxSearchedTurns });
    const around = all.map(({ body }) => body).filter((turn) => turn.scope === scope && !isPrivate(turn));
    const found: TurnRecord[] = [];
    for (const turn of around) {
      if (found.length >= wanted) break;
      if (await records.mayRead(turn, by)) found.push(turn);
    }
    return found;
  }

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
        if (turns.length === 0) return "I have not answered anything here in the last 30 days.";
        return `I have answered only ${turns.length === 1 ? "once" : `${turns.length} times`} here in the last 30 days.`;
      }
      const { text, file } = await records.show(turn.id, command.by);
      return { text, ...(file === undefined ? {} : { file }) };
    },
  };
}

/** A private thread has its channel's scope, but not everybody in the channel sees it. */
function isPrivate({ messages }: TurnRecord): boolean {
  return messages.some((message) => message.isPrivate === true);
}
