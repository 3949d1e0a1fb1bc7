/**
 * Slack on 127.0.0.1 for one app in one workspace: Web API, Socket Mode and signed HTTP delivery, people and their clients.
 *
 *   const slack = await createSlackDouble();
 *   const app = new App({ token: slack.botToken, appToken: slack.appToken, socketMode: true,
 *                         clientOptions: { slackApiUrl: slack.apiUrl } });           // the real Bolt
 *   await app.start();
 *
 *   const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora is 1 < 2?" });
 *   await said.acknowledged();                                      // rejects when the app refuses or stays silent
 *   await slack.until(() => slack.see({ in: slack.general, thread: said.ts }).length > 1);
 *
 *   await slack.interactions.click({ as: slack.ann, on: { channel: slack.general, ts }, button: "Approve" }).acknowledged();
 *   slack.repeat();                                                 // the last event once more, same event id
 *   slack.sockets.cut();                                            // no close frame; also silence(), disconnect(reason)
 *   slack.failNext("chat.postMessage", { type: "error", error: "is_archived" });
 *   slack.http.target = "http://127.0.0.1:3000/slack/events";       // from now on HTTP instead of sockets
 *   slack.clock.advance(5 * 60_000);                                // ends streams, triggers, waits for redelivery
 *   await slack.stop();
 *
 * Ann and Ben are members of `#general`, and so is the app; `slack.workspace` adds people, bots, channels and groups.
 * The app is an agent (`agent_view`), so its DM is a list of threads: `slack.sessions(slack.ann)`. With `isAgent: false` it is an older app.
 * Limits, scopes, rates and error names are Slack's; `slack.limits.isEnforced = false` lifts the rates, and `isDistributed = true`
 * sets those of apps that are distributed outside the Marketplace.
 */
import { randomBytes } from "node:crypto";
import { type Session, sessionsOf } from "./agent-dm.ts";
import {
  type Caller,
  createCaller,
  type Failure,
  type LoggedCall,
  type Method,
  type RateLimits,
  type Token,
} from "./api-call.ts";
import { type Assistant, createAssistant } from "./assistant.ts";
import { chatMethods } from "./chat-methods.ts";
import { createRunningClock, type SlackClock } from "./clock.ts";
import { conversationMethods } from "./conversation-methods.ts";
import { type Courier, createCourier, type Delivery, type Redelivery } from "./delivery.ts";
import { createEvents, type Events } from "./events.ts";
import { createFiles } from "./file-methods.ts";
import { createHttpDelivery, type HttpDelivery } from "./http-delivery.ts";
import { createInteractions, type Interactions } from "./interactions.ts";
import { allBotScopes } from "./method-rules.ts";
import { createPeopleActions, type PeopleActions } from "./people.ts";
import { peopleMethods } from "./people-methods.ts";
import { createPosting } from "./posting.ts";
import { createResponseUrls } from "./response-urls.ts";
import { searchMethods } from "./search-methods.ts";
import { type Looking, type SeenMessage, seenMessages } from "./see.ts";
import { startServer } from "./server.ts";
import { createSocketMode, type Sockets } from "./socket-mode.ts";
import { type Channel, createState, type Person, type SlackState } from "./state.ts";
import { createStreams } from "./stream-methods.ts";
import { createFailures, until } from "./support.ts";
import { createViews, type Views } from "./views.ts";
import type { JsonObject } from "./wire.ts";
import { createWorkspace, type Workspace } from "./workspace.ts";

export interface SlackDoubleOptions {
  clock?: SlackClock;
  appName?: string;
  /** False for an older app, without `agent_view` in its manifest. Default true. */
  isAgent?: boolean;
  /** Scopes of the bot token; default all that the double knows. */
  scopes?: string[];
  /** Slack pings sockets this often; 0 never. Default 10 s. */
  pingIntervalMs?: number;
}

export interface SlackDouble {
  /** With a slash at its end, as `slackApiUrl` wants it. */
  apiUrl: string;
  botToken: string;
  appToken: string;
  signingSecret: string;
  clock: SlackClock;
  state: SlackState;
  workspace: Workspace;
  /** A token with which Slack's own search finds what the person sees. */
  userToken(person: Person, scopes?: string[]): string;
  ann: Person;
  ben: Person;
  general: Channel;
  people: PeopleActions;
  interactions: Interactions;
  sockets: Sockets;
  http: HttpDelivery;
  events: Events;
  redelivery: Redelivery;
  /** All that was sent to the app, oldest first. */
  sent: Delivery[];
  /** The same again, as Slack may do; default the last event. */
  repeat(delivery?: Delivery): Delivery;
  /** Tokens by value; change `scopes` or `state` to take something away. */
  tokens: Map<string, Token>;
  limits: RateLimits;
  calls: LoggedCall[];
  /** Calls of one method, oldest first. */
  callsOf(method: string): LoggedCall[];
  /**
   * Failures of the next calls of a method, one per call, in order. `*` matches any method; `upload`, `download` and
   * `response_url` match those requests.
   */
  failNext(method: string, ...failures: Failure[]): void;
  /** Fails every call of the method (or `*`) until the returned function is called. */
  fail(method: string, failure: Failure): () => void;
  see(looking: Looking): SeenMessage[];
  /** The threads of the person's DM with the app, as they are listed there. */
  sessions(person: Person): Session[];
  views: Pick<Views, "stack" | "home">;
  assistant: Omit<Assistant, "methods">;
  /** Posts to response URLs. */
  responses: JsonObject[];
  /** Resolves with the first truthy result, checked at every change and every 100 ms. Rejects after `timeoutMs` of real time. */
  until<Value>(look: () => Value, timeoutMs?: number): Promise<NonNullable<Value>>;
  stop(): Promise<void>;
}

