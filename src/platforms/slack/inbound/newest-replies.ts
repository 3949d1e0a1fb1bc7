/**
 * Finds the newest messages of a long thread in a few calls, although Slack returns a range of a thread from its oldest message
 * on and says only whether there are more. After the first page, guesses a time that is followed by enough messages but by less
 * than a page, and corrects the guess by what comes back.
 */

/** `position` grows with time, in seconds. */
export interface RepliesPage<Item> {
  /** Oldest first; the thread's first message may lead, whatever the range. */
  items: Item[];
  hasMore: boolean;
}

export interface NewestRepliesOptions<Item> {
  /** The messages after `oldest` and before the end, or the first ones of them. */
  fetch(oldest: number): Promise<RepliesPage<Item>>;
  position(item: Item): number;
  /** The range, without both. */
  begin: number;
  end: number;
  wanted: number;
  /** As far as known. */
  total: number | undefined;
  maxCalls: number;
}

export interface NewestReplies<Item> {
  items: Item[];
  /** False if messages are missing between the last item and the end of the range. */
  reachesEnd: boolean;
}

const step = 4;
/** A guess aims at this many times the wanted messages. */
const margin = 2;

/** Stops early if `fetch` resolves to undefined. */
export async function newestReplies<Item>(
  first: RepliesPage<Item>,
  options: Omit<NewestRepliesOptions<Item>, "fetch"> & {
    fetch(oldest: number): Promise<RepliesPage<Item> | undefined>;
  },
): Promise<NewestReplies<Item>> {
  const { fetch, position, begin, end, wanted, maxCalls } = options;
  const inside = ({ items }: RepliesPage<Item>, after: number) =>
    items.filter((item) => position(item) > after && position(item) < end);
  let run = inside(first, begin);
  if (!first.hasMore || run.length === 0) return { items: run, reachesEnd: !first.hasMore };
  /** Everything up to here is in `run`. */
  let low = position(run.at(-1) as Item);
  let best: Item[] | undefined;
  const total = Math.max(options.total ?? 0, run.length * margin);
  let span = ((end - begin) * wanted * margin) / total;
  for (let call = 1; call < maxCalls; call++) {
    const oldest = Math.max(low, end - span);
    const page = await fetch(oldest);
    if (page === undefined) break;
    const items = inside(page, oldest);
    const isContiguous = oldest === low;
    if (page.hasMore && items.length > 0) {
      run = isContiguous ? [...run, ...items] : items;
      low = position(items.at(-1) as Item);
      span /= step;
      continue;
    }
    if (best === undefined || items.length > best.length) best = isContiguous ? [...run, ...items] : items;
    if (isContiguous || items.length >= wanted) break;
    span *= step;
  }
  return best === undefined || best.length === 0
    ? { items: run, reachesEnd: false }
    : { items: best, reachesEnd: true };
}
