/**
 * Compaction: when the history of a conversation outgrows its share of the budget, the model summarises the older part.
 *
 *   1. after a turn has ended, in the background: take the conversation's compaction lease so that only one process
 *      compacts it
 *   2. choose the turns to summarise; the newest stay as they are
 *   3. ask the model within the usage limits, with a time limit: behind the prompt of the last request, which the service has in its
 *      cache, or apart if that does not fit
 *   4. replace the turns with the summary if all of them still exist
 *
 * Nothing waits for compaction. A failure changes nothing, and a later turn tries again.
 */
import PQueue from "p-queue";
import { messageOf, RemoraError, remoraErrorIn } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { createLruMap } from "../lib/lru-map.ts";
import type { Leases } from "../ports/cluster.ts";
import type { Events } from "../ports/events.ts";
import type { Scope } from "../ports/message.ts";
import type { Provider } from "../ports/provider.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { requesterOf, type TurnRecord } from "../ports/turn.ts";
import type { ReadModel } from "../ports/turn-deps.ts";
import { type AdmittedCall, type Payer, payerOf, type UsageMeter } from "../ports/usage.ts";
import type { ContinuedPrompts } from "./assemble.ts";
import type { Exchange } from "./history.ts";
import type { History, ReadHistory } from "./history-store.ts";
import { summaryOf } from "./summary.ts";
import { continuedInstruction, draftSummary, type SummaryDraft } from "./summary-request.ts";

export interface Compactor {
  /** Call after the turn has ended. Returns at once and never throws. */
  consider(turn: TurnRecord): void;
  whenIdle(): Promise<void>;
  /** Aborts what is running. */
  close(): Promise<void>;
}

export interface CompactorOptions {
  history: History;
  provider: Provider;
  readModel: ReadModel;
  usage: Pick<UsageMeter, "admitAside">;
  leases: Pick<Leases, "acquire">;
  events: Events;
  log: Log;
  /** Estimated tokens of the complete prompt, and of the history's share of it. */
  contextTokens: number;
  historyTokens: number;
  maxOutputTokens: number;
  tools(conversationId: string): readonly ToolSpec[];
  preferredModel?(conversationId: string, scope: Scope): Promise<string | undefined>;
  endUserOf?(person: Pick<Payer, "platform" | "user">): Promise<string | undefined>;
  /** Without it, each summary has a prompt of its own, which no service has in its cache. */
  continued?: ContinuedPrompts["continued"];
  maxDurationMs?: number;
  now?(): number;
}

/** Limited so that summaries do not slow down answers. */
const maxParallel = 2;
/** A slow server reads for minutes. People's requests don't wait for it. */
const defaultMaxDurationMs = 15 * 60_000;
const maxSummaryTokens = 4_000;
/** Minimum history budget so that even a share of 0 % leaves room for a summary. */
const minHistoryTokens = 500;
const minKeptExchanges = 2;
/** Lower than the limits in history.ts, which would otherwise drop exchanges before they are summarised. */
const maxStoredExchanges = 200;
/** How many turns must end before the next attempt, by the number of failures in a row. */
const turnsBeforeRetry = [0, 1, 3, 7, 15] as const;
const maxRememberedFailures = 1_000;

