/**
 * Checks Slack's tokens by calling the API:
 *
 *   bot token   its form, `auth.test`, and the scopes that Slack names in the answer's header
 *   app token   its form, and `apps.connections.open`, which needs connections:write
 *   both        that they belong to the same app, if Slack says so
 *
 * No method tells a bot which events its app gets. Only a message that arrives proves them.
 */
import { cleanToken } from "../lib/text/clean-token.ts";
import type { CheckProblem, CheckResult } from "../ports/check.ts";
import { type CheckOptions, fetchJson, problem } from "./check-result.ts";

export interface SlackCheckOptions extends CheckOptions {
  /** Another address of the API, with a slash at its end, as in SLACK_API_URL. */
  apiUrl?: string | undefined;
}

export interface SlackBotFacts {
  token: string;
  botName: string;
  botUserId: string;
  team: string;
  teamId: string;
  /** Undefined if Slack does not say. */
  appId: string | undefined;
  /** Undefined if Slack does not name them. */
  scopes: string[] | undefined;
}

const defaultApiUrl = "https://slack.com/api/";
const service = { name: "Slack", setting: "SLACK_API_URL", code: "slack" };
const botPlace = "Install App → Bot User OAuth Token";
const appPlace = "Basic Information → App-Level Tokens";

/** `neededScopes` are those of slack/manifest.yaml. */
export async function checkSlackBotToken(
  pasted: string,
  { neededScopes, ...options }: SlackCheckOptions & { neededScopes: readonly string[] },
): Promise<CheckResult<SlackBotFacts>> {
  const token = cleanToken(pasted);
  const wrong = botFormProblem(token);
  if (wrong !== undefined) return wrong;
  const called = await call("auth.test", token, options);
  if (!called.ok) return called;
  const { response, body } = called;
  if (body.ok !== true) return refusal(String(body.error), "bot token", botPlace);
  const header = response.headers.get("x-oauth-scopes");
  const scopes =
    header === null
      ? undefined
      : header
          .split(",")
          .map((scope) => scope.trim())
          .filter((scope) => scope !== "");
  const missing = scopes === undefined ? [] : neededScopes.filter((scope) => !scopes.includes(scope));
  if (missing.length > 0) return missingScopes(missing);
  return {
    ok: true,
    token,
    botName: String(body.user ?? ""),
    botUserId: String(body.user_id ?? ""),
    team: String(body.team ?? ""),
    teamId: String(body.team_id ?? ""),
    appId: await appOf(String(body.bot_id ?? ""), token, options),
    scopes,
  };
}

export async function checkSlackAppToken(
  pasted: string,
  { appId, ...options }: SlackCheckOptions & { appId?: string | undefined },
): Promise<CheckResult<{ token: string; appId: string | undefined }>> {
  const token = cleanToken(pasted);
  const wrong = appFormProblem(token);
  if (wrong !== undefined) return wrong;
  const own = /^xapp-\d+-(A[A-Z0-9]+)-/.exec(token)?.[1];
  if (own !== undefined && appId !== undefined && own !== appId)
    return problem(
      "slack.two-apps",
      `The bot token belongs to the app ${appId}, and the app token to the app ${own}.`,
      "Copy both tokens from the same app's pages.",
    );
  const called = await call("apps.connections.open", token, options);
  if (!called.ok) return called;
  const { body } = called;
  if (body.ok === true) return { ok: true, token, appId: own };
  if (body.error === "missing_scope")
    return problem(
      "slack.missing-scopes",
      "The app token lacks the scope connections:write.",
      `Open ${appPlace}, generate a new token with the scope connections:write, and use that one.`,
    );
  return refusal(String(body.error), "app token", appPlace);
}

function botFormProblem(token: string): CheckProblem | undefined {
  const fix = `Copy the token that begins with xoxb- from ${botPlace}.`;
  if (token === "") return problem("slack.empty", "There is no bot token.", fix);
  if (token.startsWith("xapp-"))
    return problem("slack.swapped", "This is the app token (xapp-…), but the bot token (xoxb-…) is needed here.", fix);
  return formProblem(token, "xoxb-", "bot token", fix);
}

