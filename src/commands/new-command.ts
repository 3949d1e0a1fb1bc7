/** `/remora new` drops a conversation's history but keeps memory. */
import type { CommandHandler } from "../ports/command.ts";

export function newCommand(forgetHistory: (conversationId: string) => Promise<void>): CommandHandler {
  return {
    usage: "new",
    description: "start over here, without the history",
    async run({ conversationId }) {
      await forgetHistory(conversationId);
      return "Starting over: your next message begins without history. I keep what is in memory.";
    },
  };
}
