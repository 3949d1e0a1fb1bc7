/**
 * What memory has to say about a turn, asked once and kept while the turn runs: its steps then share one prefix.
 *
 * It may be asked as soon as a message comes in, so that the search runs beside what is written down of the message; the
 * turn takes that answer when it is about this very message and still new, and otherwise asks for itself.
 *
 * A search that fails costs the turn its memories, not its answer. Bounded; a turn that was dropped or resumed in another
 * process is asked for again.
 */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Memory, MemoryHit } from "../ports/memory.ts";
import type { InboundMessage } from "../ports/message.ts";
import type { TurnRecord } from "../ports/turn.ts";

export interface Recalled {
  hits: MemoryHit[];
  digest: string;
  /** The clock of the turn, for `<runtime>`. */
  at: number;
  /** Why something is missing, for the snapshot. */
  problems: string[];
}

export interface Recall {
  /** Begins to ask for the turn that this message is about to start. */
  prepare(message: InboundMessage): void;
  about(turn: TurnRecord): Promise<Recalled>;
  drop(turnId: string): void;
}

const askedHits = 24;
const keptTurns = 200;
/** A turn that waited for a person for longer than this is asked for anew. */
const freshMs = 5 * 60_000;
/** Where more than these wait, a later one is out of date before its turn comes. */
const keptPrepared = 20;
/** A message that waited for longer may come after turns that are remembered by now. */
const preparedMs = 2_000;

type Asked = Pick<InboundMessage, "text" | "scope">;
type Found = Omit<Recalled, "at">;

export function createRecall(memory: Memory, log: Log, now: () => number): Recall {
  const known = new Map<string, Recalled & { messages: number }>();
  const prepared = new Map<string, Asked & { at: number; found: Promise<Found> }>();

  async function ask({ text, scope }: Asked): Promise<Found> {
    const problems: string[] = [];
    const orNothing = async <T>(what: string, wanted: Promise<T>, nothing: T): Promise<T> => {
      try {
        return await wanted;
      } catch (thrown) {
        log.warn({ scope, error: messageOf(thrown) }, `${what} failed; the turn goes on without`);
        problems.push(`${what} failed: ${messageOf(thrown)}`);
        return nothing;
      }
    };
    const [hits, digest] = await Promise.all([
      orNothing("memory search", memory.search({ query: text, scopes: [scope, "shared"], limit: askedHits }), []),
      orNothing("the preference digest", memory.digest(scope), ""),
    ]);
    return { hits, digest, problems };
  }

  function takePrepared(message: InboundMessage): Promise<Found> | undefined {
    const one = prepared.get(keyOf(message));
    prepared.delete(keyOf(message));
    const isSame = one?.text === message.text && one.scope === message.scope;
    return one !== undefined && isSame && now() - one.at < preparedMs ? one.found : undefined;
  }

  async function find(turn: TurnRecord): Promise<Found> {
    const newest = turn.messages.at(-1);
    if (newest === undefined) return { hits: [], digest: "", problems: [] };
    return await (takePrepared(newest) ?? ask(newest));
  }

  return {
    prepare(message) {
      const { text, scope } = message;
      for (const [key, { at }] of prepared) if (now() - at >= preparedMs) prepared.delete(key);
      if (prepared.size >= keptPrepared) return;
      prepared.set(keyOf(message), { text, scope, at: now(), found: ask({ text, scope }) });
    },
    async about(turn) {
      const cached = known.get(turn.id);
      const messages = turn.messages.length;
      if (cached !== undefined && cached.messages === messages && now() - cached.at < freshMs) return cached;
      const recalled = { ...(await find(turn)), at: now(), messages };
      known.delete(turn.id);
      known.set(turn.id, recalled);
      dropOldest(known, keptTurns);
      return recalled;
    },
    drop(turnId) {
      known.delete(turnId);
    },
  };
}

function keyOf({ platform, id }: InboundMessage): string {
  return `${platform}:${id}`;
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
