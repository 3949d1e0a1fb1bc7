/**
 * Stores the history of conversations: the newest exchanges, and the summary that replaces older turns (compaction.ts).
 * A single write replaces turns with their summary, so a crash loses neither.
 */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { createKeyedMutex } from "../lib/keyed-mutex.ts";
import type { Log } from "../lib/log.ts";
import { whileLocked } from "../lib/with-lock.ts";
import type { Fence, WithLock } from "../ports/cluster.ts";
import type { ChangedWords } from "../ports/memory.ts";
import { deletedText, type Json, type MessageChange, messageKey } from "../ports/message.ts";
import type { Store } from "../ports/store.ts";
import type { ToolSpec } from "../ports/tool.ts";
import type { TurnRecord } from "../ports/turn.ts";
import {
  type Exchange,
  exchangeOf,
  exchangeSchema,
  isUnsaid,
  likelyOrigins,
  type StoredExchange,
  shortOf,
  withinLimits,
  withoutHeard,
  withoutThinking,
  withTokens,
} from "./history.ts";
import { changedExchange, type MessageChanges, type Place } from "./message-changes.ts";
import { renderSummary, type Summary, summarySchema } from "./summary.ts";

const historySchema = z.discriminatedUnion("version", [
  z.strictObject({ version: z.literal(1), exchanges: z.array(exchangeSchema) }),
  z.strictObject({ version: z.literal(2), exchanges: z.array(exchangeSchema), summary: summarySchema }),
]);

export interface ReadHistory {
  /** Summarises turns that are older than all exchanges. */
  summary?: Summary;
  /** Oldest first. */
  exchanges: Exchange[];
}

export interface History {
  /** Leaves out the exchange of `exceptTurnId`. */
  read(conversationId: string, exceptTurnId: string, tools: readonly ToolSpec[]): Promise<ReadHistory>;
  add(turn: TurnRecord, tools: readonly ToolSpec[]): Promise<void>;
  /** Resolves once it is known that the turn has its messages, so that changes of them reach it. */
  note(turn: TurnRecord): Promise<void>;
  /** The turn with its words as they are now. Of one that still runs, only what was deleted changes. */
  current(turn: TurnRecord, isRunning: boolean): Promise<TurnRecord>;
  /**
   * A message was edited or deleted: changes it in every history that has it, and removes a summary that has what was deleted. Does
   * nothing for a message that no turn has. Resolves to the turns whose own words have changed.
   */
  amend(key: string, change: MessageChange, isTaken: boolean): Promise<ChangedWords[]>;
  /**
   * Replaces these exchanges and the summary `previousId` with `summary`. If any of them has changed since it was read,
   * for example because a person had it removed, or any of `read`, which the model has read beside them, changes nothing and
   * resolves to false.
   */
  replace(
    conversationId: string,
    exchanges: readonly Exchange[],
    previousId: string | undefined,
    summary: Summary,
    read?: readonly Exchange[],
  ): Promise<boolean>;
  /** Removes everything, or only the exchanges and words of `person`, and a summary of any of these. */
  clear(conversationId: string, person?: { platform: string; userId: string }): Promise<void>;
  /** Returns a summary of turns that `person` took part in, as Markdown. */
  exportSummary(
    conversationId: string,
    person: { platform: string; userId: string },
  ): Promise<{ path: string; text: string } | undefined>;
  /** When the history was last added to, and its size in bytes. Undefined if there is none. */
  look(conversationId: string): Promise<{ at: number; bytes: number } | undefined>;
  /** Removes the history if it was last added to before `before`. Resolves to whether it did. */
  removeOlder(conversationId: string, before: number): Promise<boolean>;
  /** Deletes the summary if its retention has expired. */
  prune(conversationId: string): Promise<void>;
}

export interface HistoryOptions {
  store: Store;
  log: Log;
  /** A conversation that has been silent for longer starts without history. Null: always use the history. */
  idleMs: number | null;
  /** A summary is deleted when its oldest turn is older than this. Null: never. */
  summaryRetentionMs?: number | null;
  /** Estimated tokens. A longer history is cut to half of it. */
  maxTokens: number;
  /** Absent for a command, which hears of no edits and deletions. */
  changes?: MessageChanges;
  /** Needed if several processes write histories in the background. */
  withLock?: WithLock;
  now?(): number;
}

type Save = (history: StoredHistory) => Promise<void>;

