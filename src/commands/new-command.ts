/** `/remora new` drops a conversation's history but keeps memory. In a DM of threads, that of the newest one. */
import type { CommandHandler } from "../ports/command.ts";

export function newCommand(end: (platform: string, conversationId: string) => Promise<void>): CommandHandler {
  return {
    usage: "new",
    description: "start over here, without the history",
    async run({ platform, conversationId, isBesideThreads }) {
      await end(platform, conversationId);
      if (isBesideThreads)
        return "Starting over: each new message here begins without history, and now a reply in the newest thread does, too. Older threads keep theirs. I keep what is in memory.";
      return "Starting over: your next message begins without history. I keep what is in memory.";
    },
  };
}
