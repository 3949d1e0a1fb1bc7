/** Discord: checks the token and its intents, and makes the link that invites the bot. */
import { enterSecret } from "./enter-secret.ts";
import { masked, type Setup, saveVariables, variable } from "./services.ts";

export interface DiscordReady {
  name: string;
  owner: { id: string; name: string } | undefined;
}

const portal = "https://discord.com/developers/applications?new_application=true";

/** Resolves to undefined if Discord is not used, or not yet. */
export async function connectDiscord(setup: Setup): Promise<DiscordReady | undefined> {
  const { ask, services, flags } = setup;
  const present = variable(setup, "DISCORD_TOKEN");
  if (!ask.isInteractive && flags.discordTokenFile === undefined && present === undefined) return undefined;
  if (present !== undefined) ask.say(`Discord already has a token: ${masked(present)}`);
  else if (flags.discordTokenFile === undefined) {
    ask.link("Open this link and click New Application:", portal);
    ask.say(
      [
        "1. Enter a name, click Create, and open Bot on the left.",
        "2. Under Privileged Gateway Intents, turn on Message Content Intent, and click Save Changes.",
        "3. Click Reset Token, and copy the token.",
      ].join("\n"),
    );
    await services.openLink(portal);
  }
  const bot = await enterSecret(setup, {
    name: "DISCORD_TOKEN",
    what: "token",
    message: "Paste the bot's token (press Enter to skip)",
    flag: "--discord-token-file",
    file: flags.discordTokenFile,
    doing: "Checking the token and its intents",
    check: services.checkDiscord,
  });
  if (bot === undefined) return undefined;
  await saveVariables(setup, { DISCORD_TOKEN: bot.token });
  ask.done(`The token works: I am ${bot.name} on Discord, and the Message Content Intent is on.`);
  if (bot.servers.length > 0) {
    ask.done(
      bot.servers.length === 1
        ? `I am in the server ${bot.servers[0]?.name}.`
        : `I am in ${bot.servers.length} servers.`,
    );
    return bot;
  }
  await invite(setup, bot);
  return bot;
}

async function invite(
  { ask, services }: Setup,
  { token, applicationId }: { token: string; applicationId: string },
): Promise<void> {
  const link = services.discordInvite(applicationId);
  ask.link("Open this link to add me to your server. It asks only for the permissions that I need:", link);
  if (!ask.isInteractive) return;
  await services.openLink(link);
  for (;;) {
    const isAdded = await ask.confirm({
      message: "Have you added me to a server?",
      flag: "--discord-token-file",
      initial: true,
    });
    if (!isAdded) return;
    const checked = await ask.during("Looking for your server", () => services.checkDiscord(token));
    const [first] = checked.ok ? checked.servers : [];
    if (first !== undefined) return ask.done(`I am in the server ${first.name}.`);
    ask.warn("I am in no server yet. Open the link, choose a server, and click Continue and Authorize.");
  }
}
