/**
 * Agent sessions: what the list of sessions and the thread show of an agent's work. The app sets their states itself, by
 * agents.sessions.setStatus, by a stream, or (the bridge for older apps) by the text of assistant.threads.setStatus.
 * Rules: agent-session-hour, agent-session-title
 */
import type { Method } from "./api-call.ts";
import type { Delivery } from "./delivery.ts";
import type { Events } from "./events.ts";
import { channelFor, checkMayPost } from "./posting.ts";
import type { AgentSession, Channel, Person, SessionStatus, SlackState } from "./state.ts";
import { type Arguments, invalid, type JsonObject, SlackRefusal } from "./wire.ts";

const statuses: readonly string[] = ["active", "processing", "suspended", "closed"];
const processingMs = 3_600_000;
const maxTitleLength = 200;

/** Of its creation. */
export interface SessionStart {
  title?: string | undefined;
  initiator?: string | undefined;
}

export interface Sessions {
  methods: Record<string, Method>;
  /** Sets a state, and makes the session if there is none. Does nothing for apps that are no agents. */
  set(channel: string, threadTs: string, status: SessionStatus, by: string, start?: SessionStart): void;
  of(channel: Channel, threadTs: string): AgentSession | undefined;
  /** The list of sessions, the newest change first. */
  list(): AgentSession[];
  /** The states in order, each with `*` while people can stop it: `["processing*", "active"]`. */
  states(channel: Channel, threadTs: string): string[];
  rename(person: Person, channel: Channel, threadTs: string, title: string): Delivery[];
}

export function createSessions(state: SlackState, events: Events): Sessions {
  const ends = new WeakMap<AgentSession, () => void>();
  const find = (channel: string, threadTs: string) =>
    state.sessions.find((one) => one.channel === channel && one.threadTs === threadTs);

  function made(channel: string, threadTs: string, { title, initiator }: SessionStart): AgentSession {
    // Colons of such a title become underscores.
    const titled = title === undefined ? {} : { title: title.replaceAll(":", "_"), titledBy: state.app.botUserId };
    const session: AgentSession = { channel, threadTs, status: "active", ...titled, history: [] };
    if (initiator !== undefined) session.initiator = initiator;
    state.sessions.push(session);
    return session;
  }

  function set(channel: string, threadTs: string, status: SessionStatus, by: string, start: SessionStart = {}): void {
    if (!state.agent.isDeclared) return;
    const session = find(channel, threadTs) ?? made(channel, threadTs, start);
    session.status = status;
    const text = state.assistantThreads.find((one) => one.channel === channel && one.threadTs === threadTs);
    // One place for both: the last writer decides.
    if (text !== undefined && by !== "assistant.threads.setStatus") text.status = "";
    const isStoppable =
      status === "processing" && state.agent.events.has("agent_session_stopped") && (text?.status ?? "") === "";
    const last = session.history.at(-1);
    if (last?.status !== status || last.isStoppable !== isStoppable)
      session.history.push({ at: state.clock.now(), status, by, isStoppable });
    ends.get(session)?.();
    if (status === "processing")
      ends.set(
        session,
        state.clock.after(processingMs, () => set(channel, threadTs, "active", "an hour")),
      );
    state.changed();
  }

  /** The place of a call. */
  function placeOf(args: Arguments): [channel: Channel, threadTs: string] {
    if (!state.agent.isDeclared) throw new SlackRefusal("feature_disabled");
    const channel = channelFor(state, args.required("channel_id"));
    const threadTs = args.required("thread_ts");
    checkMayPost(state, channel, threadTs);
    const isPane = state.assistantThreads.some((one) => one.channel === channel.id && one.threadTs === threadTs);
    const isKnown = isPane || find(channel.id, threadTs) !== undefined;
    if (!isKnown && state.message(channel.id, threadTs) === undefined) throw new SlackRefusal("invalid_thread_ts");
    return [channel, threadTs];
  }

  function answerOf(channel: Channel, threadTs: string): JsonObject {
    const { status, title = "" } = find(channel.id, threadTs) ?? { status: "active" };
    const hasStop = state.agent.events.has("agent_session_stopped");
    const warnings = { warnings: ["missing_agent_session_stopped_event_subscription"] };
    return { status, agent_status: status, title, ...(hasStop ? {} : { response_metadata: warnings }) };
  }

  return {
    methods: {
      "agents.sessions.setStatus"({ args }) {
        const [channel, threadTs] = placeOf(args);
        const status = args.required("status");
        if (!isStatus(status)) throw new SlackRefusal("invalid_status");
        const title = args.text("title");
        if (title !== undefined && !isTitle(title))
          throw invalid("invalid_arguments", "must be 1 to 200 characters [json-pointer:/title]");
        const initiator = args.text("initiator_user_id");
        if (initiator !== undefined && !channel.members.has(initiator)) throw new SlackRefusal("user_not_in_channel");
        set(channel.id, threadTs, status, "agents.sessions.setStatus", { title, initiator });
        return answerOf(channel, threadTs);
      },
      "agents.sessions.rename"({ args }) {
        const [channel, threadTs] = placeOf(args);
        const session = find(channel.id, threadTs);
        if (session === undefined) throw new SlackRefusal("session_not_found");
        const title = args.required("title");
        if (!isTitle(title)) throw new SlackRefusal("invalid_name");
        Object.assign(session, { title, titledBy: state.app.botUserId });
        return answerOf(channel, threadTs);
      },
    },
    set,
    of: (channel, threadTs) => find(channel.id, threadTs),
    list: () =>
      state.sessions.toSorted((one, other) => (other.history.at(-1)?.at ?? 0) - (one.history.at(-1)?.at ?? 0)),
    states: (channel, threadTs) =>
      (find(channel.id, threadTs)?.history ?? []).map(({ status, isStoppable }) => status + (isStoppable ? "*" : "")),
    rename(person, channel, threadTs, title) {
      const session = find(channel.id, threadTs);
      if (session === undefined) throw new Error("slack double: no such session");
      const previous = session.title;
      Object.assign(session, { title, titledBy: person.id });
      state.changed();
      if (!state.agent.events.has("agent_session_title_changed")) return [];
      return events.send({
        ...{ type: "agent_session_title_changed", channel: channel.id, thread_ts: threadTs, user: person.id },
        ...{ team_id: state.team.id, title, ...(previous === undefined ? {} : { previous_title: previous }) },
        event_ts: state.ts(),
      });
    },
  };
}

export function isStatus(value: unknown): value is SessionStatus {
  return statuses.includes(String(value));
}

function isTitle(title: string): boolean {
  return title.length > 0 && title.length <= maxTitleLength;
}
