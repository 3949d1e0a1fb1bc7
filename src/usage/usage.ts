/**
 * Measures model use: calls, tokens, cost and Remora's own latency, by day (UTC), person, channel and conversation.
 *
 *   admit   before a model call: checks today's limits
 *   count   after a model call: adds to the day's counts
 *
 * Counts are ledger entries that grow by compare-and-set, so several processes can count. Each running call reserves
 * the tokens of the day's average call, because otherwise simultaneous calls could exceed the limit together.
 */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Ledger } from "../ports/ledger.ts";
import { callsOf, requesterOf, type TurnRecord } from "../ports/turn.ts";
import {
  dayOf,
  type ModelCall,
  type Permit,
  summed,
  tokensOf,
  type UsageCount,
  type UsageLimits,
  type UsageMeter,
  usageSubject,
} from "../ports/usage.ts";
import { costOf, type Prices } from "./prices.ts";

export interface UsageOptions {
  ledger: Ledger;
  prices: Prices;
  limits: UsageLimits;
  log: Log;
  now?: () => number;
}

const dayMs = 86_400_000;
const maxKeptMs = 62 * dayMs;
/** Tokens reserved for a running call on a day without counts. */
const defaultCallTokens = 4_000;

export function createUsageMeter(options: UsageOptions): UsageMeter {
  const { ledger, prices, log, now = Date.now } = options;
  const runningCalls = new Map<string, number>();
  let last: Promise<unknown> = Promise.resolve();
  let batch: ReturnType<typeof startBatch> | undefined;

  /** Runs work in order, because checking a limit and reserving under it must not interleave with counting. */
  function inOrder<T>(work: () => Promise<T>): Promise<T> {
    // A keyed mutex would not work, because `work` must not begin before `startBatch` has returned.
    const result = last.then(work, work);
    last = result;
    return result;
  }

  /** Collects the counts that arrive during a write, and writes them once per subject. */
  function add(subjects: readonly string[], more: UsageCount, counted: () => void): Promise<void> {
    batch ??= startBatch();
    const { counts, onCounted, written } = batch;
    for (const subject of subjects) {
      const key = `${more.day} ${subject}`;
      const known = counts.get(key);
      counts.set(key, { subject, more: known === undefined ? more : summed(known.more, more) });
    }
    onCounted.push(counted);
    return written;
  }

  function startBatch() {
    const counts = new Map<string, { subject: string; more: UsageCount }>();
    const onCounted: (() => void)[] = [];
    const written = inOrder(async () => {
      batch = undefined;
      try {
        for (const { subject, more } of counts.values()) await write(subject, more);
      } catch (thrown) {
        report(thrown);
      }
      for (const counted of onCounted) counted();
    });
    return { counts, onCounted, written };
  }

  async function write(subject: string, more: UsageCount): Promise<void> {
    const id = `${more.day} ${subject}`;
    const sum = (known: UsageCount) => summed(known, more);
    while ((await ledger.transition("usage", id, ["counted"], "counted", sum)) === undefined) {
      if (await ledger.create("usage", id, { state: "counted", body: more, group: subject })) return;
    }
  }

  async function limitRefusal(turn: TurnRecord, watched: Watched[]): Promise<Permit | undefined> {
    for (const { subject, limit, whose, key } of watched) {
      const entry = await ledger.get("usage", `${dayOf(now())} ${subject}`);
      const used = entry === undefined ? 0 : tokensOf(entry.body);
      const average = entry === undefined ? defaultCallTokens : used / entry.body.calls;
      const expected = used + (runningCalls.get(subject) ?? 0) * average;
      if (expected < limit) continue;
      const sentence = used < limit ? busyText(whose, limit) : usedUpText({ whose, key, used, limit, now: now() });
      return { type: "refused", code: `usage.${key}`, sentence: sentence + earlierCallsText(turn) };
    }
    return undefined;
  }

  function reserve(subjects: string[], by: 1 | -1): void {
    for (const subject of subjects) {
      const count = (runningCalls.get(subject) ?? 0) + by;
      if (count === 0) runningCalls.delete(subject);
      else runningCalls.set(subject, count);
    }
  }

  function permit(turn: TurnRecord, held: string[]): Permit {
    let isOver = false;
    const end = () => {
      if (!isOver) reserve(held, -1);
      isOver = true;
    };
    reserve(held, 1);
    const count = async ({ model, usage, addedMs }: ModelCall) => {
      const cost = costOf(model, usage, prices);
      const counts = { day: dayOf(now()), calls: 1, ...usage, addedMs, cost: cost ?? 0 };
      await add(subjectsOf(turn), { ...counts, unpricedCalls: cost === undefined ? 1 : 0 }, end);
    };
    return { type: "admitted", count, end };
  }

  function report(thrown: unknown): undefined {
    log.error({ error: messageOf(thrown) }, "could not count or look up usage");
  }

  return {
    async admit(turn) {
      const watched = limitsFor(turn, options.limits);
      const held = watched.map(({ subject }) => subject);
      if (watched.length === 0) return permit(turn, held);
      return await inOrder(async () => (await limitRefusal(turn, watched).catch(report)) ?? permit(turn, held));
    },
    async days(subject) {
      const entries = await ledger.list("usage", { group: subject });
      return entries.map((entry) => entry.body).sort((one, other) => (one.day < other.day ? 1 : -1));
    },
    async prune() {
      await ledger.prune("usage", ["counted"], now() - maxKeptMs);
    },
  };
}

