/** Runs `/remora NAME REST` commands, which work the same on every platform, and lists them as help. */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { CommandAnswer, CommandHandler, Commands } from "../ports/command.ts";

const maxShownNameCharacters = 40;
/** With a text, the platform takes it for a message, so it never arrives here. */
const askHelp = "- `/remora ask TEXT` — ask me something, as in a message that mentions me";

export function createCommands(handlers: readonly CommandHandler<CommandAnswer>[], log: Log): Commands {
  const byName = new Map(handlers.map((handler) => [handler.usage.split(" ", 1)[0] ?? "", handler]));

  function help(): string {
    const lines = handlers.map(({ usage, description }) => `- \`/remora ${usage}\` — ${description}`);
    return [askHelp, ...lines].join("\n");
  }

  return {
    list: () => handlers.map(({ usage, description }) => ({ usage, description })),
    async handle(command) {
      const { name } = command;
      const handler = byName.get(name);
      if (handler === undefined) {
        const isHelp = ["", "help", "ask"].includes(name);
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
