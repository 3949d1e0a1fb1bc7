/**
 * Reads what was said before a message: in its thread or, if it starts one, in its channel, and in linked messages of
 * the same channel. In Slack, everybody who can write in a channel can read it, so the author has access to all of
 * this.
 *
 * Slack lets apps distributed outside the Marketplace read only 15 messages a minute. The messages that this process
 * has received then replace those that it can't read.
 */
import { untilAborted } from "../../../lib/until-aborted.ts";
import type { EarlierKind, EarlierLine, EarlierWanted } from "../../../ports/earlier.ts";
import type { InboundMessage } from "../../../ports/message.ts";
import type { Platform } from "../../../ports/platform.ts";
import type { SlackApi } from "../api/api.ts";
import { isSlackError, plainOf } from "../api/api-problems.ts";
import type { Identity } from "../api/identity.ts";
import type { People } from "../api/people.ts";
import { parseConversationId, parseMessageId, threadOf, timeOf } from "../conversation-id.ts";
import { maxLimitedHistoryPage } from "../limits.ts";
import type { ChatAccess } from "../outbound/chat-access.ts";
import { isSaid } from "./events.ts";
import { createLineReader, linePageSchema, type RawLine } from "./lines.ts";
import { readThread } from "./read-thread.ts";
import type { RecentMessages } from "./recent-messages.ts";

export interface EarlierOptions {
  api: SlackApi;
  identity(): Promise<Identity>;
  people: People;
  recent: Pick<RecentMessages, "in">;
  lookedAt: ChatAccess["lookedAt"];
  isOpenIn: ChatAccess["isOpenIn"];
}

interface Spot {
  channel: string;
  thread: string;
  ts: string;
}

interface Part {
  raws: { kind: EarlierKind; raw: RawLine }[];
  leftOut: number;
  notes: string[];
}

const nothing: Part = { raws: [], leftOut: 0, notes: [] };
const maxRetryMs = 2_000;
const maxLinks = 3;
/** After that, people have long looked at something else. */
const maxLookingMs = 10 * 60_000;
const linkPattern = /https:\/\/[\w.-]+\.slack\.com\/archives\/([CDG][A-Z0-9]+)\/p(\d{1,12})(\d{6})(?:\?([^\s)>|]*))?/g;

const limitedNote =
  "Slack does not let this app read more messages now, so some earlier messages are missing here. Apps that are distributed outside the Slack Marketplace can read only 15 messages a minute.";

export function createEarlier(options: EarlierOptions): NonNullable<Platform["earlier"]> {
  const { api, identity, people, recent } = options;
  const readLine = createLineReader(identity, people, options.isOpenIn);

  async function inThread({ channel, thread, ts }: Spot, wanted: EarlierWanted, signal: AbortSignal): Promise<Part> {
    const after = startOf(wanted);
    const seen = () => recent.in(channel, thread).filter((each) => isBetween(each.ts, after, ts) && each.ts !== thread);
    try {
      const range = { channel, thread, after, before: ts, wanted: wanted.maxMessages };
      const { root, lines, leftOut, reachesEnd, isLimited } = await readThread(api, range, signal);
      const first = root === undefined || after !== undefined ? [] : asKind("root", [root]);
      if (reachesEnd) return { raws: [...first, ...asKind("thread", lines)], leftOut, notes: [] };
      const note = isLimited ? limitedNote : "Slack did not return the newest messages of this thread in time.";
      return { raws: [...first, ...asKind("thread", merged(lines, seen()))], leftOut, notes: [note] };
    } catch (thrown) {
      const root = after === undefined ? recent.in(channel, null).filter((each) => each.ts === thread) : [];
      return withoutHistory(thrown, [...asKind("root", root), ...asKind("thread", seen())]);
    }
  }

  async function inChannel({ channel, ts }: Spot, wanted: EarlierWanted, signal: AbortSignal): Promise<Part> {
    const earliest = Number(ts) - wanted.channelMs / 1_000;
    const oldest = Math.max(earliest, Number(startOf(wanted) ?? 0)).toFixed(6);
    const args = { channel, oldest, latest: ts, limit: maxLimitedHistoryPage };
    const newest = (lines: RawLine[]) => asKind("channel", lines.filter(isSaid).slice(-wanted.channelMessages));
    try {
      const call = api.call("conversations.history", args, linePageSchema, { maxRetryMs });
      return { ...nothing, raws: newest((await untilAborted(call, signal)).messages.reverse()) };
    } catch (thrown) {
      const seen = recent.in(channel, null).filter((each) => isBetween(each.ts, oldest, ts));
      return withoutHistory(thrown, newest(seen));
    }
  }

  async function linked({ channel, ts }: Spot, said: string, signal: AbortSignal): Promise<Part> {
    const links = linksIn(said).filter((link) => link.channel === channel && link.ts !== ts);
    const parts = await Promise.all(
      links.slice(0, maxLinks).map(async (link): Promise<Part> => {
        const range = { oldest: link.ts, latest: link.ts, inclusive: true };
        const call =
          link.thread === null
            ? api.call("conversations.history", { channel, ...range, limit: 1 }, linePageSchema, { maxRetryMs })
            : api.call("conversations.replies", { channel, ts: link.thread, ...range, limit: 2 }, linePageSchema, {
                maxRetryMs,
              });
        try {
          const { messages } = await untilAborted(call, signal);
          return {
            ...nothing,
            raws: asKind(
              "linked",
              messages.filter((each) => each.ts === link.ts),
            ),
          };
        } catch (thrown) {
          const seen = recent.in(channel, link.thread).filter((each) => each.ts === link.ts);
          return withoutHistory(thrown, asKind("linked", seen), "A linked message");
        }
      }),
    );
    return joined(parts);
  }

  async function lineOf(
    channel: string,
    { kind, raw }: Part["raws"][number],
    signal: AbortSignal,
  ): Promise<EarlierLine> {
    try {
      const { replies: _replies, ...line } = await untilAborted(readLine(channel, raw), signal);
      return { ...line, kind };
    } catch {
      // The names could not be looked up in time, so fall back to ids.
      const names: Pick<People, "author" | "nameOf"> = {
        author: async (user) => ({ id: user, name: user, isBot: raw.bot_id !== undefined, roles: [] }),
        nameOf: async (user) => user,
      };
      const nobody = async () => ({ userId: "", botId: undefined });
      const { replies: _replies, ...line } = await createLineReader(nobody, names, async () => "unknown")(channel, raw);
      return { ...line, kind };
    }
  }

  return async (message, wanted, signal) => {
    const spot = spotOf(message);
    if (spot === undefined) return { lines: [], leftOut: 0, notes: [] };
    const [lookingAt, ...parts] = await Promise.all([
      lookedAt(message, spot, signal),
      ...[around(message, spot, wanted, signal), linked(spot, wanted.said, signal)],
    ]);
    const { raws, leftOut, notes } = joined(parts);
    const readable = raws.filter(isReadable);
    const read = await Promise.all(readable.map((each) => lineOf(spot.channel, each, signal)));
    // The agent's own thread in its pane starts with a message of Slack's that says nothing.
    const lines = read.filter(({ isOwn }, index) => !isOwn || isSaid(readable[index]?.raw ?? {}));
    return { lines, leftOut, notes, ...(lookingAt === undefined ? {} : { lookingAt }) };
  };

  /** It is a hint: if in doubt, there is none. */
  async function lookedAt({ lookingAt: channel, author }: InboundMessage, { ts }: Spot, signal: AbortSignal) {
    if (channel === undefined || Date.now() - timeOf(ts) > maxLookingMs) return undefined;
    return await untilAborted(options.lookedAt(channel, author), signal).catch(() => undefined);
  }

  async function around(message: InboundMessage, spot: Spot, wanted: EarlierWanted, signal: AbortSignal) {
    // The rest of a DM belongs to other conversations. What a thread of it began with may belong to another one, or to none.
    if (message.isDirect && (spot.thread === spot.ts || startOf(wanted) !== undefined)) return nothing;
    if (spot.thread === spot.ts) return wanted.channelMessages === 0 ? nothing : await inChannel(spot, wanted, signal);
    return wanted.maxMessages === 0 ? nothing : await inThread(spot, wanted, signal);
  }
}

