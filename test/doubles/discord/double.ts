/**
 * Discord on 127.0.0.1: REST v10, Gateway v10 and the files' CDN on one free port, for the real discord.js client.
 *
 *     const discord = await createDiscordDouble();
 *     const client = new Client({ intents: [...], rest: { api: discord.apiUrl } });      // DISCORD_API_URL
 *     await client.login(discord.token);
 *
 *     const { ann, ben, channel, guild } = discord;                     // two people in a guild with a channel
 *     const said = ann.say("@Remora hello", { in: channel });           // "dm", a thread or a channel
 *     const answer = await discord.until(() => channel.messages().find((message) => message.replyTo === said.id));
 *     const click = ben.click(answer, "Approve");                       // label or custom id
 *     await discord.until(() => click.state() === "answered");
 *     ben.submit(click, { reason: "because" });                         // a modal that the click opened
 *     ann.slash("remora status", { in: "dm" });                         // only what is registered
 *     answer.pings, answer.previews, answer.buttons, answer.files, ben.sees(channel)
 *
 *     discord.gateway.cut();                                            // also close, silence, refuse, invalidate
 *     discord.fail({ route: "messages.create" }, { type: "cut", when: "during" });
 *     discord.limits.set("messages.create", { requests: 2, windowMs: 1000 });
 *     discord.clock.advance(15 * 60_000);                               // deadlines and tokens expire by this clock
 *     discord.requests.filter((request) => request.code === 50035);
 *     await discord.stop();
 *
 * Limits, permissions, intents and error codes are Discord's own, so the service would refuse what it refuses.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { APIApplicationCommand } from "discord.js";
import { serveFile } from "./cdn.ts";
import { type Clock, createClock } from "./clock.ts";
import { announceGuild } from "./events.ts";
import { createFaults, type Fault, type FaultRule, type InjectedFault } from "./faults.ts";
import { createGateway, type Gateway, type GatewaySettings } from "./gateway.ts";
import { channelAt, idOf, type MessageRef, type Ref } from "./handles.ts";
import type { Person } from "./people.ts";
import { type ChannelHandle, createChannelHandle, createGuildHandle, type GuildHandle } from "./places.ts";
import { newGuild, newPerson, populate } from "./populate.ts";
import { createRateLimits, type RateLimits, type RouteLimits } from "./rate-limits.ts";
import type { LoggedRequest } from "./request-log.ts";
import { createRest } from "./rest.ts";
import { createRouter } from "./router.ts";
import { applicationRoutes } from "./routes-application.ts";
import { commandRoutes } from "./routes-commands.ts";
import { guildRoutes } from "./routes-guilds.ts";
import { interactionRoutes } from "./routes-interactions.ts";
import { messageRoutes } from "./routes-messages.ts";
import { reactionRoutes } from "./routes-reactions.ts";
import { searchRoutes } from "./routes-search.ts";
import { threadMemberRoutes } from "./routes-thread-members.ts";
import { threadRoutes } from "./routes-threads.ts";
import { createWaits, type Waits } from "./until.ts";
import { type SeenMessage, seen } from "./view.ts";
import { createWorld, type FileFault, type Portal, type World } from "./world.ts";

export interface DiscordDoubleOptions {
  now?: () => number;
  botName?: string;
  /** Privileged intents switched on in the developer portal; by default message content alone. */
  portal?: Partial<Portal>;
  /**
   * Rate limits by route name, `global`, and `default` for routes without their own; the rest as on Discord. `none` turns them
   * off, for tests that must not wait.
   */
  limits?: RouteLimits | "none";
  gateway?: Partial<GatewaySettings>;
  /** The host in all addresses that it gives; a test's proxy knows it. By default 127.0.0.1. */
  host?: string;
}

export interface DiscordDouble {
  url: string;
  /** For `rest.api` of the client. */
  apiUrl: string;
  token: string;
  bot: { id: string; mention: string };
  clock: Clock;
  gateway: Gateway;
  limits: Pick<RateLimits, "set">;
  /** Every request to the REST API, oldest first. */
  requests: LoggedRequest[];
  portal: Portal;
  /** By guild: how many more searches find that its index is being built. */
  searchIndex: Map<string, number>;
  /** The first guild with its channel, and two of its people; its owner is somebody else. */
  guild: GuildHandle;
  channel: ChannelHandle;
  ann: Person;
  ben: Person;
  addGuild(name: string): GuildHandle;
  /** A member of these guilds; by default of the first. */
  addPerson(name: string, options?: { guilds?: Ref[]; isBot?: boolean }): Person;
  /** A channel or thread that was not made by the test. */
  channelOf(ref: Ref): ChannelHandle;
  /** A message as everybody sees it now; undefined once it is deleted. */
  message(ref: MessageRef): SeenMessage | undefined;
  /** The registered commands: global ones, or a guild's. */
  commands(guild?: Ref): APIApplicationCommand[];
  fail(rule: FaultRule, fault: Fault): InjectedFault;
  failNextFile(...faults: FileFault[]): void;
  until: Waits["until"];
  /** Invalidates the old token; connections stay open until cut. */
  resetToken(): string;
  stop(): Promise<void>;
}