interface Watched {
  subject: string;
  limit: number;
  whose: string;
  key: keyof UsageLimits;
}

function subjectsOf(turn: TurnRecord): string[] {
  const { platform } = turn.target;
  return [
    usageSubject.user(platform, requesterOf(turn).id),
    usageSubject.scope(platform, turn.scope),
    usageSubject.conversation(turn.conversationId),
    usageSubject.everyone,
  ];
}

/** In a DM, only the person's limit applies. */
function limitsFor(turn: TurnRecord, { userTokensPerDay, channelTokensPerDay }: UsageLimits): Watched[] {
  const { platform } = turn.target;
  const { id, name } = requesterOf(turn);
  const user = { subject: usageSubject.user(platform, id), whose: name, key: "userTokensPerDay" as const };
  const channel = {
    subject: usageSubject.scope(platform, turn.scope),
    whose: "this channel",
    key: "channelTokensPerDay" as const,
  };
  return [
    ...(userTokensPerDay === null ? [] : [{ ...user, limit: userTokensPerDay }]),
    ...(channelTokensPerDay === null || !turn.scope.startsWith("channel:")
      ? []
      : [{ ...channel, limit: channelTokensPerDay }]),
  ];
}

function usedUpText({ whose, key, used, limit, now }: Omit<Watched, "subject"> & { used: number; now: number }) {
  const minutes = Math.ceil((dayMs - (now % dayMs)) / 60_000);
  const left = `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return (
    `Today's tokens of ${whose} are used up: ${used.toLocaleString("en")} of ${limit.toLocaleString("en")}. ` +
    `I did not ask the model. The limit resets at 00:00 UTC, in ${left}. An operator can raise limits.${key}.`
  );
}

function busyText(whose: string, limit: number): string {
  return (
    `Requests that are running now may use up today's ${limit.toLocaleString("en")} tokens of ${whose}. ` +
    "I did not ask the model. Please ask again when they are done."
  );
}

function earlierCallsText(turn: TurnRecord): string {
  const ran = callsOf(turn).flatMap(({ call, result }) =>
    call === undefined || result === undefined ? [] : `\`${call.name}\` (${result.status})`,
  );
  return ran.length === 0 ? "" : ` Before that I had called: ${ran.join(", ")}.`;
}
