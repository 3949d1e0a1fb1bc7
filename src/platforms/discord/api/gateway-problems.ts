/** Gateway failures that only a person can fix, and where to fix them. */
import { DiscordAPIError, DiscordjsError, DiscordjsErrorCodes, GatewayCloseCodes } from "discord.js";
import { messageOf, RemoraError } from "../../../lib/errors.ts";

const portal = "discord.com/developers/applications";

export function fatalProblem(thrown: unknown): RemoraError | undefined {
  if (thrown instanceof RemoraError && fatalCodes.has(thrown.code)) return thrown;
  switch (reasonOf(thrown)) {
    case "token":
      return problem(
        "discord.token",
        "DISCORD_TOKEN",
        `Discord rejected the token. Open ${portal}, choose your application, then Bot > Reset Token, and set DISCORD_TOKEN to the new one`,
        thrown,
      );
    case "intents":
      return problem(
        "discord.intents",
        "platform discord",
        `the Message Content Intent is off. Open ${portal}, choose your application, then Bot > Privileged Gateway Intents, and turn on Message Content Intent. Then restart Remora`,
        thrown,
      );
    case "sharding":
      return problem(
        "discord.sharding",
        "discord.shards",
        "Discord requires more shards for this many servers. Set discord.shards to auto",
        thrown,
      );
    case "sessions":
      return problem(
        "discord.sessions",
        "platform discord",
        `this bot has used up Discord's daily limit of connections: ${messageOf(thrown)}. Wait until it resets, and find out what restarts Remora so often`,
        thrown,
      );
    default:
      return undefined;
  }
}

const fatalCodes = new Set(["discord.token", "discord.intents", "discord.sharding", "discord.sessions"]);

type Reason = "token" | "intents" | "sharding" | "sessions";

function reasonOf(thrown: unknown): Reason | undefined {
  const code = typeof thrown === "object" && thrown !== null && "code" in thrown ? thrown.code : undefined;
  if (thrown instanceof DiscordjsError && code === DiscordjsErrorCodes.TokenInvalid) return "token";
  if (thrown instanceof DiscordAPIError) return thrown.status === 401 ? "token" : undefined;
  if (code === GatewayCloseCodes.AuthenticationFailed) return "token";
  if (code === GatewayCloseCodes.DisallowedIntents || code === GatewayCloseCodes.InvalidIntents) return "intents";
  if (code === GatewayCloseCodes.ShardingRequired || code === GatewayCloseCodes.InvalidShard) return "sharding";
  const words = messageOf(thrown);
  if (words === "Authentication failed") return "token";
  if (words === "Used disallowed intents" || words === "Used invalid intents") return "intents";
  if (words === "Sharding is required" || words === "Invalid shard") return "sharding";
  return words.startsWith("Not enough sessions remaining") ? "sessions" : undefined;
}

function problem(code: string, place: string, message: string, cause: unknown): RemoraError {
  return new RemoraError({ code, place, message, cause });
}