export async function createSlackDouble(options: SlackDoubleOptions = {}): Promise<SlackDouble> {
  const clock = options.clock ?? createRunningClock();
  const state = createState(clock);
  state.app.isAgent = options.isAgent ?? true;
  const workspace = createWorkspace(state, options.appName ?? "Remora");
  const bot = createToken("bot", options.scopes ?? [...allBotScopes]);
  const app = createToken("app", ["connections:write"]);
  const tokens = new Map([bot, app].map((token) => [token.value, token]));
  const signingSecret = randomBytes(16).toString("hex");
  const http = createHttpDelivery(state, signingSecret);
  const courier: Courier = createCourier(state, () => (delivery, attempt, settle, signal) => {
    if (http.target !== undefined) http.send(delivery, attempt, settle, signal);
    else if (!sockets.send(delivery, attempt, settle)) settle({ type: "gone" });
  });
  const sockets = createSocketMode(
    state,
    { pingIntervalMs: options.pingIntervalMs ?? 10_000, maximum: 10 },
    () => courier,
  );
  const events = createEvents(state, bot, courier);
  const posting = createPosting(state, events);
  const views = createViews(state);
  const responseUrls = createResponseUrls(state, posting);
  const streams = createStreams(state, posting);
  const files = createFiles(state, posting, tokens);
  const assistant = createAssistant(state, events, (person) => workspace.direct(person));
  const methods = new Map<string, Method>(
    Object.entries({
      ...chatMethods({ state, posting, directMessage: (id) => workspace.direct(personOf(state, id)) }),
      ...conversationMethods(state, workspace.direct),
      ...peopleMethods(state),
      ...streams.methods,
      ...files.methods,
      ...assistant.methods,
      ...searchMethods(state),
      ...views.methods,
      "apps.connections.open": ({ args }) => ({ url: sockets.ticketUrl(args.flag("debug_reconnects") === true) }),
    } satisfies Record<string, Method>),
  );
  const limits: RateLimits = { isEnforced: true, isDistributed: false, rates: {} };
  const failures = createFailures();
  const calls: LoggedCall[] = [];
  const caller: Caller = createCaller(state, tokens, methods, limits);
  const server = await startServer(state, {
    caller,
    takeFailure: failures.take,
    log: calls,
    upload: files.upload,
    download: files.download,
    respond: responseUrls.respond,
    upgrade: sockets.upgrade,
  });
  state.url = `http://127.0.0.1:${server.port}`;
  const ann = workspace.addPerson({ name: "Ann" });
  const ben = workspace.addPerson({ name: "Ben" });

  return {
    apiUrl: `${state.url}/api/`,
    botToken: bot.value,
    appToken: app.value,
    signingSecret,
    clock,
    state,
    workspace,
    userToken(person, scopes = ["search:read"]) {
      const token: Token = { ...createToken("user", scopes), userId: person.id };
      tokens.set(token.value, token);
      return token.value;
    },
    ann,
    ben,
    general: workspace.addChannel({ name: "general", members: [ann, ben] }),
    people: createPeopleActions({
      state,
      events,
      posting,
      direct: (person) => workspace.direct(person),
      homeView: (person) => {
        const home = views.home(person);
        return home === undefined ? undefined : views.json(home);
      },
      stopStream: streams.stopByPerson,
    }),
    interactions: createInteractions({ state, courier, views, responseUrls }),
    sockets: sockets.controls,
    http,
    events,
    redelivery: courier.redelivery,
    sent: courier.sent,
    repeat(delivery = courier.sent.findLast((one) => one.kind === "events_api")) {
      if (delivery === undefined) throw new Error("slack double: nothing was sent yet");
      return courier.repeat(delivery);
    },
    tokens,
    limits,
    calls,
    callsOf: (method) => calls.filter((call) => call.method === method),
    failNext: failures.add,
    fail: failures.stand,
    see: (looking) => seenMessages(state, looking),
    sessions: (person) => sessionsOf(state, person),
    views,
    assistant,
    responses: responseUrls.log,
    until: (look, timeoutMs = 90_000) => until(state, look, timeoutMs),
    async stop() {
      clock.stop();
      await sockets.stop();
      await server.stop();
    },
  };
}

function createToken(kind: Token["kind"], scopes: string[]): Token {
  const prefix = { bot: "xoxb", app: "xapp-1", user: "xoxp" }[kind];
  return { value: `${prefix}-${randomBytes(12).toString("hex")}`, kind, scopes, state: "active" };
}

function personOf(state: SlackState, id: string): Person {
  const person = state.people.get(id);
  if (person === undefined) throw new Error(`slack double: nobody has the id ${id}`);
  return person;
}
