/**
 * What fetching an address tells its host, and when that is nothing to ask about.
 *
 * A page can order a model to put what it knows into an address and to fetch it. So `web_fetch` takes two kinds of addresses:
 * those that the person has written or that a page or search of this conversation has shown, letter for letter; and, as long as
 * nothing from outside is in the prompt, plain ones, too short and too readable to carry much. All others are for `web_fetch_any`, whose use SKILL.md may ask about.
 *
 * What is left: a plain address has room for some words, and of many links one can be chosen. Both are bounded for a turn.
 */

export interface Disclosure {
  /** Undefined when the address may be fetched in this turn; else why not. */
  objection(visit: Visit, url: URL): string | undefined;
  /** Undefined while the turn may fetch more; every kind of address counts. */
  exhaustion(visit: Visit): string | undefined;
  /** A page or search of the conversation has shown these to the model. */
  show(conversationId: string, addresses: Iterable<string>): void;
}

export interface Visit {
  conversationId: string;
  turnId: string;
  /** The prompt held text from outside. */
  isTainted: boolean;
  /** By the person who asks, in full. */
  givenAddresses: readonly string[];
}

interface Turn {
  fetches: number;
  unseen: Set<string>;
}

const mostFetches = 40;
const mostUnseen = 12;
const mostShown = 10_000;
const kept = { conversations: 200, turns: 500 };

/** Readable characters of a plain address. */
const longest = { host: 60, label: 30, path: 140, query: 40 };
const mostSegments = 12;

export function createDisclosure(): Disclosure {
  const shown = new Map<string, Set<string>>();
  const turns = new Map<string, Turn>();
  const turnOf = ({ turnId }: Visit) => recent(turns, turnId, kept.turns, () => ({ fetches: 0, unseen: new Set() }));
  return {
    objection(visit, url) {
      if (shown.get(visit.conversationId)?.has(url.href) === true) return undefined;
      if (visit.givenAddresses.includes(url.href)) return undefined;
      if (visit.isTainted) return "is new, and this turn has read what others wrote";
      const why = carriedBy(url);
      if (why !== undefined) return why;
      const { unseen } = turnOf(visit);
      if (unseen.size === mostUnseen && !unseen.has(url.href)) return `is one more than ${mostUnseen} in this turn`;
      unseen.add(url.href);
      return undefined;
    },
    exhaustion(visit) {
      const turn = turnOf(visit);
      turn.fetches += 1;
      return turn.fetches > mostFetches
        ? `This turn has fetched ${mostFetches} times: answer with what you have.`
        : undefined;
    },
    show(conversationId, addresses) {
      const known = recent(shown, conversationId, kept.conversations, () => new Set<string>());
      for (const address of addresses) {
        known.delete(address);
        known.add(address);
      }
      for (const oldest of known) {
        if (known.size <= mostShown) break;
        known.delete(oldest);
      }
    },
  };
}

/** What the address could carry besides naming a page; undefined for a plain one. */
export function carriedBy(url: URL): string | undefined {
  const path = decoded(url.pathname);
  const query = decoded(url.search.replace(/\+/g, " "));
  const labels = url.hostname.split(".");
  if (url.hostname.length > longest.host || labels.some((label) => label.length > longest.label))
    return "has a long host";
  if (query.length > longest.query) return `has a query of ${query.length} characters`;
  if (path.length > longest.path || path.split("/").length > mostSegments) return "has a long path";
  const isOpaque = [...labels, path, query].some((part) => opaque.some((pattern) => pattern.test(part)));
  return isOpaque ? "has what looks like a code, key or encoded text in it" : undefined;
}

/** Encoded or random text: long runs with digits and letters mixed, long numbers, and bytes that are no characters. */
const opaque = [
  /(?=[a-z0-9~+=]*\d)(?=[a-z0-9~+=]*[a-z])[a-z0-9~+=]{16,}/i,
  /[a-z0-9]{32,}/i,
  /\d{12,}/,
  /[\ufffd\p{Cc}]/u,
];

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // What is no UTF-8 is no text.
    return `${part}\ufffd`;
  }
}

/** The entry of a key, made if it is new; the one that was used longest ago goes when there are too many. */
function recent<T>(entries: Map<string, T>, key: string, most: number, make: () => T): T {
  const entry = entries.get(key) ?? make();
  entries.delete(key);
  entries.set(key, entry);
  const [oldest] = entries.keys();
  if (entries.size > most && oldest !== undefined) entries.delete(oldest);
  return entry;
}
