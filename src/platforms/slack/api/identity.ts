/** Finds out whom the token belongs to. Asks Slack once, on first use; a failure is not cached. */
import { z } from "zod";
import type { SlackApi } from "./api.ts";

export interface Identity {
  teamId: string;
  /** The workspace's address, with a slash at its end. */
  url: string;
  team: string;
  userId: string;
  botId: string | undefined;
  name: string;
  scopes: string[] | undefined;
}

export const scopesSchema = z.object({
  response_metadata: z.object({ scopes: z.array(z.string()).optional() }).optional(),
});

const schema = scopesSchema.extend({
  url: z.string().default("https://slack.com/"),
  team_id: z.string(),
  team: z.string().default(""),
  user_id: z.string(),
  user: z.string().default("remora"),
  bot_id: z.string().optional(),
});

export function createIdentity(api: SlackApi): (maxRetryMs?: number) => Promise<Identity> {
  let known: Promise<Identity> | undefined;
  return (maxRetryMs) => {
    known ??= ask(api, maxRetryMs).catch((thrown: unknown) => {
      known = undefined;
      throw thrown;
    });
    return known;
  };
}

async function ask(api: SlackApi, maxRetryMs = 10_000): Promise<Identity> {
  const found = await api.call("auth.test", {}, schema, { maxRetryMs });
  return {
    teamId: found.team_id,
    url: found.url,
    team: found.team,
    userId: found.user_id,
    botId: found.bot_id,
    name: found.user,
    scopes: found.response_metadata?.scopes,
  };
}
