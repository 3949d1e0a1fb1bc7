/** The Slack checks of `remora doctor`: bot token and scopes, app token or signing secret, user token, and the clock. */
import { z } from "zod";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import { silentLog } from "../../lib/log.ts";
import { error, type Finding, ok, warning } from "../shared/finding.ts";
import { createSlackApi, type SlackApi } from "./api/api.ts";
import { clockText } from "./api/health.ts";
import { createIdentity } from "./api/identity.ts";
import { missingScopes, scopesAdvice, searchScope } from "./api/manifest.ts";
import { hasHistoryLimit } from "./history-limit.ts";
import { moveAdvice, saysNoAgent } from "./outbound/agent-sessions.ts";
import type { SlackPlatformOptions } from "./platform.ts";

type Access = SlackPlatformOptions["access"];

const maxRetryMs = 5_000;
const openedSchema = z.object({ url: z.string() });

/** `guests` is the setting `slack.access.guests`. */
export async function checkSlack(access: Access, signal: AbortSignal, guests = false): Promise<Finding[]> {
  const api = apiFor(access.botToken, access, signal);
  const findings = await Promise.all([
    checkBot(api, access.botToken, guests),
    access.transport.type === "socket" ? checkAppToken(access, signal) : checkSecret(access),
    checkUserToken(access, signal),
  ]);
  return [...findings.flat(), ...checkClock(api, access)];
}

function apiFor(token: string, { apiUrl }: Access, signal: AbortSignal): SlackApi {
  const where = apiUrl === undefined ? {} : { apiUrl };
  return createSlackApi({ token, ...where, onProblem: () => {}, log: silentLog, signal });
}

async function checkBot(api: SlackApi, token: string, guests: boolean): Promise<Finding[]> {
  if (!token.startsWith("xoxb-"))
    return [error("SLACK_BOT_TOKEN is not a bot token. It must start with xoxb- (Install App → Bot User OAuth Token)")];
  try {
    const { name, team, teamId, scopes } = await createIdentity(api)(maxRetryMs);
    const owner = ok(`SLACK_BOT_TOKEN belongs to @${name} in ${team || teamId}`);
    return [
      ...[owner, ...(await checkScopes(scopes)), ...checkGuests(guests, scopes)],
      ...[...(await checkAgent(api)), ...(await checkHistory(api))],
    ];
  } catch (thrown) {
    return [error(`SLACK_BOT_TOKEN: ${messageOf(thrown)}`)];
  }
}

async function checkScopes(scopes: string[] | undefined): Promise<Finding[]> {
  if (scopes === undefined) return [warning("Slack did not say which scopes the token has")];
  const missing = await missingScopes(scopes);
  if (missing === undefined) return [warning("can't read slack/manifest.yaml, so the scopes were not checked")];
  const hasSearch = scopes.includes(searchScope);
  if (missing.length === 0 && hasSearch) return [ok("the token has all scopes of slack/manifest.yaml")];
  const unsearched = `the bot token lacks ${searchScope}, so chat_search finds only what was said since Remora came: ${scopesAdvice}`;
  return [
    ...(missing.length === 0 ? [] : [error(`the bot token lacks ${missing.join(", ")}: ${scopesAdvice}`)]),
    ...(hasSearch ? [] : [warning(unsearched)]),
  ];
}

/** Turning on the agent feature adds its scope, and nothing else tells a bot that it is an agent. */
function checkGuests(guests: boolean, scopes: string[] | undefined): Finding[] {
  if (!guests || scopes?.includes("assistant:write") !== true) return [];
  return [
    warning(
      "slack.access.guests is true, but Slack does not let guests open the direct messages of an app with the agent feature. It does not document whether their mentions in channels arrive: ask a guest to try (docs/slack.md)",
    ),
  ];
}

/** Asks for the state of a channel that does not exist: apps that are no agents are refused for another reason. */
async function checkAgent(api: SlackApi): Promise<Finding[]> {
  const nowhere = { channel_id: "C00000000", thread_ts: "1.000001", status: "active" };
  try {
    await api.call("agents.sessions.setStatus", nowhere, z.unknown(), { maxRetryMs });
  } catch (thrown) {
    const advice = `${messageOf(thrown)} Slack does not treat this app as an agent, so threads show no stop button, and from February 2027 not even a text: ${moveAdvice}`;
    return saysNoAgent(thrown) ? [warning(advice)] : [];
  }
  return [];
}

async function checkHistory(api: SlackApi): Promise<Finding[]> {
  if ((await hasHistoryLimit(api)) !== true) return [];
  return [
    warning(
      "Slack lets this app read only 15 messages of a channel or thread, once a minute, because it is distributed outside the Slack Marketplace. So Remora knows little of what was said before a mention. An app that is created in your own workspace and not distributed has no such limit (docs/slack.md)",
    ),
  ];
}

async function checkAppToken(access: Access, signal: AbortSignal): Promise<Finding[]> {
  const appToken = access.transport.type === "socket" ? access.transport.appToken : "";
  if (!appToken.startsWith("xapp-"))
    return [
      error("SLACK_APP_TOKEN is not an app token. It must start with xapp- (Basic Information → App-Level Tokens)"),
    ];
  try {
    await apiFor(appToken, access, signal).call("apps.connections.open", {}, openedSchema, { maxRetryMs });
    return [ok("SLACK_APP_TOKEN opens connections (Socket Mode)")];
  } catch (thrown) {
    const needed = isAnswer(thrown) ? " It needs the scope connections:write, and Socket Mode turned on." : "";
    return [error(`SLACK_APP_TOKEN: ${messageOf(thrown)}${needed}`)];
  }
}

async function checkUserToken(access: Access, signal: AbortSignal): Promise<Finding[]> {
  if (access.userToken === undefined) return [];
  const query = { query: "remora", count: 1 };
  try {
    await apiFor(access.userToken, access, signal).call("search.messages", query, z.unknown(), { maxRetryMs });
    return [ok("SLACK_USER_TOKEN searches messages")];
  } catch (thrown) {
    const needed = isAnswer(thrown) ? " It must be a user token (xoxp-…) with the scope search:read." : "";
    return [warning(`SLACK_USER_TOKEN: ${messageOf(thrown)}${needed} Until it works, nothing is searched with it.`)];
  }
}

/** Only an answer of Slack says something about a token. */
function isAnswer(thrown: unknown): boolean {
  return !(thrown instanceof RemoraError && thrown.isRetryable);
}

function checkSecret({ transport }: Access): Finding[] {
  const secret = transport.type === "http" ? transport.signingSecret : "";
  if (/^[0-9a-f]{32}$/.test(secret)) return [ok("SLACK_SIGNING_SECRET has the right form (HTTP)")];
  return [
    warning(
      "SLACK_SIGNING_SECRET does not have the right form: 32 hex digits, from Basic Information → App Credentials",
    ),
  ];
}

function checkClock(api: SlackApi, { transport }: Access): Finding[] {
  const skewMs = api.clockSkewMs();
  const text = clockText(skewMs);
  if (text === undefined) return skewMs === undefined ? [] : [ok("this machine's clock agrees with Slack's")];
  return [transport.type === "http" ? error(text) : warning(text)];
}
