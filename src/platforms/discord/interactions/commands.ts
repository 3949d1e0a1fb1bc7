/**
 * `/remora` with a subcommand each, registered for all servers and DMs. Registering is slow and rarely needed, so it happens in the
 * background and only when the commands are others than last time.
 */
import { createHash } from "node:crypto";
import {
  ApplicationCommandOptionType,
  ApplicationIntegrationType,
  InteractionContextType,
  type RESTPostAPIChatInputApplicationCommandsJSONBody,
  Routes,
} from "discord.js";
import type { Log } from "../../../lib/log.ts";
import type { Store } from "../../../ports/store.ts";
import { saidByCommand } from "../../shared/said-by-command.ts";
import type { DiscordApi } from "../api/api.ts";
import { clip } from "../outbound/plain-text.ts";

export interface CommandHelp {
  /** `new`, or with what follows it: `pair CODE`. */
  usage: string;
  description: string;
}

export const commandName = "remora";
export const textOption = "text";
/** Discord's most. */
const mostCommands = 25;
const storeKey = "discord:commands";

/** What people type is posted as a message, with a mark before it. */
const longestAsk = 1_900;

function commandBody(commands: readonly CommandHelp[]): RESTPostAPIChatInputApplicationCommandsJSONBody {
  const all = [{ usage: "ask TEXT", description: "ask me something; everybody here can see it" }, ...commands];
  const named = new Map(all.map((each) => [nameOf(each), each]));
  return {
    name: commandName,
    description: "Talk to Remora and see what it does",
    contexts: [InteractionContextType.Guild, InteractionContextType.BotDM],
    integration_types: [ApplicationIntegrationType.GuildInstall],
    options: [...named]
      .filter(([name]) => /^[-_\p{Ll}\p{N}]{1,32}$/u.test(name))
      .slice(0, mostCommands)
      .map(([name, { usage, description }]) => ({
        type: ApplicationCommandOptionType.Subcommand,
        name,
        description: clip(description, 100),
        options: [
          {
            type: ApplicationCommandOptionType.String,
            name: textOption,
            description: clip(usage.slice(name.length).trim() || "No text needed", 100),
            max_length: isSaid(name) ? longestAsk : 4_000,
            required: name === "ask",
          },
        ],
      })),
  };
}

/** What is said by it is posted, as far as a message goes. */
function isSaid(name: string): boolean {
  return saidByCommand(name, "some words") !== undefined;
}

function nameOf({ usage }: CommandHelp): string {
  return usage.split(" ", 1)[0] ?? usage;
}

/** Resolves when they are registered, or were before. */
export async function registerCommands(options: {
  api: DiscordApi;
  store: Store;
  applicationId: string;
  commands: readonly CommandHelp[];
  log: Log;
  signal: AbortSignal;
}): Promise<void> {
  const { api, store, applicationId, commands, log, signal } = options;
  const body = [commandBody(commands)];
  const hash = createHash("sha256")
    .update(JSON.stringify([applicationId, body]))
    .digest("hex");
  if ((await store.get(storeKey)) === hash) return;
  const route = Routes.applicationCommands(applicationId);
  await api.request({ method: "PUT", route, body, patience: "lasting", signal });
  await store.set(storeKey, hash);
  log.info({ commands: commands.length + 1 }, "registered the /remora commands with Discord");
}
