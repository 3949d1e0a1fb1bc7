/** `/remora status` counts running and waiting turns and queued messages, and shows the connections. */
import { isDeepStrictEqual } from "node:util";
import type { CommandHandler } from "../ports/command.ts";
import type { Conversations } from "../ports/conversation.ts";
import type { InboundCommand } from "../ports/message.ts";

export function statusCommand(
  conversations: Pick<Conversations, "status">,
  health: (command: InboundCommand) => { name: string; detail: string }[] = () => [],
): CommandHandler {
  return {
    usage: "status",
    description: "show what is running, waiting or queued, and the connections",
    async run(command) {
      const { conversationId, scope, isBesideThreads } = command;
      const [here, around, everywhere] = await Promise.all([
        conversations.status({ conversationId }),
        conversations.status({ scope }),
        conversations.status(),
      ]);
      const line = (label: string, { running, parked, queued }: typeof here) =>
        `- ${label}: ${running} running, ${parked} waiting for approval, ${queued} queued`;
      const platforms = health(command).map(({ name, detail }) => `- ${name}: ${detail.replaceAll("\n", "; ")}`);
      // Not every service allows commands in a thread, so a channel's counts include its threads.
      const threads = isDeepStrictEqual(here, around) ? [] : [line("here, with all threads", around)];
      const own = line(isBesideThreads ? "in the newest thread here" : "here", here);
      return [own, ...threads, line("everywhere", everywhere), ...platforms].join("\n");
    },
  };
}
