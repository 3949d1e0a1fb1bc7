/** Slack: creates the app by a link, and checks both tokens as they are pasted. */
import { enterSecret } from "./enter-secret.ts";
import { masked, type Setup, saveVariables, variable } from "./services.ts";

export interface SlackReady {
  botToken: string;
  team: string;
  botName: string;
}

/** Resolves to undefined if Slack is not used, or not yet. */
export async function connectSlack(setup: Setup): Promise<SlackReady | undefined> {
  const { ask, envFile, services, flags } = setup;
  const present = variable(setup, "SLACK_BOT_TOKEN") ?? envFile.held("SLACK_BOT_TOKEN");
  const hasFlags = flags.slackBotTokenFile !== undefined || flags.slackAppTokenFile !== undefined;
  if (!ask.isInteractive && !hasFlags && variable(setup, "SLACK_BOT_TOKEN") === undefined) return undefined;
  if (variable(setup, "SLACK_SIGNING_SECRET") !== undefined && variable(setup, "SLACK_APP_TOKEN") === undefined) {
    ask.say("Slack is already set up over HTTP, and stays as it is.");
    return undefined;
  }
  if (present === undefined && !hasFlags) await createApp(setup);
  else if (present !== undefined) ask.say(`Slack already has a bot token: ${masked(present)}`);
  const bot = await enterSecret(setup, {
    name: "SLACK_BOT_TOKEN",
    what: "bot token",
    message: "Paste the Bot User OAuth Token, xoxb-… (press Enter to skip)",
    flag: "--slack-bot-token-file",
    file: flags.slackBotTokenFile,
    doing: "Checking the token and its scopes",
    check: services.checkSlackBot,
  });
  if (bot === undefined) return undefined;
  if (variable(setup, "SLACK_APP_TOKEN") === undefined) await envFile.hold("SLACK_BOT_TOKEN", bot.token);
  ask.done(`The bot token works: I am @${bot.botName} in ${bot.team}, with all permissions.`);
  if (variable(setup, "SLACK_APP_TOKEN") === undefined && flags.slackAppTokenFile === undefined)
    ask.say(
      [
        "Slack needs a second token, to send messages to this machine:",
        "1. Open Basic Information on the left → App-Level Tokens → Generate Token and Scopes.",
        "2. Enter any name, click Add Scope → connections:write → Generate, and copy the token (xapp-…).",
      ].join("\n"),
    );
  const app = await enterSecret(setup, {
    name: "SLACK_APP_TOKEN",
    what: "app token",
    message: "Paste the app-level token, xapp-… (press Enter to skip)",
    flag: "--slack-app-token-file",
    file: flags.slackAppTokenFile,
    doing: "Checking the app token",
    check: (token) => services.checkSlackApp(token, bot.appId),
  });
  if (app === undefined) {
    ask.warn("Slack stays off until it has both tokens. Run init again to continue from here.");
    return undefined;
  }
  await saveVariables(setup, { SLACK_BOT_TOKEN: bot.token, SLACK_APP_TOKEN: app.token });
  ask.done("Both Slack tokens work.");
  return { botToken: bot.token, team: bot.team, botName: bot.botName };
}

async function createApp({ ask, services }: Setup): Promise<void> {
  ask.link("Open this link to create the Slack app. Its permissions are filled in already:", services.slackLink);
  ask.say(
    [
      "1. Choose your workspace, then click Next and Create.",
      "2. Click Install App on the left → Install to … → Allow.",
      "3. Copy the Bot User OAuth Token (xoxb-…).",
    ].join("\n"),
  );
  await services.openLink(services.slackLink);
}
