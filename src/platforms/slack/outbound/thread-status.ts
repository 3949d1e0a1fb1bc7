/**
 * The status of threads ("Remora is running tests · 12 s"), which Slack shows outside messages. It is there at once, before a
 * reply has words. Slack clears it when the app posts in the thread, and after two minutes, so it is renewed while work goes
 * on. In each thread, one call runs at a time and the newest status wins. A status is optional: a failure is logged once, and
 * replies show a line in their message instead for a while.
 */
import { messageOf, RemoraError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import { anyAnswer, type SlackApi } from "../api/api.ts";
import { isPlaceProblem, isSlackError } from "../api/api-problems.ts";
import type { RateLimiter } from "../api/rate-limiter.ts";
import { statusLifetimeMs } from "../limits.ts";
import { beginningOf, wordJoiner } from "./safe-text.ts";

export interface ThreadStatus {
  /** False for a while after Slack has refused a status here. */
  isPossible(): boolean;
  /** Shows the status, or renews it if it is old. An empty one clears it. Never rejects; resolves when Slack has it. */
  show(status: string): Promise<void>;
  /** Shows the status only if the thread has none. */
  begin(status: string): Promise<void>;
  /** Call this when a message was posted in the thread, which clears the status. */
  posted(): void;
}

export interface ThreadStatusesOptions {
  api: SlackApi;
  rateLimiter: RateLimiter;
  log: Log;
  now?: () => number;
}

export type ThreadStatuses = (channel: string, thread: string) => ThreadStatus;

interface State {
  wanted: string;
  /** What Slack shows, as far as is known. */
  shown: string;
  shownAt: number;
  sending: Promise<void> | undefined;
  refusedUntil: number;
}

const restMs = 10 * 60_000;
const minRestMs = 30_000;
const maxThreads = 2_000;
const renewAfterMs = statusLifetimeMs / 5;
/** Slack's clients truncate longer statuses. */
const maxStatusLength = 90;
/** The turn ends soon after; without the call, people would see the status for two more minutes. */
const maxClearMs = 10_000;

export function createThreadStatuses({ api, rateLimiter, log, now = Date.now }: ThreadStatusesOptions): ThreadStatuses {
  const states = createLruMap<State>(maxThreads);
  let refusedUntil = 0;
  let isLogged = false;

  function stateOf(channel: string, thread: string): State {
    const key = `${channel}:${thread}`;
    const known = states.get(key);
    if (known !== undefined) return known;
    const state: State = { wanted: "", shown: "", shownAt: 0, sending: undefined, refusedUntil: 0 };
    states.set(key, state);
    return state;
  }

  function isDue({ wanted, shown, shownAt }: State): boolean {
    return wanted !== shown || (wanted !== "" && now() - shownAt >= renewAfterMs);
  }

  async function send(state: State, place: { channel_id: string; thread_ts: string }): Promise<void> {
    while (isDue(state)) {
      const status = state.wanted;
      if (status !== "" && rateLimiter.take("status") > 0) return;
      Object.assign(state, { shown: status, shownAt: now() });
      try {
        const maxRetryMs = status === "" ? maxClearMs : 0;
        await api.call("assistant.threads.setStatus", { ...place, status }, anyAnswer, { maxRetryMs });
      } catch (thrown) {
        refused(state, thrown);
        return;
      }
    }
  }

  function refused(state: State, thrown: unknown): void {
    state.shown = "";
    const isPassing = thrown instanceof RemoraError && thrown.isRetryable;
    const until = now() + (isPassing ? Math.max(minRestMs, thrown.retryAfterMs ?? 0) : restMs);
    state.refusedUntil = until;
    // A deleted thread says nothing about the others.
    if (!isPlaceProblem(thrown) && !isSlackError(thrown, "invalid_thread_ts")) refusedUntil = until;
    if (!isLogged) log.info({ error: messageOf(thrown) }, "no status for threads; replies show a line instead");
    isLogged = true;
  }

  return (channel, thread) => {
    const place = { channel_id: channel, thread_ts: thread };
    const state = stateOf(channel, thread);
    const isPossible = () => now() >= refusedUntil && now() >= state.refusedUntil;

    async function show(status: string): Promise<void> {
      state.wanted = safeStatus(status);
      if (!isPossible() && state.wanted !== "") return;
      state.sending ??= send(state, place).finally(() => {
        state.sending = undefined;
      });
      await state.sending;
    }

    return {
      isPossible,
      show,
      begin: async (status) => (state.wanted === "" ? await show(status) : undefined),
      posted() {
        state.wanted = "";
        // A call that is still under way may arrive after the post. Then `send` clears the status.
        if (state.sending === undefined) state.shown = "";
      },
    };
  };
}

/** A word joiner breaks Slack's control sequences, should a client read them in a status. */
function safeStatus(status: string): string {
  return beginningOf(status.replaceAll("<", `<${wordJoiner}`), maxStatusLength);
}
