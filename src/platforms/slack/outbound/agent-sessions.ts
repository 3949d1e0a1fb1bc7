/**
 * The session of a thread: what its head and Slack's list of sessions say of the agent's work there. `processing` shows
 * "Working…" and a stop button, and ends by itself only after an hour, so every turn has to set another state at its end.
 * Streams set states, too. In each thread, the newest state wins: a call that may have overtaken another one is repeated.
 *
 * Sessions are optional: a failure is logged once and never costs an answer. Apps that were installed before, with
 * `assistant_view`, get a text in the thread instead, as long as Slack accepts it (until February 2027). The file is over 250
 * lines because everything here shares what a session is known to show.
 */
import { z } from "zod";
import { pause } from "../../../lib/backoff.ts";
import { elapsedSince } from "../../../lib/elapsed.ts";
import { messageOf, RemoraError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import type { Work } from "../../../ports/conversation.ts";
import { withTimeout } from "../../shared/with-timeout.ts";
import { anyAnswer, type SlackApi } from "../api/api.ts";
import { isAway, isPlaceProblem, isSlackError } from "../api/api-problems.ts";
import type { RateLimiter } from "../api/rate-limiter.ts";
import { processingLifetimeMs, statusLifetimeMs } from "../limits.ts";

/** `suspended` waits for people, `active` for the next request, and `closed` is over. */
export type SessionState = "processing" | "suspended" | "active" | "closed";

/** Of a conversation in which this goes on. */
export const stateOf: Readonly<Record<Work, SessionState>> = {
  running: "processing",
  waiting: "suspended",
  none: "active",
};

/** Counts only for the call that makes the session. */
export interface SessionStart {
  title?: string;
  initiator_user_id?: string;
}

export interface AgentSession {
  /** False while Slack shows no state here, so that replies show a line. */
  isPossible(): boolean;
  /** Renews `processing` if it is old. Never rejects. Waits a few seconds at most for the states that end the work. */
  set(state: SessionState, start?: SessionStart): Promise<void>;
  /** Starts a stream, which sets `processing`. */
  starting<Result>(call: () => Promise<Result>): Promise<Result>;
  /** Stops a stream, which sets this state, or else the newest one that this process knows. The call must pass on the fields. */
  stopping<Result>(state: SessionState | undefined, call: (fields: StopFields) => Promise<Result>): Promise<Result>;
  /** A person has named the session. */
  renamed(): void;
}

export interface StopFields {
  session_status?: SessionState;
}

export type AgentSessions = (channel: string, thread: string) => AgentSession;

export interface AgentSessionsOptions {
  api: Pick<SlackApi, "call">;
  rateLimiter: RateLimiter;
  log: Log;
  signal: AbortSignal;
  now?: () => number;
}

interface Session {
  place: { channel_id: string; thread_ts: string };
  wanted: SessionState | undefined;
  /** What Slack shows; undefined if that is not known. */
  shown: SessionState | undefined;
  shownAt: number;
  start: SessionStart | undefined;
  hasTitle: boolean;
  /** False until Slack has accepted a state. Then there is nothing to end. */
  isKnown: boolean;
  /** Calls under way that set the state. Mixed ones set several, and nobody knows which one came last. */
  calls: number;
  newest: SessionState | undefined;
  isMixed: boolean;
  isSending: boolean;
  lateTries: number;
  sending: Promise<void> | undefined;
  refusedUntil: number;
}

const workingText = "is working on it";
const renewAfterMs = processingLifetimeMs * 0.75;
const renewTextAfterMs = statusLifetimeMs * 0.75;
const maxThreads = 2_000;
const restMs = 10 * 60_000;
const minRestMs = 30_000;
/** So that a new manifest is noticed without a restart. */
const oldAppMs = 3_600_000;
const maxWaitMs = 5_000;
const minPauseMs = 500;
const maxPauseMs = 30_000;
/** Of a state that ends the work, if Slack refuses it for another reason than its load. */
const maxTries = 3;
const lateMs = 60_000;
const maxLateTries = 2;
const noStopButton = "missing_agent_session_stopped_event_subscription";
/** Known from reports; Slack's pages name none. */
const noAgentErrors = ["feature_disabled", "feature_not_enabled", "unknown_method", "method_deprecated"];
export const moveAdvice = "paste slack/manifest.yaml under App Manifest, and see docs/slack.md#move-an-older-app";
const answerSchema = z.object({
  title: z.string().optional(),
  response_metadata: z.object({ warnings: z.array(z.string()).optional() }).optional(),
});

export function createAgentSessions(options: AgentSessionsOptions): AgentSessions {
  const { api, rateLimiter, log, signal, now = () => Date.now() } = options;
  const sessions = createLruMap<Session>(maxThreads);
  /** Slack has accepted a state in this process, so later refusals say nothing about the app. */
  let isAgent = false;
  let oldUntil = 0;
  let refusedUntil = 0;
  const told = new Set<string>();

  function sessionOf(channel: string, thread: string): Session {
    const key = `${channel}:${thread}`;
    const known = sessions.get(key);
    if (known !== undefined) return known;
    const session: Session = {
      place: { channel_id: channel, thread_ts: thread },
      ...{ wanted: undefined, shown: undefined, shownAt: 0, start: undefined, hasTitle: false, isKnown: false },
      ...{ calls: 0, newest: undefined, isMixed: false },
      ...{ isSending: false, lateTries: 0, sending: undefined, refusedUntil: 0 },
    };
    sessions.set(key, session);
    return session;
  }

  function tellOnce(level: "info" | "warn", what: string, details: Record<string, unknown>): void {
    if (!told.has(what)) log[level](details, what);
    told.add(what);
  }

  const isOld = () => now() < oldUntil;
  const isPossible = (session: Session) => now() >= refusedUntil && now() >= session.refusedUntil;

  function isDue({ wanted, shown, shownAt }: Session): boolean {
    if (wanted === undefined) return false;
    const isStale = elapsedSince(shownAt, now()) >= (isOld() ? renewTextAfterMs : renewAfterMs);
    return wanted !== shown || (wanted === "processing" && isStale);
  }

  /** Runs a call that sets the state. `value` is read after the call. */
  async function write<Result>(
    session: Session,
    state: SessionState | undefined,
    call: () => Promise<Result>,
    value: () => SessionState | undefined = () => state,
  ): Promise<Result> {
    session.isMixed ||= session.calls > 0 && session.newest !== state;
    const before = session.calls === 0 ? session.shown : undefined;
    session.newest = state;
    session.calls += 1;
    session.shown = undefined;
    try {
      const result = await call();
      if (!session.isMixed) Object.assign(session, { shown: value(), shownAt: now() });
      session.isKnown = true;
      return result;
    } catch (thrown) {
      if (isUndone(thrown) && !session.isMixed) session.shown = before;
      throw thrown;
    } finally {
      session.calls -= 1;
      if (session.calls === 0) session.isMixed = false;
    }
  }

  async function setStatus(session: Session, status: SessionState): Promise<void> {
    const { place, start } = session;
    const ask = (more: SessionStart = {}) =>
      api.call("agents.sessions.setStatus", { ...place, status, ...more }, answerSchema, { maxRetryMs: 0 });
    const answer = await ask(start).catch(async (thrown: unknown) => {
      if (start === undefined || isAway(thrown) || isPlaceProblem(thrown)) throw thrown;
      // Slack may refuse a title or a person, and the state matters more.
      return await ask();
    });
    isAgent = true;
    session.start = undefined;
    if (answer.response_metadata?.warnings?.includes(noStopButton) === true)
      tellOnce("warn", "Slack shows no stop button: the app does not subscribe to agent_session_stopped", {
        do: moveAdvice,
      });
    const title = session.hasTitle ? undefined : start?.title;
    // Something else made the session, as a stream does, and nobody has named it.
    if (title !== undefined && answer.title === "") await rename(session, title);
    if (title !== undefined) session.hasTitle = true;
  }

  async function rename(session: Session, title: string): Promise<void> {
    try {
      await api.call("agents.sessions.rename", { ...session.place, title }, anyAnswer, { maxRetryMs: 0 });
      session.hasTitle = true;
    } catch (thrown) {
      log.info({ error: messageOf(thrown) }, "could not name a session");
    }
  }

  /** A stream made the session although Slack could not take the call that would have named it. */
  async function nameLate(session: Session): Promise<void> {
    const { start, wanted, isKnown, hasTitle } = session;
    if (start?.title === undefined || hasTitle || !isKnown || isOld() || wanted === "processing") return;
    session.start = undefined;
    await rename(session, start.title);
  }

  async function setText({ place }: Session, state: SessionState): Promise<void> {
    const status = state === "processing" ? workingText : "";
    await api.call("assistant.threads.setStatus", { ...place, status }, anyAnswer, { maxRetryMs: 0 });
  }

  async function tell(session: Session, state: SessionState): Promise<void> {
    if (isOld()) return await setText(session, state);
    try {
      await setStatus(session, state);
    } catch (thrown) {
      if (isAgent || isAway(thrown) || isAboutThread(thrown)) throw thrown;
      await setText(session, state).catch(() => {
        throw thrown;
      });
      oldUntil = now() + oldAppMs;
      const why = { error: messageOf(thrown), do: `${moveAdvice}. From February 2027, Slack shows nothing otherwise` };
      tellOnce("warn", "Slack does not treat this app as an agent, so threads show a text and no stop button", why);
    }
  }

  async function send(session: Session): Promise<void> {
    session.isSending = true;
    try {
      await sendAll(session);
      await nameLate(session);
    } finally {
      session.isSending = false;
    }
  }

  async function sendAll(session: Session): Promise<void> {
    const since = now();
    let tries = 0;
    for (let waitMs = minPauseMs; isDue(session) && session.calls === 0 && !signal.aborted; waitMs *= 2) {
      const state = session.wanted ?? "active";
      const isWork = state === "processing";
      if (isWork ? !isPossible(session) || rateLimiter.take("session") > 0 : !session.isKnown && !isPossible(session))
        return;
      try {
        await write(session, state, () => tell(session, state));
        tries = 0;
        session.lateTries = 0;
      } catch (thrown) {
        const isPassing = refused(session, thrown);
        tries += 1;
        // The next progress tries again. An end is tried until Slack's own end of `processing`.
        const isOver = isPassing ? elapsedSince(since, now()) > processingLifetimeMs : tries >= maxTries;
        if (session.wanted === "processing" || !session.isKnown) return;
        if (isOver) return tryLater(session);
        await pause(Math.max(Math.min(waitMs, maxPauseMs), retryAfterOf(thrown)), signal);
      }
    }
  }

  /** A thread that takes nothing, not even the end of the work, may be open again then. Nobody waits for it. */
  function tryLater(session: Session): void {
    if (session.lateTries >= maxLateTries) return;
    session.lateTries += 1;
    void pause(lateMs, signal).then(() => (session.wanted === "processing" ? undefined : goOn(session)));
  }

  async function goOn(session: Session): Promise<void> {
    if (!session.isSending) session.sending = send(session);
    await session.sending;
  }

  /** Returns true if Slack may accept it later. */
  function refused(session: Session, thrown: unknown): boolean {
    const isPassing = thrown instanceof RemoraError && thrown.isRetryable;
    if (!isUndone(thrown)) session.isKnown = true;
    const until = now() + (isPassing ? Math.max(minRestMs, retryAfterOf(thrown)) : restMs);
    session.refusedUntil = until;
    if (isOld() && !isPassing && !isAboutThread(thrown)) oldUntil = 0;
    if (!isAgent && !isAboutThread(thrown)) refusedUntil = until;
    tellOnce("info", "no state for threads; replies show a line instead", { error: messageOf(thrown) });
    return isPassing;
  }

  return (channel, thread) => {
    const session = sessionOf(channel, thread);

    return {
      isPossible: () => isPossible(session),
      async set(state, start) {
        if (start !== undefined && !session.hasTitle) session.start = start;
        session.wanted = state;
        if (!isDue(session)) return;
        if (state === "processing") await goOn(session);
        else await withTimeout(maxWaitMs, goOn(session));
      },
      async starting(call) {
        session.wanted = "processing";
        return await write(session, "processing", call).finally(() => void goOn(session));
      },
      async stopping(state = session.wanted ?? "active", call) {
        session.wanted = state;
        const stop = () => (isOld() ? call({}) : call({ session_status: state }).catch(withoutState));
        // Apps that are no agents may be refused the field, and the text of the call matters more.
        const withoutState = async (thrown: unknown) => {
          if (isAgent || !isUndone(thrown)) throw thrown;
          return await call({});
        };
        return await write(session, state, stop, () => (isOld() ? undefined : state)).finally(() => void goOn(session));
      },
      renamed() {
        session.hasTitle = true;
        session.start = undefined;
      },
    };
  };
}

function isAboutThread(thrown: unknown): boolean {
  return (
    isPlaceProblem(thrown) ||
    isSlackError(thrown, "invalid_thread_ts", "method_not_supported_for_channel_type", "message_not_found")
  );
}

export function saysNoAgent(thrown: unknown): boolean {
  return isSlackError(thrown, ...noAgentErrors);
}

/** Slack has certainly not executed the call. */
function isUndone(thrown: unknown): boolean {
  return thrown instanceof RemoraError && (!thrown.isRetryable || thrown.retryAfterMs !== undefined);
}

function retryAfterOf(thrown: unknown): number {
  return thrown instanceof RemoraError ? (thrown.retryAfterMs ?? 0) : 0;
}