/** What people ask about may be of any kind, also of one that Slack has invented since. */
function isReadable({ kind, raw }: Part["raws"][number]): boolean {
  return isSaid(raw) || ((kind === "root" || kind === "linked") && raw.subtype !== "tombstone");
}

/** Undefined for messages that are not in Slack. */
function spotOf({ conversationId, id }: InboundMessage): Spot | undefined {
  const place = parseConversationId(conversationId);
  const said = parseMessageId(id);
  if (place === undefined || said === undefined) return undefined;
  return { channel: place.channel, thread: place.thread ?? said.ts, ts: said.ts };
}

function startOf({ since, after }: EarlierWanted): string | undefined {
  if (since !== undefined) return parseMessageId(since)?.ts;
  return after === undefined ? undefined : (after / 1_000).toFixed(6);
}

function isBetween(ts: string, after: string | undefined, before: string): boolean {
  return Number(ts) < Number(before) && (after === undefined || Number(ts) > Number(after));
}

function asKind(kind: EarlierKind, raws: readonly RawLine[]): Part["raws"] {
  return raws.map((raw) => ({ kind, raw }));
}

function merged(read: readonly RawLine[], seen: readonly RawLine[]): RawLine[] {
  const byTs = new Map([...seen, ...read].map((each) => [each.ts, each]));
  return [...byTs.values()].sort((one, other) => Number(one.ts) - Number(other.ts));
}

function joined(parts: readonly Part[]): Part {
  return {
    raws: parts.flatMap(({ raws }) => raws),
    leftOut: parts.reduce((sum, part) => sum + part.leftOut, 0),
    notes: [...new Set(parts.flatMap(({ notes }) => notes))],
  };
}

function withoutHistory(thrown: unknown, raws: Part["raws"], what = "Earlier messages"): Part {
  if (isSlackError(thrown, "ratelimited")) return { raws, leftOut: 0, notes: [limitedNote] };
  return { raws, leftOut: 0, notes: [`${what} could not be read from Slack: ${reasonOf(thrown)}`] };
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof DOMException ? "it did not answer in time." : plainOf(thrown);
}

function linksIn(text: string): { channel: string; ts: string; thread: string | null }[] {
  return [...text.matchAll(linkPattern)].map(([, channel = "", seconds, fraction, query = ""]) => {
    const ts = `${seconds}.${fraction}`;
    return { channel, ts, thread: threadOf(ts, new URLSearchParams(query).get("thread_ts") ?? undefined) };
  });
}
