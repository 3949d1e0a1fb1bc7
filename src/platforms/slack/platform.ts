/**
 * Slack behind the platform port. Receives through Bolt, by Socket Mode or signed HTTP; writes through the Web API,
 * even in a process that receives nothing. The server that calls `mount` must let requests to `/slack/events` through.
 * The file is over 250 lines because it connects all parts of Slack.
 */
import { App, type Receiver } from "@slack/bolt";
import type { Hono } from "hono";
import type { Dispatcher } from "undici";
import { pause } from "../../lib/backoff.ts";
import { elapsedSince } from "../../lib/elapsed.ts";
import { messageOf, type RemoraError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import type { ReadBody } from "../../lib/read-body.ts";
import type { WithLock } from "../../ports/cluster.ts";
import type { Work } from "../../ports/conversation.ts";
import type { EphemeralTexts } from "../../ports/ephemeral.ts";
import type { Author, InboundMessage, Notice } from "../../ports/message.ts";
import type { Platform, PlatformHandlers } from "../../ports/platform.ts";
import type { RateBudget } from "../../ports/rate-budget.ts";
import type { Store } from "../../ports/store.ts";
import { logReport, reportText } from "../shared/catch-up-report.ts";
import { createFormContents } from "../shared/form-contents.ts";
import { withTimeout } from "../shared/with-timeout.ts";
import { apiForReply, createSlackApi } from "./api/api.ts";
import { isTokenProblem } from "./api/api-problems.ts";
import { createHealth } from "./api/health.ts";
import { createHttpReceiver, type HttpReceiver } from "./api/http-receiver.ts";
import { createIdentity, scopesSchema } from "./api/identity.ts";
import { missingScopes } from "./api/manifest.ts";
import { createPeople } from "./api/people.ts";
import { createRateLimiter } from "./api/rate-limiter.ts";
import { createSdkLogger } from "./api/sdk-logger.ts";
import { createSignedRequests, type SignedRequestsOptions } from "./api/signed-requests.ts";
import { createSocketReceiver } from "./api/socket-receiver.ts";
import { type DirectMessages, isDirect, parseConversationId, parseMessageId } from "./conversation-id.ts";
import { createSlackFiles } from "./inbound/attachments.ts";
import { type Absence, createCatchUp } from "./inbound/catch-up.ts";
import { createCursors } from "./inbound/cursors.ts";
import { createEarlier } from "./inbound/earlier.ts";
import { createGroupDms } from "./inbound/group-dms.ts";
import { createInbound, type Inbound } from "./inbound/inbound.ts";
import { addListeners } from "./inbound/listeners.ts";
import { createMissedChanges } from "./inbound/missed-changes.ts";
import { createRecentMessages } from "./inbound/recent-messages.ts";
import { createThreads } from "./inbound/threads.ts";
import { createCommands } from "./interactions/commands.ts";
import type { Handling } from "./interactions/handling.ts";
import { createInteractions } from "./interactions/interactions.ts";
import { createAgentSessions } from "./outbound/agent-sessions.ts";
import { createAssistantPane } from "./outbound/assistant-pane.ts";
import { createChatAccess } from "./outbound/chat-access.ts";
import { createChatActions } from "./outbound/chat-actions.ts";
import { createEphemeralReplies } from "./outbound/ephemeral-reply.ts";
import { createFooters } from "./outbound/footer.ts";
import { createHome, type HomePage } from "./outbound/home.ts";
import { createMessageSearch } from "./outbound/message-search.ts";
import { createStreaming } from "./outbound/native-stream-policy.ts";
import { createReach } from "./outbound/reach.ts";
import { createReceipts } from "./outbound/receipts.ts";
import { createSlackReply } from "./outbound/reply.ts";

export interface SlackPlatformOptions {
  access: {
    botToken: string;
    transport: { type: "socket"; appToken: string } | { type: "http"; signingSecret: string };
    apiUrl?: string;
    /** The token of a user, for what Slack's search does not find for an app. */
    userToken?: string;
  };
  /** A refused token rejects `connect`. With this, it is tried again, because other services work without Slack. */
  refusedTokenRetryMs?: number | undefined;
  streaming: "native" | "edits";
  ackReaction: string | null;
  directMessages: DirectMessages;
  store: Store;
  ledger: SignedRequestsOptions["ledger"];
  ephemeral: Pick<EphemeralTexts, "put" | "get">;
  /** What goes on in a conversation besides this turn, in any process. */
  workIn(conversationId: string, besides?: string): Promise<Work>;
  /** The conversation of a message that its author took back before a turn took it. */
  withdrawnFrom(messageId: string): Promise<string | undefined>;
  /** Set if other processes use the store and the ledger too. */
  withLock?: WithLock | undefined;
  /** For calls with the bot's token. */
  budget?: RateBudget | undefined;
  commands(): { usage: string; description: string }[];
  home(person: Author): Promise<HomePage>;
  isAllowedBot(id: string): boolean;
  /** For Socket Mode behind a proxy. */
  dispatcher?: Dispatcher;
  log: Log;
}

export interface SlackPlatform extends Platform {
  mount?(app: Hono, readBody: ReadBody): void;
}

/** Startup waits this long for Slack; then connecting continues in the background. */
const maxConnectMs = 10_000;
const waitForSlackMs = 86_400_000;
/** So that one failed request is not taken for an outage. */
const maxProbeRetryMs = 2_000;
const maxKnownAuthors = 5_000;
const maxTold = 1_000;
/** Slack sends events again for about this long; after longer absences, all conversations are read. */
const maxRedeliveryMs = 60_000;

export function createSlackPlatform(options: SlackPlatformOptions): SlackPlatform {
  const { access, store, log, refusedTokenRetryMs } = options;
  const { transport } = access;
  const where = access.apiUrl === undefined ? {} : { apiUrl: access.apiUrl };
  const ended = new AbortController();
  const health = createHealth(log);
  const onProblem = (problem: RemoraError) => health.problem(problem);
  const api = createSlackApi({
    ...{ token: access.botToken, ...where, onProblem, onRefused: health.refused, onTokenTaken: health.tokenTaken },
    ...{ log, signal: ended.signal },
    ...(options.budget === undefined ? {} : { budget: options.budget }),
  });
  const identity = createIdentity(api);
  const people = createPeople({ api, teamId: async () => (await identity()).teamId });
  const threads = createThreads(store);
  const recent = createRecentMessages();
  const files = createSlackFiles({ api, token: access.botToken, ...where, log, signal: ended.signal });
  const cursors = createCursors(store, log, options.withLock);
  const authors = createLruMap<string>(maxKnownAuthors);
  const told = createLruMap<true>(maxTold);
  const formContents = createFormContents(store, "slack");
  const rateLimiter = createRateLimiter();
  const footers = createFooters(log);
  const chatAccess = createChatAccess(api, people);
  const streaming = createStreaming({ api, mode: options.streaming, people, rateLimiter, authors, log });
  const sessions = createAgentSessions({ api, rateLimiter, log, signal: ended.signal });
  const { ackReaction, directMessages, withLock, workIn } = options;
  const receipts = createReceipts({ api, sessions, store, ackReaction, withLock, log, signal: ended.signal });
  const requests = createSignedRequests({ ledger: options.ledger, isShared: withLock !== undefined });
  const http: HttpReceiver | undefined =
    transport.type === "http"
      ? createHttpReceiver({
          ...{ signingSecret: transport.signingSecret, requests, log },
          onDropped: (minute) => onDropped(minute),
        })
      : undefined;
  const userApi =
    access.userToken === undefined
      ? undefined
      : createSlackApi({ token: access.userToken, ...where, onProblem: () => {}, log, signal: ended.signal });
  const search = createMessageSearch({ api, userApi, people, access: chatAccess, ephemeral: options.ephemeral, log });
  let receiver: Receiver | undefined;
  let onDropped: (minute: number) => Promise<void> = async () => {};

  /** Resolves to what reads messages again. */
  let listening: Promise<ReturnType<typeof createMissedChanges>> | undefined;

  function listen(handlers: PlatformHandlers) {
    const ephemeral = createEphemeralReplies(api);
    const shared: Handling = { handlers, api, identity, people, threads, ephemeral, log };
    const pane = createAssistantPane({ ...shared, sessions, workIn, withdrawnFrom: options.withdrawnFrom });
    const onTaken = (message: InboundMessage) => {
      pane.said(message);
      const given = receipts.give(message);
      // Another process may have answered before Slack had this.
      if (withLock !== undefined) void given.then(() => pane.endIfIdle(message.conversationId));
    };
    const inbound = createInbound({
      ...{ ...shared, threads, recent, cursors, authors, directMessages, onTaken },
      ephemeral: options.ephemeral,
      isOpenIn: chatAccess.isOpenIn,
      ...{ describeFiles: files.describe, isGroupDm: createGroupDms(api), isAllowedBot: options.isAllowedBot },
      onRefused: (channel) => catchUp.fetchSoon(channel),
      onWithdrawn: (id) => void pane.withdrawn(id),
      sendNotice: (message, notice) => sendNotice(ephemeral, message, notice),
    });
    const catchUp = createCatchUp({
      ...{ api, rateLimiter, cursors, take: inbound.message, log, signal: ended.signal },
      onProgress: (report) => {
        health.missing(reportText(report));
        if (report.isOver) logReport(report, log);
      },
      onMinuteFetched: () => void readMissedChanges(),
    });
    onDropped = async (minute) => {
      health.dropped();
      await catchUp.minuteDropped(minute);
    };
    const readMissedChanges = createMissedChanges({ api, handlers, inbound, log });
    /** Only what Slack sends waits, not what is fetched. */
    const live: Inbound = {
      ...inbound,
      async message(event) {
        const missing = catchUp.before(event.channel);
        // Awaiting nothing could change the order of messages and edits.
        if (missing !== undefined) await missing;
        await inbound.message(event);
      },
    };
    const interactions = createInteractions({ ...shared, formContents, describeFiles: files.describe });
    const commands = createCommands({ ...shared, threads, authors, directMessages, onTaken });
    const home = createHome({ ...shared, page: options.home, commands: options.commands });
    return {
      readMissedChanges,
      fetchMissed(absence: Absence) {
        void catchUp.run(absence);
        // After a short absence, Slack sends its events again.
        if (absence === "long") void readMissedChanges();
      },
      app(made: Receiver) {
        const app = new App({
          receiver: made,
          authorize: async () => {
            const self = await identity();
            return {
              botToken: access.botToken,
              botUserId: self.userId,
              ...(self.botId === undefined ? {} : { botId: self.botId }),
            };
          },
          // inbound.ts already ignores the agent's own messages, and the ledger already stores conversations.
          ...{ ignoreSelf: false, convoStore: false, logger: createSdkLogger(log) },
          ...(access.apiUrl === undefined ? {} : { clientOptions: { slackApiUrl: access.apiUrl } }),
        });
        // Rethrow so that the receiver handles a listener's failure.
        app.error((thrown) => Promise.reject(thrown));
        addListeners(app, {
          ...{ inbound: live, interactions, commands, home, pane },
          onGroupsChanged: people.forgetGroups,
          onRevoked: (what) =>
            health.disconnected(`the app was removed from the workspace (${what}); install it again`),
        });
        return app;
      },
    };
  }

  async function sayConnected(): Promise<void> {
    const self = await identity(maxConnectMs).catch(() => identity(waitForSlackMs));
    const by = transport.type === "socket" ? "Socket Mode" : "HTTP";
    health.connected(`connected to ${self.team || self.teamId} as @${self.name} by ${by}`);
    if (transport.type === "http") health.clock(api.clockSkewMs());
    await compareScopes(self.scopes);
  }

  /** Resolves to false if the token was refused at first. */
  async function sayConnectedInTheEnd(): Promise<boolean> {
    for (let isFirst = true; ; isFirst = false) {
      try {
        await sayConnected();
        return isFirst;
      } catch (thrown) {
        health.disconnected(messageOf(thrown));
        if (!isTokenProblem(thrown) || refusedTokenRetryMs === undefined) return true;
        await pause(refusedTokenRetryMs, ended.signal);
        if (ended.signal.aborted) return true;
      }
    }
  }

  async function compareScopes(scopes: string[] | undefined): Promise<void> {
    if (scopes !== undefined) health.lacks((await missingScopes(scopes)) ?? []);
  }

  return {
    name: "slack",
    async connect(handlers, signal) {
      signal.addEventListener("abort", () => void receiver?.stop(), { once: true });
      const handling = cursors.load().then(() => listen(handlers));
      listening = handling.then(({ readMissedChanges }) => readMissedChanges);
      listening.catch(() => {});
      const { app, fetchMissed } = await handling;
      let offlineSince = 0;
      const onConnected = () => {
        fetchMissed(elapsedSince(offlineSince) > maxRedeliveryMs ? "long" : "short");
        offlineSince = Date.now();
        void receipts.resume();
        void sayConnectedInTheEnd().then((couldRead) => couldRead || fetchMissed("long"));
      };
      receiver =
        http ??
        createSocketReceiver({
          ...{ appToken: transport.type === "socket" ? transport.appToken : "", ...where, log, signal },
          refusedTokenRetryMs,
          dispatcher: options.dispatcher,
          onDropped: (minute) => onDropped(minute),
          ...{ onConnected, onProblem: (problem) => tokenOf(problem, health) },
          onDisconnected() {
            offlineSince = Date.now();
            health.disconnected("connection lost; reconnecting");
          },
        });
      app(receiver);
      const opening = Promise.all([receiver.start(), identity(maxConnectMs)]).then(
        () => ({ isOpen: true, problem: undefined }),
        (thrown: unknown) => ({ isOpen: false, problem: thrown }),
      );
      const opened = await withTimeout(maxConnectMs, opening);
      if (isTokenProblem(opened?.problem) && refusedTokenRetryMs === undefined) throw opened?.problem;
      if (opened?.isOpen === true) {
        if (http !== undefined) onConnected();
        await sayConnected();
      } else {
        const error = messageOf(opened?.problem ?? "can't reach Slack");
        health.disconnected(error);
        log.warn({ error }, "Slack is not connected yet; retrying in the background");
        // Only for HTTP: a socket reports its connection itself.
        if (http !== undefined) void opening.then(() => identity(waitForSlackMs)).then(onConnected, onProblem);
      }
      people.warmUp();
    },
    reply: (target, posts) =>
      createSlackReply({
        ...{ target, posts, rateLimiter, streaming, sessions, receipts, footers, formContents, workIn, log },
        api: apiForReply(api, posts),
        signal: ended.signal,
        botUserId: async () => (await identity()).userId,
        threads,
        told,
      }),
    async ended(conversationId) {
      const place = parseConversationId(conversationId);
      // What runs or waits goes on, and says itself how it ends.
      if (place === undefined || place.thread === null || (await workIn(conversationId)) !== "none") return;
      await sessions(place.channel, place.thread).set("closed");
    },
    async mayRead(conversationId, person) {
      const place = parseConversationId(conversationId);
      return place !== undefined && (await chatAccess.mayRead(place.channel, person));
    },
    reach: createReach({ api, identity, people, directMessages }),
    lookUp: async (person) => (person.isBot ? person : await people.fresh(person.id)),
    earlier: createEarlier({
      api,
      identity,
      people,
      recent,
      lookedAt: chatAccess.lookedAt,
      isOpenIn: chatAccess.isOpenIn,
    }),
    lookAgain: async (message) => await (await listening)?.(Promise.resolve([message])),
    openFile: files.open,
    chat: createChatActions({
      ...{ api, identity, people, access: chatAccess, threads, search, describeFiles: files.describe, told, log },
      signal: ended.signal,
    }),
    async probe() {
      const options = { maxRetryMs: maxProbeRetryMs };
      await compareScopes((await api.call("auth.test", {}, scopesSchema, options)).response_metadata?.scopes);
    },
    health: health.now,
    hurry: () => ended.abort(),
    async close() {
      await receiver?.stop();
      health.disconnected("closed");
      ended.abort();
      await cursors.flush();
    },
    ...(http === undefined ? {} : { mount: http.mount }),
  };
}

/** In a channel, only the author sees the notice. A thread without replies would hide it, so the channel gets it; a DM's threads are listed. */
async function sendNotice(
  ephemeral: ReturnType<typeof createEphemeralReplies>,
  message: InboundMessage,
  notice: Notice,
): Promise<void> {
  const place = parseConversationId(message.conversationId);
  const said = parseMessageId(message.id);
  if (place === undefined) return;
  const isHidden = place.thread === said?.ts && !isDirect(place.channel);
  const thread = isHidden ? null : place.thread;
  await ephemeral.markdown({ userId: message.author.id, channel: place.channel, thread }, notice.text);
}

/** Names the app token, because there is also a bot token. */
function tokenOf(problem: RemoraError, health: ReturnType<typeof createHealth>): void {
  if (isTokenProblem(problem)) health.disconnected(`Slack rejected SLACK_APP_TOKEN: ${problem.message}`);
  else health.disconnected(problem.message);
}
