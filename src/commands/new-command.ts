/** `/remora new` drops a conversation's history but keeps memory. In a DM of threads, that of the newest one. */
import type { CommandAnswer, CommandHandler } from "../ports/command.ts";

export function newCommand(forgetHistory: (conversationId: string) => Promise<void>): CommandHandler<CommandAnswer> {
  return {
    usage: "new",
    description: "start over here, without the history",
    async run({ conversationId, isBesideThreads }) {
      await forgetHistory(conversationId);
      const text = isBesideThreads
        ? "Starting over: each new message here begins without history, and now a reply in the newest thread does, too. Older threads keep theirs. I keep what is in memory."
        : "Starting over: your next message begins without history. I keep what is in memory.";
      return { text, endedConversationId: conversationId };
    },
  };
}
