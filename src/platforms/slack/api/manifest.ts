/** Reads `slack/manifest.yaml`, the app's definition for Slack. */
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { z } from "zod";

export interface Manifest {
  botScopes: string[];
  botEvents: string[];
}

const schema = z.object({
  oauth_config: z.object({ scopes: z.object({ bot: z.array(z.string()) }) }),
  settings: z.object({ event_subscriptions: z.object({ bot_events: z.array(z.string()) }) }),
});

/** What to do about scopes that the app lacks. */
export const scopesAdvice =
  "add them under OAuth & Permissions → Scopes, or paste slack/manifest.yaml under App Manifest; then Install App";

/** Everything else works without it, so older installations need not add it. */
export const searchScope = "search:read.public";

/** Scopes of the manifest that are needed and not among these. Undefined if the manifest can't be read. */
export async function missingScopes(scopes: readonly string[]): Promise<string[] | undefined> {
  const manifest = await readManifest().catch(() => undefined);
  return manifest?.botScopes.filter((scope) => scope !== searchScope && !scopes.includes(scope));
}

export async function readManifest(): Promise<Manifest> {
  const text = await readFile(new URL("../../../../slack/manifest.yaml", import.meta.url), "utf8");
  const { oauth_config: oauth, settings } = schema.parse(parse(text));
  return { botScopes: oauth.scopes.bot, botEvents: settings.event_subscriptions.bot_events };
}
