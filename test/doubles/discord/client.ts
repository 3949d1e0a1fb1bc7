/** The real discord.js client on a double, and plain requests for what a client would not send. */
import { Client, type ClientOptions, DefaultRestOptions, GatewayIntentBits, Partials } from "discord.js";
import type { DiscordDouble } from "./double.ts";

const intents = [
  GatewayIntentBits.Guilds,
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.GuildMessageReactions,
  GatewayIntentBits.DirectMessages,
  GatewayIntentBits.MessageContent,
];

/** discord.js rejects files once another test in the process has loaded Slack's library, with its newer undici. */
const makeRequest: typeof DefaultRestOptions.makeRequest = async (url, init) =>
  init.body instanceof FormData ? await fetch(url, init as object) : await DefaultRestOptions.makeRequest(url, init);

export function createClient(discord: DiscordDouble, options: Partial<ClientOptions> = {}): Client<true> {
  return new Client({
    intents,
    partials: [Partials.Channel, Partials.Message, Partials.Reaction],
    ...options,
    rest: { api: discord.apiUrl, makeRequest, ...options.rest },
  });
}

/** A client that is connected and knows its guilds. */
export async function connect(discord: DiscordDouble, options: Partial<ClientOptions> = {}): Promise<Client<true>> {
  const client = createClient(discord, options);
  const ready = new Promise((resolve) => client.once("clientReady", resolve));
  await client.login(discord.token);
  await ready;
  return client;
}

export interface ApiAnswer {
  status: number;
  headers: Headers;
  body: {
    id: string;
    code: number;
    message: string;
    errors: unknown;
    retry_after: number;
    global: boolean;
    [key: string]: unknown;
  };
}

/** A request as the bot, without a client's own checks and waits. */
export async function call(discord: DiscordDouble, method: string, path: string, body?: unknown): Promise<ApiAnswer> {
  const isForm = body instanceof FormData;
  const type: Record<string, string> = body === undefined || isForm ? {} : { "content-type": "application/json" };
  const sent = body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) };
  const answer = await fetch(`${discord.apiUrl}/v10${path}`, {
    method,
    headers: { authorization: `Bot ${discord.token}`, ...type },
    ...sent,
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text === "" ? {} : JSON.parse(text) };
}