export function createCompactor(options: CompactorOptions): Compactor {
  const { history, leases, usage, log, now = Date.now } = options;
  const historyTokens = Math.max(options.historyTokens, minHistoryTokens);
  const pool = new PQueue({ concurrency: maxParallel });
  const closing = new AbortController();
  const pending = new Set<string>();
  const failures = createLruMap<{ count: number; turnsToPass: number }>(maxRememberedFailures);

  function isPassed(conversationId: string): boolean {
    const failed = failures.get(conversationId);
    if (failed === undefined || failed.turnsToPass === 0) return false;
    failures.set(conversationId, { ...failed, turnsToPass: failed.turnsToPass - 1 });
    return true;
  }

  async function attempt(turn: TurnRecord): Promise<void> {
    const { conversationId } = turn;
    const lease = await leases.acquire(`compaction:${conversationId}`);
    if (lease === undefined) return;
    const { maxDurationMs = defaultMaxDurationMs } = options;
    const timeLimit = AbortSignal.timeout(maxDurationMs);
    try {
      await compact(turn, AbortSignal.any([closing.signal, lease.signal, timeLimit]));
      failures.delete(conversationId);
    } catch (thrown) {
      throw timeLimit.aborted && !isBusy(thrown) ? tooSlow(maxDurationMs) : thrown;
    } finally {
      await lease.release();
    }
  }

  async function compact(turn: TurnRecord, signal: AbortSignal): Promise<void> {
    const { conversationId } = turn;
    const stored = await history.read(conversationId, "", options.tools(conversationId));
    const older = olderExchanges(stored, historyTokens);
    if (older.length === 0 || signal.aborted) return;
    const permit = await usage.admitAside(payerOf(turn), {}, signal);
    if (permit.type !== "admitted") {
      log.info({ conversationId, code: permit.code }, "the usage limits leave nothing to summarise older turns");
      return;
    }
    try {
      await summarize(turn, stored, older, permit, signal);
    } finally {
      await permit.end();
    }
  }

  async function draft(turn: TurnRecord, stored: ReadHistory, older: readonly Exchange[]): Promise<SummaryDraft> {
    const { contextTokens: promptTokens, maxOutputTokens } = options;
    const limits = { promptTokens, maxOutputTokens, summaryTokens: summaryTokens(historyTokens) };
    const text = continuedInstruction(stored.exchanges, older.length, limits.summaryTokens);
    // After a failure apart, for example because the model called a tool instead.
    const hasFailed = failures.get(turn.conversationId) !== undefined;
    const whole = hasFailed ? undefined : await options.continued?.(turn, stored, text);
    return draftSummary(stored, older, whole, limits);
  }

  async function summarize(
    turn: TurnRecord,
    stored: ReadHistory,
    older: readonly Exchange[],
    permit: AdmittedCall,
    signal: AbortSignal,
  ): Promise<void> {
    const { conversationId, scope } = turn;
    const began = now();
    const { request, read, ...drafted } = await draft(turn, stored, older);
    const preferredModel = await options.preferredModel?.(conversationId, scope);
    const endUser = await options.endUserOf?.(payerOf(turn));
    const asked = {
      ...request,
      isBackground: true as const,
      ...(permit.isWithoutFallback === true ? { isWithoutFallback: true } : {}),
      ...(preferredModel === undefined ? {} : { preferredModel }),
      ...(endUser === undefined ? {} : { endUser }),
    };
    const answer = await options.readModel(options.provider.stream(asked, signal), [], new Set(), { onText: () => {} });
    for (const { model, usage } of answer.broken)
      if (usage !== undefined) await permit.count({ model, usage, addedMs: 0 });
    if (answer.type === "failed") throw answer.error;
    const { text, model, usage: used } = answer;
    await permit.count({ model, usage: used, addedMs: 0 });
    if (text.trim() === "" || answer.calls.length > 0) throw noSummary(model, answer.calls.length > 0);
    const [taken, previousId] = [drafted.taken(), stored.summary?.id];
    const maxTokens = summaryTokens(historyTokens);
    const summary = summaryOf(stored.summary, taken, { text, model, at: now(), maxTokens, read });
    const isKept = await history.replace(conversationId, taken, previousId, summary, read);
    options.events.emit("context.compacted", {
      ...{ turnId: turn.id, conversationId, userId: requesterOf(turn).id },
      ...{ turns: taken.length, isKept, model, usage: used, durationMs: now() - began },
    });
  }

  function failed(conversationId: string, thrown: unknown): void {
    // After a later turn there may be room.
    if (closing.signal.aborted || isBusy(thrown)) return;
    const count = (failures.get(conversationId)?.count ?? 0) + 1;
    failures.set(conversationId, { count, turnsToPass: turnsBeforeRetry[count - 1] ?? Math.max(...turnsBeforeRetry) });
    log.warn(
      { conversationId, failures: count, error: messageOf(thrown) },
      "could not summarise older turns; a later turn tries again",
    );
  }

  return {
    consider(turn) {
      const { conversationId } = turn;
      if (closing.signal.aborted || pending.has(conversationId) || isPassed(conversationId)) return;
      pending.add(conversationId);
      const slim = withoutContents(turn);
      void pool.add(async () => {
        await attempt(slim).catch((thrown: unknown) => failed(conversationId, thrown));
        pending.delete(conversationId);
      });
    },
    whenIdle: () => pool.onIdle(),
    async close() {
      closing.abort();
      pool.clear();
      await pool.onIdle();
    },
  };
}

/**
 * Returns the exchanges to summarise, oldest first. Returns none until the history outgrows its share, then enough to
 * free about half of the share, so the next compaction is not due soon.
 */
function olderExchanges({ summary, exchanges }: ReadHistory, historyTokens: number): Exchange[] {
  const tokens = sum(exchanges, (exchange) => exchange.tokens.fresh) + (summary?.tokens ?? 0);
  if (tokens <= historyTokens && exchanges.length <= maxStoredExchanges) return [];
  let [kept, keptTokens] = [0, 0];
  for (const { tokens: own } of exchanges.toReversed()) {
    // The others are shortened then.
    keptTokens += kept === 0 ? own.fresh : own.stale;
    const isOver = keptTokens > historyTokens / 2 || kept >= maxStoredExchanges / 2;
    if (isOver && kept >= minKeptExchanges) break;
    kept += 1;
  }
  return exchanges.slice(0, exchanges.length - kept);
}

function summaryTokens(historyTokens: number): number {
  return Math.min(maxSummaryTokens, Math.floor(historyTokens / 4));
}

function sum(exchanges: readonly Exchange[], tokensOf: (exchange: Exchange) => number): number {
  return exchanges.reduce((total, exchange) => total + tokensOf(exchange), 0);
}

/** Omits large contents, because the turn may wait in the queue. */
function withoutContents(turn: TurnRecord): TurnRecord {
  return { ...turn, steps: [], messages: turn.messages.map((message) => ({ ...message, text: "", attachments: [] })) };
}

function noSummary(model: string, hasCalled: boolean): RemoraError {
  return new RemoraError({
    code: "context.empty-summary",
    place: "context",
    message: hasCalled ? `${model} called a tool instead of writing the summary` : `${model} wrote no summary`,
    isRetryable: true,
  });
}

/** People's requests went first. */
function isBusy(thrown: unknown): boolean {
  return remoraErrorIn(thrown)?.code === "provider.busy";
}

function tooSlow(maxDurationMs: number): RemoraError {
  return new RemoraError({
    code: "context.slow-summary",
    place: "context",
    message: `the model did not finish the summary within ${Math.ceil(maxDurationMs / 1_000)} s`,
    isRetryable: true,
  });
}
