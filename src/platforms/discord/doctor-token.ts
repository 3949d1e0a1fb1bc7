/** Checks a pasted token of Discord for `init`: the application, its privileged intent, and the servers that it is in. */
import { type APIApplication, type RESTAPIPartialCurrentUserGuild, Routes } from "discord.js";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import { silentLog } from "../../lib/log.ts";
import { cleanToken, tokenFormProblem } from "../../lib/text/clean-token.ts";
import { sentence } from "../../lib/text/sentence.ts";
import { withoutPlace } from "../../lib/text/without-place.ts";
import type { CheckProblem, CheckResult } from "../../ports/check.ts";
import { createDiscordApi } from "./api/api.ts";
import { fatalProblem } from "./api/gateway-problems.ts";
import { hasContentIntent } from "./doctor.ts";

export interface DiscordFacts {
  token: string;
  applicationId: string;
  name: string;
  /** The person who registered the application; undefined if a team owns it. */
  owner: { id: string; name: string } | undefined;
  /** At most 200. */
  servers: { id: string; name: string }[];
}

const botPage = "discord.com/developers/applications → your application → Bot";
const maxCheckMs = 15_000;

export async function checkToken(
  pasted: string,
  { apiUrl, signal = AbortSignal.timeout(maxCheckMs) }: { apiUrl: string | undefined; signal?: AbortSignal },
): Promise<CheckResult<DiscordFacts>> {
  const token = cleanToken(pasted).replace(/^Bot\s+/i, "");
  const wrong = formProblem(token);
  if (wrong !== undefined) return problem("discord.form", wrong, `Open ${botPage}, click Reset Token, and copy it.`);
  const api = createDiscordApi({ token, log: silentLog, ...(apiUrl === undefined ? {} : { apiUrl }) });
  const get = <T>(route: `/${string}`) => api.request<T>({ method: "GET", route, retry: "brief", signal });
  try {
    const application = await get<APIApplication>(Routes.currentApplication());
    const { id: applicationId, name } = application;
    if (!hasContentIntent(application))
      return problem(
        "discord.intents",
        `The Message Content Intent of ${name} is off, so Discord refuses its connection.`,
        `Open ${botPage} → Privileged Gateway Intents, turn on Message Content Intent, and click Save Changes.`,
      );
    const servers = await get<RESTAPIPartialCurrentUserGuild[]>(Routes.userGuilds());
    return { ok: true, token, applicationId, name, owner: ownerOf(application), servers };
  } catch (thrown) {
    return refusal(thrown);
  } finally {
    api.close();
  }
}

function formProblem(token: string): string | undefined {
  if (token === "") return "There is no token.";
  const wrong = tokenFormProblem(token);
  if (wrong !== undefined) return `The token ${wrong}.`;
  if (/^xox|^xapp-/.test(token)) return "This is a Slack token, not a Discord token.";
  if (/^\d{15,21}$/.test(token)) return "This is an id, not the bot's token.";
  if (/^[0-9a-f]{64}$/.test(token)) return "This is the application's public key, not the bot's token.";
  if (token.split(".").length !== 3)
    return "A bot's token has three parts with dots between them. This may be the client secret.";
  return undefined;
}

function ownerOf({ owner, team }: APIApplication): DiscordFacts["owner"] {
  if (team || owner === undefined) return undefined;
  return { id: owner.id, name: owner.global_name ?? owner.username };
}

function refusal(thrown: unknown): CheckProblem {
  const known = fatalProblem(thrown);
  if (known?.code === "discord.token")
    return problem(
      known.code,
      "Discord does not accept this token. It was reset, or it is not complete.",
      `Open ${botPage}, click Reset Token, and use the new token.`,
    );
  const code = thrown instanceof RemoraError ? thrown.code : "discord.unreachable";
  return problem(code, "Discord can't be reached, or refuses to answer.", sentence(withoutPlace(messageOf(thrown))));
}

function problem(code: string, text: string, fix: string): CheckProblem {
  return { ok: false, code, problem: text, fix };
}
