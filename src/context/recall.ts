/**
 * Finds memories for a turn. Searches once and keeps the result so that all steps have the same prompt prefix.
 * `prepare` starts the search when a message arrives, in parallel with storing it. The turn uses that result only if it
 * is recent and for the same message. After a failed search the turn continues without memories. What the turn has shown is
 * saved with it (shown.ts), so a process that takes it over searches only for what later messages need.
 */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { createLruMap } from "../lib/lru-map.ts";
import type { Memory, MemoryHit } from "../ports/memory.ts";
import type { InboundMessage } from "../ports/message.ts";
import type { NoteSource } from "../ports/shown-context.ts";
import type { TurnRecord } from "../ports/turn.ts";
import { type Payer, payerOf, payerOfMessage } from "../ports/usage.ts";
import { sourceKey } from "./shown.ts";

export interface Recalled {
  hits: MemoryHit[];
  digest: string;
  at: number;
  problems: string[];
}

export interface Recall {
  prepare(message: InboundMessage): void;
  about(turn: TurnRecord): Promise<Recalled>;
  /** Returns the keys of those that memory still has. Ask after `about`, which brings the index up to date. */
  known(sources: readonly NoteSource[]): Promise<ReadonlySet<string>>;
  drop(turnId: string): void;
}

const maxHits = 24;
/** How calls ended. The digest has what matters of it, and the lines would say again what the history shows. */
const outcomesFolder = "brain/basalganglia/";
const maxTurns = 200;
/** With more waiting messages, a result would expire before its turn starts. */
const maxPrepared = 20;
/** A result older than this might lack newer turns. */
const maxPreparedAgeMs = 2_000;

type Asked = Pick<InboundMessage, "text" | "scope"> & { payer: Payer };
type Found = Omit<Recalled, "at">;

export function createRecall(memory: Memory, log: Log, now: () => number): Recall {
  const known = createLruMap<Recalled & { messages: number }>(maxTurns);
  const prepared = new Map<string, Asked & { at: number; found: Promise<Found> }>();

  async function ask({ text, scope, payer }: Asked): Promise<Found> {
    const problems: string[] = [];
    const orNothing = async <T>(what: string, wanted: Promise<T>, nothing: T): Promise<T> => {
      try {
        return await wanted;
      } catch (thrown) {
        log.warn({ scope, error: messageOf(thrown) }, `${what} failed; the turn continues without it`);
        problems.push(`${what} failed: ${messageOf(thrown)}`);
        return nothing;
      }
    };
    const [hits, digest] = await Promise.all([
      orNothing(
        "memory search",
        memory.search({ query: text, scopes: [scope, "shared"], limit: maxHits, isUnasked: true, payer }),
        [],
      ),
      orNothing("the preference digest", memory.digest(scope), ""),
    ]);
    return { hits: hits.filter(({ path }) => !path.startsWith(outcomesFolder)), digest, problems };
  }

  function takePrepared(message: InboundMessage): Promise<Found> | undefined {
    const one = prepared.get(messageKey(message));
    prepared.delete(messageKey(message));
    const isSame = one?.text === message.text && one.scope === message.scope;
    return one !== undefined && isSame && now() - one.at < maxPreparedAgeMs ? one.found : undefined;
  }

  async function find(turn: TurnRecord): Promise<Found> {
    const newest = turn.messages.at(-1);
    if (newest === undefined) return { hits: [], digest: "", problems: [] };
    return await (takePrepared(newest) ?? ask({ ...newest, payer: payerOf(turn) }));
  }

  return {
    prepare(message) {
      const { text, scope } = message;
      const asked = { text, scope, payer: payerOfMessage(message) };
      for (const [key, { at }] of prepared) if (now() - at >= maxPreparedAgeMs) prepared.delete(key);
      if (prepared.size >= maxPrepared) return;
      prepared.set(messageKey(message), { ...asked, at: now(), found: ask(asked) });
    },
    async about(turn) {
      const cached = known.get(turn.id);
      const messages = turn.messages.length;
      if (cached !== undefined && cached.messages === messages) return cached;
      const recalled = { ...(await find(turn)), at: now(), messages };
      known.set(turn.id, recalled);
      return recalled;
    },
    async known(sources) {
      const wanted = [...new Map(sources.map((source) => [sourceKey(source), source])).values()];
      const found = wanted.length === 0 ? [] : await memory.stillKnown(wanted).catch(() => []);
      return new Set(found.map(sourceKey));
    },
    drop(turnId) {
      known.delete(turnId);
    },
  };
}

function messageKey({ platform, id }: InboundMessage): string {
  return `${platform}:${id}`;
}
