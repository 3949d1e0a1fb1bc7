/** Runs `/remora NAME REST` commands, which work the same on every platform, and lists them as help. */
import { messageOf, RemoraError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { CommandAnswer, CommandHandler, Commands } from "../ports/command.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { InboundCommand } from "../ports/message.ts";

const maxShownNameCharacters = 40;
const maxSearchedTurns = 200;
/** With a text, the platform takes it for a message, so it never arrives here. */
const askHelp = "- `/remora ask TEXT` — ask me something, as in a message that mentions me";

export function createCommands(
  handlers: readonly CommandHandler<CommandAnswer>[],
  ledger: Pick<Ledger, "list">,
  log: Log,
): Commands {
  const byName = new Map(handlers.map((handler) => [handler.usage.split(" ", 1)[0] ?? "", handler]));

  function help(): string {
    const lines = handlers.map(({ usage, description }) => `- \`/remora ${usage}\` — ${description}`);
    return [askHelp, ...lines].join("\n");
  }

  /** Beside a DM's threads, `conversationId` is the thread of the newest request. */
  async function placed(command: InboundCommand): Promise<InboundCommand> {
    if (command.isBesideThreads !== true) return command;
    const { platform, scope } = command;
    const turns = await ledger.list("turn", { order: "newest", limit: maxSearchedTurns });
    const newest = turns.find(({ body }) => body.scope === scope && body.target.platform === platform);
    if (newest !== undefined) return { ...command, conversationId: newest.body.conversationId };
    const known = await ledger.list("conversation", { group: scope, order: "newest" });
    return {
      ...command,
      conversationId: known.find(({ id }) => id.startsWith(`${platform}:`))?.id ?? command.conversationId,
    };
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
        const said = await handler.run(await placed(command));
        return { ...(typeof said === "string" ? { text: said } : said), isPrivate: true };
      } catch (thrown) {
        log.error({ command: name, error: messageOf(thrown) }, "a command failed");
        const why = thrown instanceof RemoraError ? thrown.plain : messageOf(thrown);
        return { text: `That didn't work: ${why}`, isPrivate: true };
      }
    },
  };
}
