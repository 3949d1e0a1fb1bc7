/**
 * What the models were used for: calls, tokens, cost and our own share of the waiting, by day and by who and where.
 *
 *   admit   before a model is asked: is there anything left of today's limits?
 *   count   when it has answered: added to the day's figures of the person, the channel, the conversation and all
 *
 * Figures are ledger entries that grow by compare-and-set, so that turns that end at the same time, also in several
 * processes, are all counted. Days are UTC. A call that is under way holds as much of a limit as the day's average call,
 * so that many at once don't all pass a limit that one of them reaches.
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
const keptMs = 62 * dayMs;
/** What a call under way is taken for on a day without any figures. */
const firstCallTokens = 4_000;

export function createUsageMeter(options: UsageOptions): UsageMeter {
  const { ledger, prices, log, now = Date.now } = options;
  const underWay = new Map<string, number>();
  let last: Promise<unknown> = Promise.resolve();
  let gathered: ReturnType<typeof gather> | undefined;

  /** One after the other, so that nothing is counted between the look at a limit and the place taken under it. */
  function inOrder<T>(work: () => Promise<T>): Promise<T> {
    const mine = last.then(work, work);
    last = mine;
    return mine;
  }

  /** What comes while figures are being written is summed up, and written together, once for each subject. */
  function add(subjects: readonly string[], more: UsageCount, counted: () => void): Promise<void> {
    gathered ??= gather();
    const { figures, onCounted, written } = gathered;
    for (const subject of subjects) {
      const key = `${more.day} ${subject}`;
      const known = figures.get(key);
      figures.set(key, { subject, more: known === undefined ? more : summed(known.more, more) });
    }
    onCounted.push(counted);
    return written;
  }

  function gather() {
    const figures = new Map<string, { subject: string; more: UsageCount }>();
    const onCounted: (() => void)[] = [];
    const written = inOrder(async () => {
      gathered = undefined;
      try {
        for (const { subject, more } of figures.values()) await write(subject, more);
      } catch (thrown) {
        report(thrown);
      }
      for (const counted of onCounted) counted();
    });
    return { figures, onCounted, written };
  }

  async function write(subject: string, more: UsageCount): Promise<void> {
    const id = `${more.day} ${subject}`;
    const sum = (known: UsageCount) => summed(known, more);
    while ((await ledger.transition("usage", id, ["counted"], "counted", sum)) === undefined) {
      if (await ledger.create("usage", id, { state: "counted", body: more, group: subject })) return;
    }
  }

  async function refusalOf(turn: TurnRecord, watched: Watched[]): Promise<Permit | undefined> {
    for (const { subject, limit, whose, key } of watched) {
      const entry = await ledger.get("usage", `${dayOf(now())} ${subject}`);
      const used = entry === undefined ? 0 : tokensOf(entry.body);
      const average = entry === undefined ? firstCallTokens : used / entry.body.calls;
      const expected = used + (underWay.get(subject) ?? 0) * average;
      if (expected < limit) continue;
      const sentence = used < limit ? busyText(whose, limit) : usedUpText({ whose, key, used, limit, now: now() });
      return { type: "refused", code: `usage.${key}`, sentence: sentence + ranBefore(turn) };
    }
    return undefined;
  }

  function take(subjects: string[], by: 1 | -1): void {
    for (const subject of subjects) {
      const count = (underWay.get(subject) ?? 0) + by;
      if (count === 0) underWay.delete(subject);
      else underWay.set(subject, count);
    }
  }

  function permit(turn: TurnRecord, held: string[]): Permit {
    let isOver = false;
    const end = () => {
      if (!isOver) take(held, -1);
      isOver = true;
    };
    take(held, 1);
    const count = async ({ model, usage, addedMs }: ModelCall) => {
      const cost = costOf(model, usage, prices);
      const figures = { day: dayOf(now()), calls: 1, ...usage, addedMs, cost: cost ?? 0 };
      await add(subjectsOf(turn), { ...figures, unpricedCalls: cost === undefined ? 1 : 0 }, end);
    };
    return { type: "admitted", count, end };
  }

  function report(thrown: unknown): undefined {
    log.error({ error: messageOf(thrown) }, "usage could not be counted or looked up");
  }

  return {
    async admit(turn) {
      const watched = watchedOf(turn, options.limits);
      const held = watched.map(({ subject }) => subject);
      if (watched.length === 0) return permit(turn, held);
      return await inOrder(async () => (await refusalOf(turn, watched).catch(report)) ?? permit(turn, held));
    },
    async days(subject) {
      const entries = await ledger.list("usage", { group: subject });
      return entries.map((entry) => entry.body).sort((one, other) => (one.day < other.day ? 1 : -1));
    },
    async prune() {
      await ledger.prune("usage", ["counted"], now() - keptMs);
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

/** A DM has its person's limit alone. */
function watchedOf(turn: TurnRecord, { userTokensPerDay, channelTokensPerDay }: UsageLimits): Watched[] {
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
    `I did not ask the model. The count starts anew at 00:00 UTC, in ${left}; whoever runs me can raise limits.${key}.`
  );
}

function busyText(whose: string, limit: number): string {
  return (
    `What runs now may use up what is left of the ${limit.toLocaleString("en")} tokens of ${whose} for today. ` +
    "I did not ask the model; please ask again when that is done."
  );
}

/** A turn that is paused between its steps says what it has done. */
function ranBefore(turn: TurnRecord): string {
  const ran = callsOf(turn).flatMap(({ call, result }) =>
    call === undefined || result === undefined ? [] : `\`${call.name}\` (${result.status})`,
  );
  return ran.length === 0 ? "" : ` Before that I had called: ${ran.join(", ")}.`;
}
