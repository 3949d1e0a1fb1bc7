/**
 * Lets each signed request run once, in any process and after a restart. A stranger who has captured one could send it again
 * for as long as its time is accepted. Its key is the hash that was computed here, which has one spelling.
 *
 * Slack sends an event again, with the same bytes and a new time, until it is acknowledged; that is another request. Only one
 * of the same second is the same. So what failed, or what a dead process has left, may run again, and what still runs is waited
 * for.
 */
import { randomUUID } from "node:crypto";
import { pause } from "../../../lib/backoff.ts";
import type { Ledger } from "../../../ports/ledger.ts";
import { signatureLifetimeMs } from "../limits.ts";

export interface SignedRequests {
  /** Only after `run`, the request may be run, and `done` or `failed` must follow. After `busy`, it may come again. */
  begin(hash: string): Promise<"run" | "done" | "busy">;
  /** Call it before anything that must not happen twice. Rejects if it can't be stored, or another process has taken over. */
  done(hash: string): Promise<void>;
  failed(hash: string): Promise<void>;
}

export interface SignedRequestsOptions {
  ledger: Pick<Ledger, "create" | "get" | "transition">;
  /** Other processes use the ledger too. */
  isShared: boolean;
}

const kind = "signed-request";
/** Slack gives a request up after three seconds, so nothing that takes longer is waited for. */
const maxTakenMs = 2_500;
const lookEveryMs = 50;
/** A time may be ahead of the clock, too, and clocks of processes differ. */
const keptMs = 3 * signatureLifetimeMs;

export function createSignedRequests({ ledger, isShared }: SignedRequestsOptions): SignedRequests {
  const self = randomUUID();

  /** Without other processes, only this one can be alive. */
  function isLeft(process: string, takenAt: number): boolean {
    return process !== self && (!isShared || Date.now() - takenAt >= maxTakenMs);
  }

  async function take(hash: string): Promise<boolean> {
    const body = { process: self, takenAt: Date.now() };
    if (await ledger.create(kind, hash, { state: "taken", body, group: "slack" })) return true;
    const taken = await ledger.transition(kind, hash, ["taken"], "taken", ({ process, takenAt }) =>
      process === null || isLeft(process, takenAt) ? body : undefined,
    );
    return taken !== undefined;
  }

  return {
    async begin(hash) {
      const until = performance.now() + maxTakenMs;
      while (!(await take(hash))) {
        if ((await ledger.get(kind, hash))?.state === "done") return "done";
        if (performance.now() > until) return "busy";
        await pause(lookEveryMs, new AbortController().signal);
      }
      return "run";
    },
    async done(hash) {
      const own = await ledger.transition(kind, hash, ["taken", "done"], "done", (body) =>
        body.process === self ? body : undefined,
      );
      // This process has stalled for longer than others wait, and one of them runs the request.
      if (own === undefined) throw new Error("another process has taken over this request");
    },
    async failed(hash) {
      await ledger.transition(kind, hash, ["taken"], "taken", (body) =>
        body.process === self ? { ...body, process: null } : undefined,
      );
    },
  };
}

export async function pruneSignedRequests(ledger: Pick<Ledger, "prune">): Promise<void> {
  await ledger.prune(kind, ["taken", "done"], Date.now() - keptMs);
}
