/** Discord behind the platform port. Replies need only the REST API, so any process can write them. */
import {
  type APIInteraction,
  GatewayDispatchEvents,
  type GatewayGuildCreateDispatchData,
  type GatewayMessageDeleteBulkDispatchData,
  type GatewayMessageDeleteDispatchData,
  type GatewayMessageReactionAddDispatchData,
  type GatewayMessageReactionRemoveDispatchData,
  Routes,
} from "discord.js";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import type { Events } from "../../ports/events.ts";
import type { InboundMessage, Notice } from "../../ports/message.ts";
import type { Platform, PlatformHandlers } from "../../ports/platform.ts";
import type { RateBudget } from "../../ports/rate-budget.ts";
import type { Store } from "../../ports/store.ts";
import { type CatchUpReport, logReport, reportText } from "../shared/catch-up-report.ts";
import { createFormContents } from "../shared/form-contents.ts";
import { withTimeout } from "../shared/with-timeout.ts";
import { apiForReply, createDiscordApi, discordError } from "./api/api.ts";
import { createChannels } from "./api/channels.ts";
import { createOwnGuilds } from "./api/own-guilds.ts";
import { createOwnId } from "./api/own-id.ts";
import { createPeople } from "./api/people.ts";
import { createGateway, type GatewayOptions } from "./gateway/gateway.ts";
import { createGuildChannels } from "./gateway/guild-channels.ts";
import { createGivenFiles } from "./inbound/attachments.ts";
import { placesOfGuild, placesWithoutGuild } from "./inbound/catch-up.ts";
import { createCursors } from "./inbound/cursors.ts";
import { createEarlier } from "./inbound/earlier.ts";
import { fieldsOf } from "./inbound/fields.ts";
import { createInbound, type Inbound } from "./inbound/inbound.ts";
import { createMissedChanges } from "./inbound/missed-changes.ts";
import { createMissedReactions, type MissedReactions } from "./inbound/missed-reactions.ts";
import { createFileOpener } from "./inbound/open-file.ts";
import { asMessage, type RawMessage } from "./inbound/raw-message.ts";
import { createReactions, type Reactions } from "./inbound/reactions.ts";
import type { InboundContext } from "./inbound/read-message.ts";
import { type CommandHelp, registerCommands } from "./interactions/commands.ts";
import { createInteractions, type Interactions } from "./interactions/interactions.ts";
import { createAcknowledgements } from "./outbound/acknowledgement.ts";
import { createChatAccess } from "./outbound/chat-access.ts";
import { createChatActions } from "./outbound/chat-actions.ts";
import { createMessageSender, type Origin } from "./outbound/message-sender.ts";
import { createMessages, nonceOf } from "./outbound/messages.ts";
import { createOldEdits } from "./outbound/old-edits.ts";
import { createReach } from "./outbound/reach.ts";
import { renderAll } from "./outbound/render.ts";
import { createDiscordReply } from "./outbound/reply.ts";
import { createTypingIndicators } from "./outbound/typing.ts";

export interface DiscordPlatformOptions extends Pick<GatewayOptions, "leases" | "shared"> {
  token: string;
  /** Excludes the version. By default, Discord's own address. */
  apiUrl?: string;
  replyIn: "thread" | "channel";
  /** This emoji is added to every message that will be answered; null adds none. */
  ackReaction: string | null;
  shards: number | "auto";
  store: Store;
  budget?: RateBudget | undefined;
  /** A refused token rejects `connect`. With this, it is tried again, because other services work without Discord. */
  refusedTokenRetryMs?: number | undefined;
  commands(): CommandHelp[];
  isAllowedBot(id: string): boolean;
  events?: Pick<Events, "emit">;
  log: Log;
}

const rightsEvents: readonly string[] = [
  GatewayDispatchEvents.ChannelUpdate,
  GatewayDispatchEvents.GuildRoleUpdate,
  GatewayDispatchEvents.GuildMemberUpdate,
];
const maxOrigins = 2_000;
const maxToldReasons = 1_000;
const maxCloseMs = 2_000;

