import type { CommandHandler } from "../ports/command.ts";
import type { Conversations } from "../ports/conversation.ts";

export function stopCommand(conversations: Pick<Conversations, "stop" | "stopScope">): CommandHandler {
  return {
    usage: "stop",
    description: "stop the running and waiting requests here",
    async run({ conversationId, scope, isInThread, isBesideThreads, saidBy }) {
      // In the channel or DM itself, the command applies to all its threads.
      const count = isInThread
        ? await conversations.stop(conversationId, saidBy)
        : await conversations.stopScope(scope);
      if (count === 0) return "Nothing is running here.";
      if (count === 1) return "Stopped.";
      return `Stopped ${count} requests${isBesideThreads ? ", in all threads here" : ""}.`;
    },
  };
}
