/** Checks pasted tokens of Slack for `init`. What can't be the right token is not sent. */
import { z } from "zod";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import { silentLog } from "../../lib/log.ts";
import { cleanToken, tokenFormProblem } from "../../lib/text/clean-token.ts";
import { sentence } from "../../lib/text/sentence.ts";
import { withoutPlace } from "../../lib/text/without-place.ts";
import type { CheckProblem, CheckResult } from "../../ports/check.ts";
import { createSlackApi, type SlackApi } from "./api/api.ts";
import { isSlackError } from "./api/api-problems.ts";
import { createIdentity } from "./api/identity.ts";
import { missingScopes } from "./api/manifest.ts";

export interface SlackPlace {
  apiUrl: string | undefined;
  signal?: AbortSignal;
}

interface TokenKind {
  prefix: string;
  name: string;
  /** The pages on which Slack shows it. */
  page: string;
  /** The token that is mistaken for it. */
  other: { prefix: string; name: string };
}

const botKind: TokenKind = {
  ...{ prefix: "xoxb-", name: "bot token", other: { prefix: "xapp-", name: "app token" } },
  page: "Install App → Bot User OAuth Token",
};
const appKind: TokenKind = {
  ...{ prefix: "xapp-", name: "app token", other: { prefix: "xoxb-", name: "bot token" } },
  page: "Basic Information → App-Level Tokens. If there is none, generate one with the scope connections:write",
};

const maxCheckMs = 15_000;
const maxRetryMs = 2_000;
const botSchema = z.object({ bot: z.object({ app_id: z.string() }) });

export interface SlackBotFacts {
  token: string;
  botName: string;
  team: string;
  /** Undefined if Slack does not say. */
  appId: string | undefined;
}

export async function checkBotToken(pasted: string, place: SlackPlace): Promise<CheckResult<SlackBotFacts>> {
  return await checked(botKind, pasted, place, async (api, token) => {
    const { name: botName, team, botId, scopes } = await createIdentity(api)(maxRetryMs);
    const missing = scopes === undefined ? [] : ((await missingScopes(scopes)) ?? []);
    if (missing.length > 0) return lackedScopes(missing);
    // Without an answer, the two tokens are not compared.
    const bot = await api.call("bots.info", { bot: botId }, botSchema, { maxRetryMs }).catch(() => undefined);
    return { ok: true, token, botName, team, appId: bot?.bot.app_id };
  });
}

/** `appId` is that of the bot token. */
export async function checkAppToken(
  pasted: string,
  appId: string | undefined,
  place: SlackPlace,
): Promise<CheckResult<{ token: string }>> {
  return await checked(appKind, pasted, place, async (api, token) => {
    const own = /^xapp-\d+-(A[A-Z0-9]+)-/.exec(token)?.[1];
    if (own !== undefined && appId !== undefined && own !== appId)
      return problem(
        "slack.two-apps",
        `The bot token belongs to the app ${appId}, and the app token to the app ${own}.`,
        "Copy both tokens from the same app's pages.",
      );
    await api.call("apps.connections.open", {}, z.unknown(), { maxRetryMs });
    return { ok: true, token };
  });
}

async function checked<Facts>(
  kind: TokenKind,
  pasted: string,
  { apiUrl, signal = AbortSignal.timeout(maxCheckMs) }: SlackPlace,
  ask: (api: SlackApi, token: string) => Promise<CheckResult<Facts>>,
): Promise<CheckResult<Facts>> {
  const token = cleanToken(pasted);
  const wrong = formProblem(token, kind);
  if (wrong !== undefined) return wrong;
  const where = apiUrl === undefined ? {} : { apiUrl };
  try {
    return await ask(createSlackApi({ token, ...where, onProblem: () => {}, log: silentLog, signal }), token);
  } catch (thrown) {
    return refusal(thrown, kind);
  }
}

function formProblem(token: string, { prefix, name, page, other }: TokenKind): CheckProblem | undefined {
  const wrong = (code: string, text: string) =>
    problem(`slack.${code}`, text, `Copy the token that begins with ${prefix} from ${page}.`);
  if (token === "") return wrong("empty", `There is no ${name}.`);
  const unusual = tokenFormProblem(token);
  if (unusual !== undefined) return wrong("form", `The ${name} ${unusual}.`);
  if (token.startsWith(other.prefix))
    return wrong(
      "swapped",
      `This is the ${other.name} (${other.prefix}…), but the ${name} (${prefix}…) is needed here.`,
    );
  if (token.startsWith("xoxp-")) return wrong("form", `This is a person's token (xoxp-…), not the ${name}.`);
  if (/^xoxe[.-]/.test(token)) return wrong("form", `This token is for configuration or rotation, not the ${name}.`);
  if (/^[0-9a-f]{32}$/.test(token)) return wrong("form", "This is the app's signing or client secret.");
  return token.startsWith(prefix) ? undefined : wrong("form", `A ${name} begins with ${prefix}, and this does not.`);
}

function lackedScopes(missing: string[]): CheckProblem {
  const [noun, those] = missing.length === 1 ? ["scope", "it"] : ["scopes", "them"];
  return problem(
    "slack.missing-scopes",
    `The bot token lacks the ${noun} ${missing.join(", ")}.`,
    `Add ${those} under OAuth & Permissions → Scopes → Bot Token Scopes, or paste slack/manifest.yaml under App Manifest. Then click Reinstall under Install App.`,
  );
}

function refusal(thrown: unknown, { name, page }: TokenKind): CheckProblem {
  if (isSlackError(thrown, "missing_scope"))
    return problem(
      "slack.missing-scopes",
      `The ${name} lacks the scope connections:write.`,
      `Open ${page.split(".")[0]}, generate a new token with the scope connections:write, and use that one.`,
    );
  const { code, isRetryable } =
    thrown instanceof RemoraError ? thrown : { code: "slack.bad-answer", isRetryable: false };
  return problem(
    code,
    isRetryable ? "Slack can't be reached." : `Slack does not accept this ${name}.`,
    sentence(withoutPlace(messageOf(thrown))),
  );
}

function problem(code: string, text: string, fix: string): CheckProblem {
  return { ok: false, code, problem: text, fix };
}
