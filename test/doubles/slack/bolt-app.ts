/** The real Bolt and the real Web API client on the double, quiet in the log. */
import type { AddressInfo } from "node:net";
import { App, HTTPReceiver, type Logger, LogLevel, SocketModeReceiver, webApi } from "@slack/bolt";
import type { SlackDouble } from "./double.ts";
import type { JsonObject } from "./wire.ts";

const quiet: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => LogLevel.ERROR,
  setName() {},
};

export interface BoltApp {
  app: App;
  stop(): Promise<void>;
}

/** `pingMs` is how long the client waits for pongs and between attempts to connect again. */
export async function connectSocketApp(
  slack: SlackDouble,
  prepare: (app: App) => void,
  pingMs = 5000,
): Promise<BoltApp> {
  const clientOptions = { slackApiUrl: slack.apiUrl };
  const receiver = new SocketModeReceiver({
    appToken: slack.appToken,
    logger: quiet,
    clientPingTimeout: pingMs,
    installerOptions: { clientOptions },
  });
  const app = new App({ token: slack.botToken, receiver, logger: quiet, clientOptions });
  prepare(app);
  await app.start();
  return { app, stop: async () => void (await app.stop()) };
}

/** Listens on a free port and makes it the double's target. */
export async function connectHttpApp(slack: SlackDouble, prepare: (app: App) => void): Promise<BoltApp> {
  const receiver = new HTTPReceiver({ signingSecret: slack.signingSecret, logger: quiet });
  const clientOptions = { slackApiUrl: slack.apiUrl };
  const app = new App({ token: slack.botToken, receiver, logger: quiet, clientOptions });
  prepare(app);
  const server = (await app.start(0)) as { address(): AddressInfo };
  slack.http.target = `http://127.0.0.1:${server.address().port}/slack/events`;
  return { app, stop: async () => void (await app.stop()) };
}

/** Calls a method once and returns Slack's response, even a refusal. */
export function createDirectClient(slack: SlackDouble, token = slack.botToken) {
  const client = new webApi.WebClient(token, {
    slackApiUrl: slack.apiUrl,
    logger: quiet,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
  });
  return {
    client,
    async call(method: string, args: Record<string, unknown> = {}): Promise<JsonObject> {
      try {
        return (await client.apiCall(method, args)) as unknown as JsonObject;
      } catch (error) {
        const data = (error as { data?: JsonObject }).data;
        if (data === undefined) throw error;
        return data;
      }
    },
  };
}
