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
    ask.say("Slack is set up for HTTP. This setup leaves it as it is.");
    return undefined;
  }
  if (present === undefined && !hasFlags) await createApp(setup);
  else if (present !== undefined) ask.say(`Slack's bot token is set: ${masked(present)}`);
  const bot = await enterSecret(setup, {
    name: "SLACK_BOT_TOKEN",
    what: "bot token",
    message: "Paste the Bot User OAuth Token, xoxb-… (Enter alone: skip)",
    flag: "--slack-bot-token-file",
    file: flags.slackBotTokenFile,
    doing: "Asking Slack about the token and its scopes",
    check: services.checkSlackBot,
  });
  if (bot === undefined) return undefined;
  if (variable(setup, "SLACK_APP_TOKEN") === undefined) await envFile.hold("SLACK_BOT_TOKEN", bot.token);
  ask.done(`Slack knows me as @${bot.botName} in ${bot.team}, with all scopes.`);
  if (variable(setup, "SLACK_APP_TOKEN") === undefined && flags.slackAppTokenFile === undefined)
    ask.say(
      [
        "One more token lets Slack send me messages:",
        "1. On the app's page: Basic Information → App-Level Tokens → Generate Token and Scopes.",
        "2. Enter any name, Add Scope → connections:write, Generate, and copy the token (xapp-…).",
      ].join("\n"),
    );
  const app = await enterSecret(setup, {
    name: "SLACK_APP_TOKEN",
    what: "app token",
    message: "Paste the app-level token, xapp-… (Enter alone: skip)",
    flag: "--slack-app-token-file",
    file: flags.slackAppTokenFile,
    doing: "Asking Slack to open a connection",
    check: (token) => services.checkSlackApp(token, bot.appId),
  });
  if (app === undefined) {
    ask.warn("Slack stays off until both tokens are there. Run init again to go on from here.");
    return undefined;
  }
  await saveVariables(setup, { SLACK_BOT_TOKEN: bot.token, SLACK_APP_TOKEN: app.token });
  ask.done("Both of Slack's tokens work.");
  return { botToken: bot.token, team: bot.team, botName: bot.botName };
}

async function createApp({ ask, services }: Setup): Promise<void> {
  ask.link("Open this link. It creates the Slack app with everything that it needs:", services.slackLink);
  ask.say(
    [
      "1. Choose your workspace, press Next, then Create.",
      "2. Press Install App on the left → Install to … → Allow.",
      "3. Copy the Bot User OAuth Token (xoxb-…).",
    ].join("\n"),
  );
  await services.openLink(services.slackLink);
}
