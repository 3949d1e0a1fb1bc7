/**
 * Tells the owners by direct message when something breaks, and when it works again. A problem counts once it has lasted a
 * moment. Every notice goes out once; what was told is kept in the store, so a restart does not repeat it.
 *
 * The services that still work carry the notice. If none of them reaches an owner, the notice waits until one does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { peopleAmong } from "../lib/approver-entry.ts";
import { elapsedSince } from "../lib/elapsed.ts";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { HealthCheck } from "../ports/health.ts";
import type { Store } from "../ports/store.ts";
import { brokenText, type OwnerProblem, problemsOf, type ServiceState, worksText } from "./owner-notice-text.ts";

export interface OwnerNoticesOptions {
  checks(): readonly HealthCheck[];
  services(): readonly ServiceState[];
  /** `safety.owners`. */
  owners(): readonly string[];
  /** Sends Markdown by direct message. A repeated `key` sends nothing. Rejects if it fails. */
  send(message: { service: string; userId: string; text: string; key: string }): Promise<void>;
  store: Store;
  /** A problem that is over sooner is not told, in milliseconds. */
  minProblemMs: number;
  log: Log;
}

export interface OwnerNotices {
  /** Call it regularly. Sends in the background. */
  sweep(now: number): Promise<void>;
  /** The previous process did not shut down. Told at most once an hour. */
  restarted(text: string): void;
}

/** A part that breaks again and again is told this often. */
const minRepeatMs = 600_000;
const minRestartNoticeMs = 3_600_000;
const retryMs = 60_000;
const storeKey = "health:told";
const restart = "restart";

const toldSchema = z.record(
  z.string(),
  z.object({ at: z.number(), isOver: z.boolean(), problem: z.object({ name: z.string(), text: z.string() }) }),
);
type Told = z.infer<typeof toldSchema>;

export function createOwnerNotices(options: OwnerNoticesOptions): OwnerNotices {
  const { checks, services, store, minProblemMs, log } = options;
  let told: Told | undefined;
  /** Since when a problem lasts, or is over. */
  const broken = new Map<string, number>();
  const over = new Map<string, number>();
  let restartText: string | undefined;
  let sending: Promise<void> | undefined;
  let pausedAt = Number.NEGATIVE_INFINITY;

  async function load(): Promise<Told> {
    told ??= toldSchema.catch({}).parse((await atMostASecond(store.get(storeKey))) ?? {});
    return told;
  }

  /** What a full disk or an unreachable Redis does not keep is known to this process only. */
  async function save(known: Told): Promise<void> {
    await atMostASecond(store.set(storeKey, known));
  }

  async function atMostASecond<T>(work: Promise<T>): Promise<T | undefined> {
    const failed = (thrown: unknown) => {
      log.debug({ error: messageOf(thrown) }, "could not keep or read what the owners were told");
      return undefined;
    };
    return await Promise.race([work.catch(failed), sleep(1_000, undefined, { ref: false })]);
  }

  function receivers(): { service: string; userId: string }[] {
    const working = services().filter(({ isConnected }) => isConnected);
    return working.flatMap(({ name }) =>
      peopleAmong(options.owners(), name).map((userId) => ({ service: name, userId })),
    );
  }

  function look(known: Told, now: number): { news: OwnerProblem[]; solved: OwnerProblem[] } {
    const problems = new Map(problemsOf(checks(), services()).map((problem) => [problem.name, problem]));
    for (const name of broken.keys()) if (!problems.has(name)) broken.delete(name);
    for (const name of problems.keys()) if (!broken.has(name)) broken.set(name, now);
    for (const name of over.keys()) if (problems.has(name)) over.delete(name);
    const lasts = (since: number | undefined) => since !== undefined && now - since >= minProblemMs;
    const news = [...problems.values()].filter(({ name, isTold = false }) => {
      const last = known[name];
      return (
        !isTold && lasts(broken.get(name)) && (last === undefined || (last.isOver && now - last.at >= minRepeatMs))
      );
    });
    const solved = Object.entries(known).flatMap(([name, { isOver, problem }]) => {
      if (isOver || problems.has(name)) return [];
      if (!over.has(name)) over.set(name, now);
      return lasts(over.get(name)) ? [problem] : [];
    });
    return { news, solved };
  }

  function takeRestart(known: Told, now: number): string[] {
    const text = restartText;
    const last = known[restart];
    if (text === undefined) return [];
    restartText = undefined;
    if (last !== undefined && now - last.at < minRestartNoticeMs) return [];
    known[restart] = { at: now, isOver: true, problem: { name: restart, text } };
    return [text];
  }

  async function sendAll(to: { service: string; userId: string }[], text: string, now: number): Promise<boolean> {
    const sent = await Promise.all(
      to.map(async ({ service, userId }) => {
        try {
          await options.send({ service, userId, text, key: `health:${now}:${userId}` });
          return true;
        } catch (thrown) {
          log.warn({ service, person: userId, error: messageOf(thrown) }, "could not tell an owner about a problem");
          return false;
        }
      }),
    );
    return sent.includes(true);
  }

  return {
    async sweep(now) {
      const known = await load();
      const { news, solved } = look(known, now);
      const to = receivers();
      if (sending !== undefined || to.length === 0 || elapsedSince(pausedAt, now) < retryMs) return;
      const lines = [...takeRestart(known, now), ...news.map(brokenText), ...solved.map(worksText)];
      if (lines.length === 0) return;
      const before = structuredClone(known);
      for (const problem of news) known[problem.name] = { at: now, isOver: false, problem };
      for (const { name } of solved) if (known[name] !== undefined) known[name].isOver = true;
      await save(known);
      sending = sendAll(to, lines.join("\n\n"), now).then(async (isSent) => {
        if (!isSent) {
          // A restart is told at most once, so it is part of `before`.
          told = before;
          pausedAt = now;
          await save(before);
        }
        sending = undefined;
      });
    },
    restarted(text) {
      restartText = text;
    },
  };
}
