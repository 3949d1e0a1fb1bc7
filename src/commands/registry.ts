/**
 * `/remora NAME REST`, the same on every platform. Each command is one entry: its help line and what it does; the
 * composition root hands in those that need more than conversations.
 */
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { CommandHandler, Commands } from "../ports/command.ts";
import type { Conversations } from "../ports/conversation.ts";

export function createCommands(handlers: readonly CommandHandler[], log: Log): Commands {
  const byName = new Map(handlers.map((handler) => [nameOf(handler), handler]));

  function help(): string {
    return handlers.map(({ usage, description }) => `- \`/remora ${usage}\` — ${description}`).join("\n");
  }

  return {
    list: () => handlers.map(({ usage, description }) => ({ usage, description })),
    async handle(command) {
      const handler = byName.get(command.name);
      if (handler === undefined) {
        const problem =
          command.name === "" || command.name === "help"
            ? ""
            : `There is no command \`${command.name.slice(0, 40)}\`.\n\n`;
        return { text: `${problem}${help()}`, isPrivate: true };
      }
      try {
        return { text: await handler.run(command), isPrivate: true };
      } catch (thrown) {
        log.error({ command: command.name, error: messageOf(thrown) }, "a command failed");
        return { text: `That did not work: ${messageOf(thrown)}`, isPrivate: true };
      }
    },
  };
}

/** The commands that conversations alone can answer. */
export function conversationCommands(
  conversations: Conversations,
  startAnew: (conversationId: string) => Promise<void>,
  health: () => { name: string; detail: string }[] = () => [],
): CommandHandler[] {
  return [
    {
      usage: "stop",
      description: "stop what runs or waits here, and its approvals",
      async run({ conversationId, scope }) {
        // Said in a channel and not in one of its threads, it means them all.
        const count = (await conversations.stop(conversationId)) || (await conversations.stopScope(scope));
        if (count === 0) return "Nothing is running here.";
        return count === 1 ? "Stopped." : `Stopped ${count} turns.`;
      },
    },
    {
      usage: "new",
      description: "start afresh here, without the history",
      async run({ conversationId }) {
        await startAnew(conversationId);
        return "A new start: the next message begins without history. What is in memory stays.";
      },
    },
    {
      usage: "status",
      description: "what runs, waits for a person, or is queued, and how the connections are",
      async run({ conversationId, scope }) {
        const [here, around, everywhere] = await Promise.all([
          conversations.status({ conversationId }),
          conversations.status({ scope }),
          conversations.status(),
        ]);
        const line = (label: string, { running, parked, queued }: typeof here) =>
          `- ${label}: ${running} running, ${parked} waiting for an approval, ${queued} queued`;
        const platforms = health().map(({ name, detail }) => `- ${name}: ${detail.replaceAll("\n", "; ")}`);
        // Not every service knows commands in a thread, where the turns of its channel run.
        const others = isDeepStrictEqual(here, around) ? [] : [line("here and in all threads here", around)];
        return [line("here", here), ...others, line("everywhere", everywhere), ...platforms].join("\n");
      },
    },
  ];
}

function nameOf(handler: CommandHandler): string {
  return handler.usage.split(" ", 1)[0] ?? handler.usage;
}
