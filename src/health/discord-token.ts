/**
 * Checks a Discord token by calling the API: its form, the application that it belongs to, the privileged intents that
 * are switched on, and the servers that the bot is in.
 */
import { cleanToken } from "../lib/text/clean-token.ts";
import type { CheckProblem, CheckResult } from "../ports/check.ts";
import { type CheckOptions, fetchJson, problem } from "./check-result.ts";

export interface DiscordCheckOptions extends CheckOptions {
  /** Another address of the API, without its version, as in DISCORD_API_URL. */
  apiUrl?: string | undefined;
}

export interface DiscordFacts {
  token: string;
  applicationId: string;
  name: string;
  /** The person who registered the application; undefined if a team owns it. */
  owner: { id: string; name: string } | undefined;
  /** Only the first is needed. */
  intents: { messageContent: boolean; members: boolean };
  /** At most 200. */
  servers: { id: string; name: string }[];
}

const service = { name: "Discord", setting: "DISCORD_API_URL", code: "discord" };
const defaultApiUrl = "https://discord.com/api";
const apiVersion = "v10";
/** Flags of an application, from discord.com/developers/docs/resources/application: each intent, and its limited form. */
const membersFlags = (1 << 14) | (1 << 15);
const messageContentFlags = (1 << 18) | (1 << 19);
const botPage = "discord.com/developers/applications → your application → Bot";

export async function checkDiscordToken(
  pasted: string,
  options: DiscordCheckOptions = {},
): Promise<CheckResult<DiscordFacts>> {
  const token = cleanToken(pasted).replace(/^Bot\s+/i, "");
  const wrong = formProblem(token);
  if (wrong !== undefined) return wrong;
  const asked = await get("applications/@me", token, options);
  if (!asked.ok) return asked;
  const application = asked.body;
  const flags = typeof application.flags === "number" ? application.flags : 0;
  const intents = { messageContent: (flags & messageContentFlags) !== 0, members: (flags & membersFlags) !== 0 };
  if (!intents.messageContent)
    return problem(
      "discord.intents",
      `The Message Content Intent of ${nameOf(application)} is off, so Discord refuses its connection.`,
      `Open ${botPage} → Privileged Gateway Intents, turn on Message Content Intent, and click Save Changes.`,
    );
  const servers = await serversOf(token, options);
  if (!servers.ok) return servers;
  return {
    ok: true,
    token,
    applicationId: String(application.id ?? ""),
    name: nameOf(application),
    owner: ownerOf(application),
    intents,
    servers: servers.list,
  };
}

function formProblem(token: string): CheckProblem | undefined {
  const fix = `Open ${botPage}, click Reset Token, and copy the token that appears.`;
  if (token === "") return problem("discord.empty", "There is no token.", fix);
  if (/\s/.test(token))
    return problem(
      "discord.form",
      "There is a space or a line break inside the token.",
      `Paste it as one line. ${fix}`,
    );
  if (/[^\x21-\x7e]/.test(token)) return problem("discord.form", "The token has characters that no token has.", fix);
  if (/^xox|^xapp-/.test(token)) return problem("discord.form", "This is a Slack token, not a Discord token.", fix);
  if (/^\d{15,21}$/.test(token)) return problem("discord.form", "This is an id, not the bot's token.", fix);
  if (/^[0-9a-f]{64}$/.test(token))
    return problem("discord.form", "This is the application's public key, not the bot's token.", fix);
  if (token.split(".").length !== 3)
    return problem(
      "discord.form",
      "A bot's token has three parts with dots between them. This may be the client secret.",
      fix,
    );
  return undefined;
}

async function serversOf(
  token: string,
  options: DiscordCheckOptions,
): Promise<CheckResult<{ list: DiscordFacts["servers"] }>> {
  const asked = await get("users/@me/guilds", token, options);
  if (!asked.ok) return asked;
  const list = Array.isArray(asked.body.list) ? asked.body.list : [];
  return { ok: true, list: list.map(({ id, name }) => ({ id: String(id), name: String(name) })) };
}

function ownerOf({ owner, team }: Record<string, unknown>): DiscordFacts["owner"] {
  if (typeof team === "object" && team !== null) return undefined;
  if (typeof owner !== "object" || owner === null || !("id" in owner)) return undefined;
  const { global_name: shown, username } = owner as { global_name?: unknown; username?: unknown };
  return { id: String(owner.id), name: String(shown ?? username ?? owner.id) };
}

function nameOf({ name }: Record<string, unknown>): string {
  return typeof name === "string" && name !== "" ? name : "the application";
}

/** A list is returned as `list`. */
async function get(
  path: string,
  token: string,
  options: DiscordCheckOptions,
): Promise<CheckResult<{ body: Record<string, unknown> }>> {
  const { fetch = globalThis.fetch } = options;
  const asObject: typeof globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init);
    const body: unknown = await response.json().catch(() => undefined);
    const known = Array.isArray(body) ? { list: body } : body;
    return new Response(JSON.stringify(known ?? null), { status: response.status });
  };
  const url = `${(options.apiUrl ?? defaultApiUrl).replace(/\/$/, "")}/${apiVersion}/${path}`;
  const init = { headers: { authorization: `Bot ${token}` } };
  const answered = await fetchJson(service, url, init, { ...options, fetch: asObject });
  if (!answered.ok) return answered;
  const { response, body } = answered;
  if (response.ok) return { ok: true, body };
  if (response.status === 401)
    return problem(
      "discord.token",
      "Discord does not accept this token. It was reset, or it is not complete.",
      `Open ${botPage}, click Reset Token, and use the new token.`,
    );
  if (response.status === 429)
    return problem(
      "discord.rate-limited",
      "Discord has had too many calls and asks to wait.",
      "Try again in a minute.",
    );
  return problem(
    "discord.refused",
    `Discord answered with HTTP ${response.status}.`,
    response.status >= 500
      ? "Discord may have an outage. Try again later."
      : "Check that the application still exists, and try again.",
  );
}
