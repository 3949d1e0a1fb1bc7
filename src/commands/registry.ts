/** Runs `/remora NAME REST` commands, which work the same on every platform, and lists them as help. */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { CommandAnswer, CommandHandler, Commands } from "../ports/command.ts";

const maxShownNameCharacters = 40;

export function createCommands(handlers: readonly CommandHandler<CommandAnswer>[], log: Log): Commands {
  const byName = new Map(handlers.map((handler) => [handler.usage.split(" ", 1)[0] ?? "", handler]));

  function help(): string {
    return handlers.map(({ usage, description }) => `- \`/remora ${usage}\` — ${description}`).join("\n");
  }

  return {
    list: () => handlers.map(({ usage, description }) => ({ usage, description })),
    async handle(command) {
      const { name } = command;
      const handler = byName.get(name);
      if (handler === undefined) {
        const isHelp = name === "" || name === "help";
        const problem = isHelp ? "" : `There is no command \`${name.slice(0, maxShownNameCharacters)}\`.\n\n`;
        return { text: `${problem}${help()}`, isPrivate: true };
      }
      try {
        const said = await handler.run(command);
        return { ...(typeof said === "string" ? { text: said } : said), isPrivate: true };
      } catch (thrown) {
        log.error({ command: name, error: messageOf(thrown) }, "a command failed");
        return { text: `That didn't work: ${messageOf(thrown)}`, isPrivate: true };
      }
    },
  };
}