function appFormProblem(token: string): CheckProblem | undefined {
  const fix = `Copy the token that begins with xapp- from ${appPlace}. If there is none, generate one with the scope connections:write.`;
  if (token === "") return problem("slack.empty", "There is no app token.", fix);
  if (token.startsWith("xoxb-"))
    return problem("slack.swapped", "This is the bot token (xoxb-…), but the app token (xapp-…) is needed here.", fix);
  return formProblem(token, "xapp-", "app token", fix);
}

function formProblem(token: string, prefix: string, name: string, fix: string): CheckProblem | undefined {
  if (/\s/.test(token))
    return problem(
      "slack.form",
      `There is a space or a line break inside the ${name}.`,
      `Paste it as one line. ${fix}`,
    );
  if (/[^\x21-\x7e]/.test(token)) return problem("slack.form", `The ${name} has characters that no token has.`, fix);
  const other = otherKind(token);
  if (other !== undefined) return problem("slack.form", `This is ${other}, not the ${name} (${prefix}…).`, fix);
  if (!token.startsWith(prefix))
    return problem("slack.form", `A ${name} begins with ${prefix}, and this does not.`, fix);
  return undefined;
}

function otherKind(token: string): string | undefined {
  if (token.startsWith("xoxp-")) return "a person's token (xoxp-…)";
  if (/^xoxe[.-]/.test(token)) return "a token for configuration or rotation (xoxe…)";
  if (/^[0-9a-f]{32}$/.test(token)) return "the app's signing or client secret";
  return undefined;
}

function missingScopes(missing: string[]): CheckProblem {
  const [noun, those] = missing.length === 1 ? ["scope", "it"] : ["scopes", "them"];
  return problem(
    "slack.missing-scopes",
    `The bot token lacks the ${noun} ${missing.join(", ")}.`,
    `Add ${those} under OAuth & Permissions → Scopes → Bot Token Scopes, or paste slack/manifest.yaml under App Manifest. Then click Reinstall under Install App.`,
  );
}

function refusal(error: string, name: string, place: string): CheckProblem {
  const code = `slack.${error}`;
  const again = `Copy it again from ${place}.`;
  switch (error) {
    case "invalid_auth":
    case "not_authed":
      return problem(code, `Slack does not know this ${name} (${error}).`, again);
    case "token_revoked":
      return problem(code, `This ${name} was revoked.`, `Install the app again under Install App. ${again}`);
    case "account_inactive":
      return problem(code, "The app was removed from the workspace.", `Install it again under Install App. ${again}`);
    case "token_expired":
      return problem(code, `This ${name} has expired.`, "Turn off token rotation for the app, and install it again.");
    case "not_allowed_token_type":
      return problem(code, `Slack does not accept this token as ${name}.`, again);
    case "ratelimited":
      return problem(code, "Slack has had too many calls and asks to wait.", "Try again in a minute.");
    default:
      return problem(code, `Slack refused the ${name} (${error.replaceAll(/[^\w.-]/g, "").slice(0, 60)}).`, again);
  }
}

/** Without an answer, the two tokens are not compared. */
async function appOf(botId: string, token: string, options: SlackCheckOptions): Promise<string | undefined> {
  if (botId === "") return undefined;
  const called = await call("bots.info", token, options, { bot: botId });
  const bot = called.ok && called.body.ok === true ? called.body.bot : undefined;
  if (typeof bot !== "object" || bot === null || !("app_id" in bot)) return undefined;
  return typeof bot.app_id === "string" ? bot.app_id : undefined;
}

function call(method: string, token: string, options: SlackCheckOptions, values: Record<string, string> = {}) {
  const init = {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(values).toString(),
  };
  return fetchJson(service, new URL(method, options.apiUrl ?? defaultApiUrl).href, init, options);
}
