/** Reads what was said in a place since its cursor. If that is too much, reads what people still wait for: the newest. */
import { Routes } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { type CatchUpReport, maxMissedAgeMs } from "../../shared/catch-up-report.ts";
import { codeOfRefusal, type DiscordApi, isPassing, isRefusal } from "../api/api.ts";
import { maxHistoryPage } from "../limits.ts";
import { type Cursors, newerId, snowflakeAt } from "./cursors.ts";
import { listOf } from "./fields.ts";
import { asMessage, type RawMessage } from "./raw-message.ts";
import type { InboundContext } from "./read-message.ts";

export interface Missed {
  /** Oldest first. */
  messages: RawMessage[];
  /** The newest message found that is too old to be read. */
  old: RawMessage | undefined;
}

export interface MissedOptions {
  api: DiscordApi;
  context: InboundContext;
  cursors: Cursors;
  log: Log;
  signal: AbortSignal;
}

/** Limit per place, each time the process was offline. */
const maxMissedMessages = 5_000;

export function createMissed({ api, context, cursors, log, signal }: MissedOptions) {
  /** The first after the cursor, or the last before `end`, if it is given. Oldest first. */
  async function page(channelId: string, report: CatchUpReport, end?: { before?: string }): Promise<RawMessage[]> {
    try {
      const place = await placeOf(channelId);
      if (place === undefined) {
        report.closed.add(channelId);
        return [];
      }
      const range = end ?? { after: cursors.readUpTo(channelId, place.guild) };
      const messages = await api.request<unknown>({
        method: "GET",
        route: Routes.channelMessages(channelId),
        query: { ...range, limit: String(maxHistoryPage) },
        // After a failure, all pages would be read again.
        retry: end === undefined ? "brief" : "lasting",
        isBackground: true,
        signal,
      });
      return listOf(messages)
        .flatMap((raw) => asMessage(raw, { channelId, guildId: place.guild }) ?? [])
        .sort(byAge);
    } catch (thrown) {
      if (codeOfRefusal(thrown) === undefined || isPassing(thrown)) throw thrown;
      const isClosed = isRefusal(thrown, "unknownChannel", "missingAccess", "missingPermissions");
      if (isClosed) cursors.forget(channelId);
      (isClosed ? report.closed : report.failed).add(channelId);
      // Give up, because new messages must not wait for a page that will never load.
      if (!isClosed)
        log.error({ channel: channelId, error: messageOf(thrown) }, "could not read a channel's missed messages");
      return [];
    }
  }

  /** Asks only about places whose server is not known: a channel must not be mistaken for a DM. */
  async function placeOf(id: string): Promise<{ guild: string | undefined } | undefined> {
    const known = cursors.known(id);
    if (known?.type === "dm" || known?.guild !== undefined) return known;
    const facts = await context.channels.get(id);
    return facts && { guild: facts.guildId };
  }

  return async (placeId: string, report: CatchUpReport): Promise<Missed> => {
    const oldest = snowflakeAt(Date.now() - maxMissedAgeMs);
    const first = await page(placeId, report);
    const young = first.filter(({ id }) => newerId(id, oldest) === id);
    const old = first[first.length - young.length - 1];
    if (old !== undefined) report.old.add(placeId);
    if (first.length < maxHistoryPage) return { messages: young, old };
    const since = newerId(first.at(-1)?.id ?? oldest, oldest);
    const newest: RawMessage[] = [];
    for (let read = first.length; read < maxMissedMessages; read += maxHistoryPage) {
      const [next] = newest;
      const last = await page(placeId, report, next === undefined ? {} : { before: next.id });
      const later = last.filter(({ id }) => id !== since && newerId(id, since) === id);
      newest.unshift(...later);
      if (later.length < maxHistoryPage) return { messages: [...young, ...newest], old };
    }
    report.cut.add(placeId);
    log.warn(
      { channel: placeId, messages: newest.length },
      "too many messages arrived while disconnected; only the newest were read",
    );
    return { messages: newest, old };
  };
}

function byAge(one: RawMessage, other: RawMessage): number {
  return newerId(one.id, other.id) === one.id ? 1 : -1;
}
