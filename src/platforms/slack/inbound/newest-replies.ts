/**
 * Finds the newest messages of a long thread in a few calls. Slack returns the oldest messages of a range, and says
 * only whether more follow. So this guesses a start that is followed by enough messages, but by less than a page of
 * them. Each result narrows the next guess: too many messages raise the lower bound, too few lower the upper bound.
 */

export interface RepliesPage<Item> {
  /** Oldest first. */
  items: Item[];
  hasMore: boolean;
}

export interface NewestRepliesOptions<Item> {
  /** Returns the first messages after `oldest`, or undefined after a failure, which ends the search. */
  fetch(oldest: number): Promise<RepliesPage<Item> | undefined>;
  /** Grows with time. */
  position(item: Item): number;
  /** The range, without both. */
  begin: number;
  end: number;
  wanted: number;
  /** Number of messages in the range, if known. */
  total: number | undefined;
  /** Including the call for the first page. */
  maxCalls: number;
}

export interface NewestReplies<Item> {
  /** Oldest first, without gaps. */
  items: Item[];
  /** False if messages are missing between the last item and the end of the range. */
  reachesEnd: boolean;
}

interface Search {
  /** Positions of the first and last message of the newest contiguous run. */
  runStart: number;
  low: number;
  runLength: number;
  /** Too few messages follow this position. */
  high: number;
  end: number;
  /** Estimated number of messages after `low`. */
  rest: number;
}

/** A guess aims at this multiple of the wanted number of messages. */
const margin = 3;

/** `first` is the page after `begin`. */
export async function newestReplies<Item>(
  first: RepliesPage<Item>,
  { fetch, position, begin, end, wanted, total = 0, maxCalls }: NewestRepliesOptions<Item>,
): Promise<NewestReplies<Item>> {
  const inside = ({ items }: RepliesPage<Item>, after: number) =>
    items.filter((item) => position(item) > after && position(item) < end);
  let run = inside(first, begin);
  if (!first.hasMore || run.length === 0) return { items: run, reachesEnd: !first.hasMore };
  const bounds = () => ({
    runStart: position(run[0] as Item),
    low: position(run.at(-1) as Item),
    runLength: run.length,
  });
  const search: Search = { ...bounds(), high: end, end, rest: Math.max(wanted, total - run.length) };
  let best: Item[] | undefined;
  for (let call = 1; call < maxCalls; call++) {
    const { low, high, rest } = search;
    const isLastChance = best === undefined && call === maxCalls - 1;
    const oldest = isLastChance ? low : guess(search, wanted);
    const page = await fetch(oldest);
    if (page === undefined) break;
    const items = inside(page, oldest);
    const isNext = oldest === low;
    if (page.hasMore && items.length > 0) {
      const share = isNext ? 1 : (high - oldest) / (high - low);
      run = isNext ? [...run, ...items] : items;
      Object.assign(search, { ...bounds(), rest: Math.max(wanted, Math.round(rest * share) - items.length) });
      continue;
    }
    if (best === undefined || items.length > best.length) best = isNext ? [...run, ...items] : items;
    if (isNext || items.length >= wanted) break;
    search.high = oldest;
  }
  return best === undefined || best.length === 0
    ? { items: run, reachesEnd: false }
    : { items: best, reachesEnd: true };
}

/** Guesses a start: first assuming an even spread, then assuming the pace of the known run, then in between. */
function guess({ runStart, low, runLength, high, end, rest }: Search, wanted: number): number {
  const need = Math.min(rest, wanted * margin);
  if (need >= rest) return low;
  const even = high - ((high - low) * need) / rest;
  const steady = low + ((low - runStart) * (rest - need)) / runLength;
  const between = end - Math.sqrt((end - low) * (end - high));
  const guesses = high === end ? [even] : [steady, between];
  return guesses.find((each) => each > low && each < high) ?? (low + high) / 2;
}