const defaultGateway: GatewaySettings = {
  heartbeatMs: 41_250,
  maxConcurrency: 1,
  enforcesConcurrency: false,
  sessionsLeft: 1000,
  recommendedShards: 1,
  requiredShards: 1,
};

export async function createDiscordDouble(options: DiscordDoubleOptions = {}): Promise<DiscordDouble> {
  const clock = createClock(options.now);
  const world = createWorld(clock, {
    name: options.botName ?? "Remora",
    token: tokenFor(clock),
    portal: { messageContent: true, guildMembers: false, presence: false, ...options.portal },
  });
  const faults = createFaults();
  const limits = createRateLimits(clock, options.limits ?? {});
  const settings = { ...defaultGateway, ...options.gateway };
  const routes = [
    ...applicationRoutes(settings),
    ...guildRoutes,
    ...searchRoutes,
    ...messageRoutes,
    ...reactionRoutes,
    ...threadRoutes,
    ...threadMemberRoutes,
    ...commandRoutes,
    ...interactionRoutes,
  ];
  const rest = createRest(world, createRouter(routes), limits, faults);
  const waits = createWaits(() => describe(rest.requests));
  world.changed = waits.changed;
  const server = createServer((request, response) => void answer(world, rest, request, response));
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  world.url = `http://${options.host ?? "127.0.0.1"}:${(server.address() as AddressInfo).port}`;
  const gateway = createGateway(world, server, settings);
  const { owner, ...start } = populate(world);
  const botId = world.application.id;

  return {
    url: world.url,
    apiUrl: `${world.url}/api`,
    get token() {
      return world.application.token;
    },
    bot: { id: botId, mention: `<@${botId}>` },
    clock,
    gateway,
    limits,
    requests: rest.requests,
    portal: world.application.portal,
    searchIndex: world.searchIndex,
    ...start,
    addGuild(name) {
      const guild = newGuild(world, name, owner.id);
      announceGuild(world, guild);
      return createGuildHandle(world, guild);
    },
    addPerson(name, { guilds = [start.guild], isBot = false } = {}) {
      const person = newPerson(world, name, isBot);
      for (const guild of guilds) person.join(guild);
      return person;
    },
    channelOf: (ref) => createChannelHandle(world, channelAt(world, ref)),
    message(ref) {
      const channel = world.channels.get(ref.channelId);
      const message = channel?.messages.get(ref.id);
      return channel === undefined || message === undefined ? undefined : seen(world, channel, message);
    },
    commands: (guild) => world.application.commands.get(guild === undefined ? "global" : idOf(guild)) ?? [],
    fail: faults.inject,
    failNextFile: (...next) => void world.fileFaults.push(...next),
    until: waits.until,
    resetToken() {
      world.application.token = tokenFor(clock);
      return world.application.token;
    },
    async stop() {
      waits.stop();
      await gateway.stop();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Three parts, as real ones have. */
function tokenFor(clock: Clock): string {
  const part = (text: string) => Buffer.from(text).toString("base64url");
  return `${part("bot")}.${part(String(clock.now()))}.${part(Math.random().toString(36))}`;
}

async function answer(
  world: World,
  rest: ReturnType<typeof createRest>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "/", world.url);
  const version = /^\/api\/v(\d+)(\/.*)$/.exec(url.pathname);
  try {
    if (version?.[1] === "10") await rest.handle(request, response, version[2] ?? "", url.searchParams);
    else if (/^\/(ephemeral-)?attachments\//.test(url.pathname)) serveFile(world, response, url);
    else response.writeHead(404, { "content-type": "application/json" }).end('{"message":"404: Not Found","code":0}');
  } catch (thrown) {
    // The client has gone in the middle of its request.
    if (request.destroyed && !request.complete) return;
    // A mistake of the double: the client gets what it gets from a service in trouble, the test sees the stack.
    response
      .writeHead(500, { "content-type": "application/json" })
      .end('{"message":"500: Internal Server Error","code":0}');
    console.error(thrown);
  }
}

/** The last requests, for the error of a failed wait. */
function describe(requests: LoggedRequest[]): string {
  const lines = requests.slice(-10).map(({ method, path, status, code }) => {
    return `  ${method} ${path} → ${status ?? "no answer"}${code === undefined ? "" : ` (${code})`}`;
  });
  return `the last requests:\n${lines.join("\n") || "  none"}`;
}