interface StoredHistory {
  summary?: Summary;
  exchanges: StoredExchange[];
}

export function createHistory(options: HistoryOptions): History {
  const { store, log, idleMs, summaryRetentionMs = null, maxTokens, withLock, changes, now = Date.now } = options;
  const inProcessOrder = createKeyedMutex();

  /** `work` may run again, so it must read what it changes. */
  function inOrder<T>(conversationId: string, work: (save: Save) => Promise<T>): Promise<T> {
    const key = historyKey(conversationId);
    const saveIf = (check: () => void, fence?: Fence) => async (history: StoredHistory) => {
      check();
      await write(key, history, fence);
    };
    return inProcessOrder(conversationId, () =>
      withLock === undefined
        ? work(saveIf(() => {}))
        : whileLocked(withLock, key, (check, fence) => work(saveIf(check, fence))),
    );
  }

  async function parse(conversationId: string): Promise<StoredHistory> {
    const stored = await store.get(historyKey(conversationId));
    if (stored === undefined) return { exchanges: [] };
    const parsed = historySchema.safeParse(stored);
    if (!parsed.success) {
      log.warn({ conversationId, error: parsed.error.message }, "stored history can't be read; starting a new one");
      return { exchanges: [] };
    }
    const { version: _version, ...history } = parsed.data;
    return history;
  }

  const isExpired = (summary: Summary) => summaryRetentionMs !== null && now() - summary.since > summaryRetentionMs;

  async function load(conversationId: string): Promise<StoredHistory> {
    const { exchanges, summary } = await parse(conversationId);
    const newestAt = lastUse({ exchanges, ...(summary === undefined ? {} : { summary }) });
    const isIdle = idleMs !== null && newestAt !== undefined && now() - newestAt > idleMs;
    if (isIdle) return { exchanges: [] };
    return summary === undefined || isExpired(summary) ? { exchanges } : { exchanges, summary };
  }

  async function write(key: string, { summary, exchanges }: StoredHistory, fence: Fence | undefined): Promise<void> {
    if (summary !== undefined) await store.set(key, { version: 2, exchanges, summary } as Json, undefined, fence);
    else if (exchanges.length > 0) await store.set(key, { version: 1, exchanges } as Json, undefined, fence);
    else await store.delete(key, fence);
  }

  function amendAt(place: Place, key: string, change: MessageChange): Promise<ChangedWords[]> {
    const { conversationId, turnId, id, said } = place;
    return inOrder(conversationId, async (save) => {
      const { exchanges, summary } = await load(conversationId);
      const at = exchanges.findIndex((one) => one.turnId === turnId);
      const before = exchanges[at];
      const after = before === undefined ? undefined : changedExchange(before, id, key, change);
      // Who wrote the summary had read the newest turns, too.
      const wasRead = before !== undefined && summary !== undefined && before.endedAt <= summary.at;
      const isSummed = change.type === "deleted" && (wasRead || summary?.turnIds.includes(turnId) === true);
      if (after !== undefined && after !== before) exchanges[at] = withTokens(after);
      // Models may have thought about the words since.
      const changed = exchanges.map((one, index) => (after === before || index < at ? one : withoutThinking(one)));
      if (after !== before || isSummed)
        await save({ exchanges: changed, ...(summary === undefined || isSummed ? {} : { summary }) });
      if (said === undefined || (before !== undefined && after === before)) return [];
      const words = after === undefined ? wordsOfOnly(said.isOnly, change) : wordsOf(after);
      return [{ turnId, scope: said.scope, at: said.at, ...(words === undefined ? {} : { userText: words }) }];
    });
  }

  return {
    async read(conversationId, exceptTurnId, tools) {
      const { exchanges, ...rest } = await load(conversationId);
      const others = exchanges.filter((exchange) => exchange.turnId !== exceptTurnId);
      const sourced = others.map((one) => ({ ...one, origins: one.origins ?? likelyOrigins(one, tools) }));
      return { ...rest, exchanges: sourced };
    },
    add: (turn, tools) =>
      inOrder(turn.conversationId, async (save) => {
        const { exchanges, ...rest } = await load(turn.conversationId);
        // After a crash, a turn may be added again that the summary already covers.
        if (rest.summary?.turnIds.includes(turn.id)) return;
        // Also those of a turn that has ended before the model was asked.
        await changes?.note(turn);
        const current = (await changes?.current(turn, false)) ?? turn;
        const exchange = exchangeOf(current, tools, now(), turn);
        const known = exchanges.findIndex(({ turnId }) => turnId === turn.id);
        if (known === -1 && !isUnsaid(current)) exchanges.push(exchange);
        else if (known !== -1) exchanges[known] = exchange;
        await save({ ...rest, exchanges: withinLimits(exchanges, maxTokens) });
      }),
    note: async (turn) => await changes?.note(turn),
    current: async (turn, isRunning) => (await changes?.current(turn, isRunning)) ?? turn,
    async amend(key, change, isTaken) {
      const changed: ChangedWords[] = [];
      for (const place of (await changes?.keep(key, change, isTaken)) ?? [])
        changed.push(...(await amendAt(place, key, change)));
      return changed;
    },
    replace: (conversationId, replaced, previousId, summary, read = []) =>
      inOrder(conversationId, async (save) => {
        const { exchanges, summary: stored } = await load(conversationId);
        const byId = new Map(exchanges.map((exchange) => [exchange.turnId, exchange]));
        const isSame = [...replaced, ...read].every((one) => isUnchanged(one, byId.get(one.turnId)));
        if (stored?.id !== previousId || !isSame) return false;
        for (const { turnId } of replaced) byId.delete(turnId);
        const kept = [...byId.values()];
        // At once, because the summary changes the beginning of the prompt anyway.
        await save({ summary, exchanges: [...kept.slice(0, -1).map(shortOf), ...kept.slice(-1)] });
        return true;
      }),
    clear: (conversationId, person) =>
      inOrder(conversationId, async (save) => {
        if (person === undefined) return await save({ exchanges: [] });
        const authorId = `${person.platform}:${person.userId}`;
        const { exchanges, summary } = await load(conversationId);
        const isOthers = ({ messages }: StoredExchange) => messages.every((message) => message.authorId !== authorId);
        const { others = [], own = [] } = Object.groupBy(exchanges, (one) => (isOthers(one) ? "others" : "own"));
        const ids = own.flatMap(({ messages }) => messages.flatMap(({ id }) => id ?? []));
        await changes?.forget(ids.map((id) => messageKey(person.platform, id)));
        const kept = others.map((one) => withoutThinking(withoutHeard(one, authorId, person.userId)));
        const isTheirs = summary === undefined || [...summary.authorIds, ...summary.heardIds].includes(authorId);
        await save(isTheirs ? { exchanges: kept } : { summary, exchanges: kept });
      }),
    async exportSummary(conversationId, { platform, userId }) {
      const { summary } = await load(conversationId);
      if (summary?.authorIds.includes(`${platform}:${userId}`) !== true) return undefined;
      return { path: `summary of ${conversationId}`, text: renderSummary(summary) };
    },
    async look(conversationId) {
      const history = await parse(conversationId);
      const at = lastUse(history);
      return at === undefined ? undefined : { at, bytes: Buffer.byteLength(JSON.stringify(history)) };
    },
    removeOlder: (conversationId, before) =>
      inOrder(conversationId, async (save) => {
        const at = lastUse(await parse(conversationId));
        if (at === undefined || at >= before) return false;
        await save({ exchanges: [] });
        return true;
      }),
    prune: (conversationId) =>
      inOrder(conversationId, async (save) => {
        const { exchanges, summary } = await parse(conversationId);
        if (summary !== undefined && isExpired(summary)) await save({ exchanges });
      }),
  };
}

/** Ignores origins, because `read` adds them to exchanges that were stored by earlier versions. */
function isUnchanged({ origins: _read, ...exchange }: Exchange, stored: StoredExchange | undefined): boolean {
  if (stored === undefined) return false;
  const { origins: _stored, ...rest } = stored;
  return isDeepStrictEqual(exchange, rest);
}

/** Undefined if nothing is left of them. */
function wordsOf({ messages }: StoredExchange): string | undefined {
  const isGone = messages.every(({ text }) => text === deletedText);
  return isGone ? undefined : messages.map(({ text }) => text).join("\n\n");
}

/** Of a turn that no history has any more. What others of its messages said is not known. */
function wordsOfOnly(isOnly: boolean, change: MessageChange): string | undefined {
  return isOnly && change.type === "edited" ? change.text : undefined;
}

function lastUse({ exchanges, summary }: StoredHistory): number | undefined {
  return exchanges.at(-1)?.endedAt ?? summary?.at;
}

function historyKey(conversationId: string): string {
  return `history:${conversationId}`;
}
