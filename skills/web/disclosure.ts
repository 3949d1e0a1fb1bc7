/**
 * Decides which addresses may be fetched without approval. A page can tell a model to put private information into an
 * address and fetch it. So `web_fetch` accepts addresses that appeared literally in a person's message, or in a page or
 * search result of this conversation. Until the prompt contains text from outside, it also accepts plain addresses that
 * are too short and readable to carry much. Two channels remain: the few words in a plain address, and the choice among
 * links. Both are limited per turn.
 */

export interface Disclosure {
  /** Returns why this turn must not fetch the address, or undefined if it may. */
  objection(visit: Visit, url: URL): string | undefined;
  exhaustion(visit: Visit): string | undefined;
  show(conversationId: string, addresses: Iterable<string>): void;
}

export interface Visit {
  conversationId: string;
  turnId: string;
  isTainted: boolean;
  givenAddresses: readonly string[];
}

interface Turn {
  fetches: number;
  unseen: Set<string>;
}

const maxFetches = 40;
const maxUnseen = 12;
const maxShown = 10_000;
const kept = { conversations: 200, turns: 500 };

const longest = { host: 60, label: 30, path: 140, query: 40 };
const maxSegments = 12;

export function createDisclosure(): Disclosure {
  const shown = new Map<string, Set<string>>();
  const turns = new Map<string, Turn>();
  const turnOf = ({ turnId }: Visit) => recent(turns, turnId, kept.turns, () => ({ fetches: 0, unseen: new Set() }));
  return {
    objection(visit, url) {
      if (shown.get(visit.conversationId)?.has(url.href) === true) return undefined;
      if (visit.givenAddresses.includes(url.href)) return undefined;
      if (visit.isTainted) return "is new, and this turn has read text from outside";
      const why = carriedBy(url);
      if (why !== undefined) return why;
      const { unseen } = turnOf(visit);
      if (unseen.size === maxUnseen && !unseen.has(url.href))
        return `exceeds the limit of ${maxUnseen} new addresses in this turn`;
      unseen.add(url.href);
      return undefined;
    },
    exhaustion(visit) {
      const turn = turnOf(visit);
      turn.fetches += 1;
      return turn.fetches > maxFetches
        ? `This turn has fetched ${maxFetches} times: answer with what you have.`
        : undefined;
    },
    show(conversationId, addresses) {
      const known = recent(shown, conversationId, kept.conversations, () => new Set<string>());
      for (const address of addresses) {
        known.delete(address);
        known.add(address);
      }
      for (const oldest of known) {
        if (known.size <= maxShown) break;
        known.delete(oldest);
      }
    },
  };
}

export function carriedBy(url: URL): string | undefined {
  const path = decoded(url.pathname);
  const query = decoded(url.search.replace(/\+/g, " "));
  const labels = url.hostname.split(".");
  if (url.hostname.length > longest.host || labels.some((label) => label.length > longest.label))
    return "has a long host";
  if (query.length > longest.query) return `has a query of ${query.length} characters`;
  if (path.length > longest.path || path.split("/").length > maxSegments) return "has a long path";
  const isOpaque = [...labels, path, query].some((part) => opaque.some((pattern) => pattern.test(part)));
  return isOpaque ? "contains what looks like a code, key or encoded text" : undefined;
}

/** Text that looks encoded or random: long runs of digits and letters, long numbers, and invalid UTF-8. */
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
    // Mark invalid UTF-8 so that it counts as opaque.
    return `${part}\ufffd`;
  }
}

/** Returns the entry, created if missing. Evicts the least recently used entry beyond the limit. */
function recent<T>(entries: Map<string, T>, key: string, most: number, make: () => T): T {
  const entry = entries.get(key) ?? make();
  entries.delete(key);
  entries.set(key, entry);
  const [oldest] = entries.keys();
  if (entries.size > most && oldest !== undefined) entries.delete(oldest);
  return entry;
}