export function createDiscordPlatform(options: DiscordPlatformOptions): Platform {
  const { store, log, events } = options;
  const refused = Promise.withResolvers<void>();
  let tokenProblem: string | undefined;
  const api = createDiscordApi({
    ...options,
    onToken(problem) {
      if (problem !== undefined && tokenProblem === undefined) log.error({ code: problem.code }, problem.message);
      tokenProblem = problem?.message;
    },
  });
  const oldEdits = createOldEdits();
  const messages = createMessages(api, oldEdits);
  const cursors = createCursors(store, log, api.now);
  const formContents = createFormContents(store, "discord");
  const indicators = createTypingIndicators(api);
  const acknowledgements = createAcknowledgements({ api, indicators, reaction: options.ackReaction, log });
  const origins = createLruMap<Origin>(maxOrigins);
  const told = createLruMap<true>(maxToldReasons);
  const ended = new AbortController();
  let isLost = false;
  let missing: string | undefined;
  let handling:
    | {
        inbound: Inbound;
        interactions: Interactions;
        reactions: Reactions;
        missed: MissedReactions;
        missedChanges: ReturnType<typeof createMissedChanges>;
      }
    | undefined;

  const guildChannels = createGuildChannels();
  const gateway = createGateway({
    ...{ ...options, api },
    async onGained(shard, count) {
      guildChannels.begin(shard, count);
      await cursors.load(shard, count);
    },
    async onReleased(shard) {
      guildChannels.end(shard);
      await cursors.unload(shard);
    },
    onDispatch: dispatch,
    onSession: begin,
    onLost(message) {
      isLost = true;
      events?.emit("platform.disconnected", { platform: "discord", message });
    },
    onResumed: noteReturn,
    onRefused: refused.resolve,
  });
  const channels = createChannels(api, guildChannels);
  const ownId = createOwnId(api, () => gateway.bot()?.id);
  const ownGuilds = createOwnGuilds(api, ownId);
  const people = createPeople(api, ownGuilds.ids);
  const access = createChatAccess(api, ownGuilds.ids);

  async function roleName(guildId: string, roleId: string): Promise<string | undefined> {
    return (await ownGuilds.roles(guildId)).names.get(roleId);
  }

  const givenFiles = createGivenFiles(store);
  const context: InboundContext = {
    ...{ channels, people, replyIn: options.replyIn, isAllowedBot: options.isAllowedBot },
    botId: () => gateway.bot()?.id ?? "",
    roles: ownGuilds.roles,
    isOwnThread: (threadId) => cursors.isOwn(threadId),
    givenFiles: givenFiles.of,
  };

  function dispatch(type: string, data: unknown, shard: number): Promise<unknown> | undefined {
    guildChannels.take(type, data, shard);
    if (rightsEvents.includes(type)) api.rightsChanged();
    if (handling === undefined) return undefined;
    const { inbound, interactions, reactions } = handling;
    const unloaded = cursors.unloaded(shard);
    switch (type) {
      case GatewayDispatchEvents.MessageCreate: {
        const raw = asMessage(data);
        if (raw === undefined) return void log.warn({ type }, "Discord sent a message without an id or a channel");
        if (raw.author.id === context.botId()) {
          indicators.hidden(raw.channel_id);
          acknowledgements.seen(raw.channel_id, raw.message_reference?.message_id);
        }
        return inbound.add(raw, unloaded);
      }
      case GatewayDispatchEvents.MessageUpdate:
        return inbound.edited(fieldsOf(data) ?? {}, unloaded);
      case GatewayDispatchEvents.MessageDelete: {
        const { channel_id, id } = data as GatewayMessageDeleteDispatchData;
        return inbound.deleted(channel_id, [id], unloaded);
      }
      case GatewayDispatchEvents.MessageDeleteBulk: {
        const { channel_id, ids } = data as GatewayMessageDeleteBulkDispatchData;
        return inbound.deleted(channel_id, ids, unloaded);
      }
      case GatewayDispatchEvents.MessageReactionAdd:
        return reactions.take(data as GatewayMessageReactionAddDispatchData, true);
      case GatewayDispatchEvents.MessageReactionRemove:
        return reactions.take(data as GatewayMessageReactionRemoveDispatchData, false);
      case GatewayDispatchEvents.InteractionCreate:
        return interactions.take(data as APIInteraction);
      case GatewayDispatchEvents.GuildCreate: {
        const guild = data as GatewayGuildCreateDispatchData;
        return catchUp(placesOfGuild(guild, cursors, context.botId()), shard);
      }
      case GatewayDispatchEvents.ChannelDelete:
      case GatewayDispatchEvents.ThreadDelete:
        cursors.forget((data as { id: string }).id);
    }
    return undefined;
  }

  function begin(shard: number, count: number): Promise<unknown> {
    guildChannels.begin(shard, count);
    void handling?.missed.read();
    void handling?.missedChanges.ofShard(shard, count);
    noteReturn();
    return catchUp(placesWithoutGuild(shard, cursors), shard);
  }

  /** Reports only reconnections, because the caller of `connect` knows about the first connection. */
  function noteReturn(): void {
    if (isLost) events?.emit("platform.connected", { platform: "discord" });
    isLost = false;
  }

  async function catchUp(placeIds: string[], shard: number): Promise<void> {
    const unloaded = cursors.unloaded(shard);
    await Promise.all(placeIds.map((id) => handling?.inbound.catchUp(id, unloaded)));
  }

  function onProgress(report: CatchUpReport): void {
    missing = reportText(report);
    if (report.isOver) logReport(report, log);
  }

  function onKept(message: InboundMessage, notice: Notice | undefined, channelId: string): void {
    if (notice !== undefined) tellAuthor(message.id, notice, channelId);
    else if (message.isAddressed)
      acknowledgements.give(channelId, message.id, message.conversationId.endsWith(`:${channelId}`));
  }

  function tellAuthor(messageId: string, { text }: Notice, channelId: string): void {
    if (text === "") return;
    const [content = ""] = renderAll(text);
    const post = { nonce: nonceOf(messageId, "notice"), retry: "brief" as const, replyTo: messageId };
    messages
      .post(channelId, { content }, post)
      .catch((thrown: unknown) =>
        log.warn(
          { messageId, error: messageOf(thrown) },
          "could not tell the author why their message is not answered",
        ),
      );
  }

  function connectedHandlers(handlers: PlatformHandlers): PlatformHandlers {
    return {
      ...handlers,
      onMessage(message) {
        const { id, author, text } = message;
        if (message.isAddressed) origins.set(id, { authorName: author.name, text });
        return handlers.onMessage(message);
      },
    };
  }

  function register(): void {
    const applicationId = gateway.bot()?.applicationId;
    if (applicationId === undefined) return;
    registerCommands({ api, store, applicationId, commands: options.commands(), log, signal: ended.signal }).catch(
      (thrown: unknown) => {
        if (!ended.signal.aborted)
          log.error(
            { error: messageOf(thrown) },
            "could not register the /remora commands; the previous ones still work",
          );
      },
    );
  }

  return {
    name: "discord",
    async connect(given, signal) {
      if (handling !== undefined) throw discordError("discord.connected", "it is already connected");
      const handlers = connectedHandlers(given);
      const both = AbortSignal.any([signal, ended.signal]);
      const shared = { api, cursors, handlers, log, signal: both };
      const inbound = createInbound({ ...shared, context, onKept, onRefused: tellAuthor, onProgress });
      const onAsked = (raw: RawMessage) => void inbound.add(raw);
      const interactions = createInteractions({
        ...{ api, channels, handlers, formContents, onAsked, log },
        keepFiles: givenFiles.keep,
      });
      const reactions = createReactions({ handlers, lookUp: people.lookUp, botId: context.botId, log });
      const missed = createMissedReactions({ ...shared, ownId });
      const missedChanges = createMissedChanges({ ...shared, inbound });
      handling = { inbound, interactions, reactions, missed, missedChanges };
      signal.addEventListener("abort", () => void gateway.close(), { once: true });
      const opened = gateway.open(both).then(register);
      await Promise.race([opened, refused.promise]);
      opened.catch((thrown: unknown) => {
        if (!both.aborted) log.error({ error: messageOf(thrown) }, "Discord is not connected; restart to try again");
      });
    },
    reply(target, posts) {
      const own = apiForReply(api, posts);
      const sender = createMessageSender({
        ...{ api: own, messages: createMessages(own, oldEdits), channels, target, posts, ownId, origins, told, log },
        onPosted: indicators.hidden,
      });
      const onBegin = () => acknowledgements.end(target.messageId);
      return createDiscordReply({ api: own, indicators, sender, target, posts, formContents, onBegin, log });
    },
    lookUp: people.lookUp,
    isInSpace: (person, guildId) => people.isIn(guildId, person.id),
    isRatedByReaction: true,
    mayRead: access.mayReadConversation,
    reach: createReach({ api, channels, people, access, roleName }),
    earlier: createEarlier({ api, channels, access, ownId }),
    lookAgain: async (message) => await handling?.missedChanges.ofMessage(message),
    openFile: createFileOpener(api, options.apiUrl),
    chat: createChatActions({ api, messages, access }),
    async probe(signal) {
      await api.request({ method: "GET", route: Routes.user(), signal });
    },
    health: () => ({
      isConnected: gateway.isConnected() && tokenProblem === undefined,
      detail:
        tokenProblem ?? [gateway.detail(), missing, api.problem()].filter((text) => text !== undefined).join("; "),
    }),
    hurry() {
      oldEdits.close();
      api.close();
    },
    async close() {
      ended.abort();
      acknowledgements.close();
      // Messages that are being handled must be stored before the sessions and cursors are saved.
      if (handling !== undefined) await withTimeout(maxCloseMs, handling.inbound.whenIdle());
      await gateway.close();
      oldEdits.close();
      api.close();
    },
  };
}
