/** Registers `/remora` for all servers and DMs, if the commands have changed since the last registration. */
import { createHash } from "node:crypto";
import {
  ApplicationCommandOptionType,
  ApplicationIntegrationType,
  InteractionContextType,
  type RESTPostAPIChatInputApplicationCommandsJSONBody,
  Routes,
} from "discord.js";
import type { Log } from "../../../lib/log.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import type { Store } from "../../../ports/store.ts";
import { askText } from "../../shared/ask-text.ts";
import type { DiscordApi } from "../api/api.ts";
import { commandNamePattern, maxCommandDescriptionLength, maxMessageLength, maxSubcommands } from "../limits.ts";

export interface CommandHelp {
  /** For example `new`, or `pair CODE` with an argument. */
  usage: string;
  description: string;
}

export const commandName = "remora";
export const textOption = "text";
const maxTextLength = 4_000;
const storeKey = "discord:commands";

/** Of every kind: what a file is good for is found out when it is read. */
const fileOptions = ["file", "file2", "file3"].map((name) => ({
  type: ApplicationCommandOptionType.Attachment as const,
  name,
  description: "A file that this is about; everybody here can see its name",
}));

/** The question follows a prefix in its message, so it must be shorter than a message. */
const maxAskLength = maxMessageLength - 100;

function commandBody(commands: readonly CommandHelp[]): RESTPostAPIChatInputApplicationCommandsJSONBody {
  const all = [{ usage: "ask TEXT", description: "ask me something; everybody here can see it" }, ...commands];
  const named = new Map(all.map((each) => [usageName(each), each]));
  return {
    name: commandName,
    description: "Talk to Remora and see what it does",
    contexts: [InteractionContextType.Guild, InteractionContextType.BotDM],
    integration_types: [ApplicationIntegrationType.GuildInstall],
    options: [...named]
      .filter(([name]) => commandNamePattern.test(name))
      .slice(0, maxSubcommands)
      .map(([name, { usage, description }]) => ({
        type: ApplicationCommandOptionType.Subcommand,
        name,
        description: shorten(description, maxCommandDescriptionLength),
        options: [
          {
            type: ApplicationCommandOptionType.String,
            name: textOption,
            description: shorten(usage.slice(name.length).trim() || "No text needed", maxCommandDescriptionLength),
            max_length: isSaid(name) ? maxAskLength : maxTextLength,
            required: name === "ask",
          },
          ...(isSaid(name) ? fileOptions : []),
        ],
      })),
  };
}

function isSaid(name: string): boolean {
  return askText(name, "some words") !== undefined;
}

function usageName({ usage }: CommandHelp): string {
  return usage.split(" ", 1)[0] ?? usage;
}

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
  await api.request({ method: "PUT", route, body, retry: "patient", isBackground: true, signal });
  await store.set(storeKey, hash);
  log.info({ commands: commands.length + 1 }, "registered the /remora commands with Discord");
}
