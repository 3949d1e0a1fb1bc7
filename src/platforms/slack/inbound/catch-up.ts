/**
 * Fetches each conversation's missed messages, from its cursor on, newest conversations first. Events of a conversation
 * wait until its missed messages are taken (`before`), which then goes first. Counts what it could not read. The file is over 250
 * lines because all of it shares the places that are still to be read.
 */
import { z } from "zod";
import { pause } from "../../../lib/backoff.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { type CatchUpReport, maxMissedAgeMs, newReport } from "../../shared/catch-up-report.ts";
import type { SlackApi } from "../api/api.ts";
import { isPlaceProblem, isRefusal, isSlackError } from "../api/api-problems.ts";
import { pagesOf } from "../api/pages.ts";
import type { RateLimiter } from "../api/rate-limiter.ts";
import { isDirect } from "../conversation-id.ts";
import { maxListPage } from "../limits.ts";
import { type Cursors, earlier, later } from "./cursors.ts";
import type { MessageEvent } from "./events.ts";
import { createMissed } from "./missed.ts";

export interface CatchUpOptions {
  api: SlackApi;
  rateLimiter: RateLimiter;
  cursors: Cursors;
  take(event: MessageEvent): Promise<void>;
  /** Called after each conversation. */
  onProgress(report: CatchUpReport): void;
  onMinuteFetched(): void;
  log: Log;
  signal: AbortSignal;
}

/** `long` means that no process was running, or for longer than Slack sends its events again. */
export type Absence = "long" | "short";

export interface CatchUp {
  /** Holds the cursors before its first `await`, because new messages would move them past the gap. Never rejects. */
  run(absence: Absence): Promise<void>;
  /** Resolves once the channel's missed messages are taken, or can't be for now. Undefined if none are missing. */
  before(channel: string): Promise<unknown> | undefined;
  /**
   * Fetches everything from this time on, in Unix seconds, a while later: Slack sends no events of this minute. Resolves once it
   * is stored that they are missing. Rejects if that is impossible, so that Slack says it again.
   */
  minuteDropped(minute: number): Promise<void>;
  /** Fetches the channel's missed messages soon, again and again until they are taken. */
  fetchSoon(channel: string): void;
}

const everyType = "public_channel,private_channel,im,mpim";
const everything = Number.POSITIVE_INFINITY;
/** `silent`: how many older DMs without any received message to check. */
const limits = {
  long: { channels: everything, oldThreads: everything, types: everyType, newChannels: everything, silent: 50 },
  short: { channels: 80, oldThreads: 5, types: "im", newChannels: 20, silent: 0 },
};
const maxListPages = 20;
const maxConcurrent = 4;
const pauseMs = 30_000;
const refusedPauseMs = 10_000;
const maxTries = 5;
/** After the end of a minute, until Slack's histories surely have it. */
const settledMs = 2_000;
const maxMinuteWaitMs = 120_000;

interface Place {
  since: string;
  oldThreads: number;
  /** Aborted once an event waits for it. */
  urgent: AbortController;
  /** Set while it is read. */
  reading?: Promise<boolean>;
}

const listSchema = z.object({
  channels: z
    .array(
      z.object({
        id: z.string(),
        is_member: z.boolean().optional(),
        is_im: z.boolean().optional(),
        created: z.number().optional(),
      }),
    )
    .default([]),
});

export function createCatchUp(options: CatchUpOptions): CatchUp {
  const { api, rateLimiter, cursors, take, onProgress, log, signal } = options;
  const soon = new Set<string>();
  const places = new Map<string, Place>();
  const readMissed = createMissed({ api, rateLimiter, pause: (ms) => pause(ms, signal) });
  let report = newReport();
  /** Set while unknown conversations may have missed messages, to the time from which on. */
  let unknownSince: string | undefined;
  /** No event after this time was received before the last run. */
  let unheardFrom: string | undefined;
  let runs = 0;
  let droppedMinute: number | undefined;

  async function fetchMissed(channel: string, place: Place): Promise<void> {
    const oldest = ((Date.now() - maxMissedAgeMs) / 1000).toFixed(6);
    const since = later(place.since, oldest);
    const threads = cursors.threadsOf(channel).slice(0, place.oldThreads);
    const { messages, isComplete, hasOlder } = await readMissed({
      channel,
      since,
      unheardFrom: later(place.since, unheardFrom ?? since),
      threads,
      isDeep: isDirect(channel) && place.oldThreads === everything,
      isUrgent: () => place.urgent.signal.aborted,
    });
    for (const message of messages) await take({ ...message, type: "message", channel, channel_type: undefined });
    report.messages += messages.length;
    if (!isComplete) report.cut.add(channel);
    if (hasOlder) report.old.add(channel);
    if (messages.length > 0) log.info({ channel, count: messages.length }, "fetched missed messages");
  }

  /** Resolves to false if it is worth another try soon. */
  async function catchUpOne(channel: string, place: Place): Promise<boolean> {
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await fetchMissed(channel, place);
        cursors.release(channel);
        report.failed.delete(channel);
        return true;
      } catch (thrown) {
        if (isPlaceProblem(thrown) || isSlackError(thrown, "missing_scope")) {
          report.closed.add(channel);
          log.info({ channel, error: messageOf(thrown) }, "can't read a conversation's missed messages any more");
          if (isPlaceProblem(thrown)) cursors.forget(channel);
          else cursors.release(channel);
          return true;
        }
        log.warn({ channel, error: messageOf(thrown), attempt }, "could not fetch missed messages");
        // A live message waits for one attempt only.
        if (place.urgent.signal.aborted) fetchSoon(channel);
        if (place.urgent.signal.aborted || attempt === maxTries) {
          report.failed.add(channel);
          // What Slack refuses for good is asked for again at the next start, not for ever.
          return attempt === maxTries && isRefusal(thrown);
        }
        await pause(pauseMs, AbortSignal.any([signal, place.urgent.signal]));
      }
    }
    return false;
  }

  function read(channel: string, place: Place): Promise<boolean> {
    place.reading ??= catchUpOne(channel, place).finally(() => {
      places.delete(channel);
      report.read += 1;
      onProgress(report);
    });
    return place.reading;
  }

  function add(channel: string, since: string | undefined, oldThreads: number): Place | undefined {
    if (since === undefined) return undefined;
    const known = places.get(channel);
    if (known !== undefined) return known;
    const place = { since, oldThreads, urgent: new AbortController() };
    places.set(channel, place);
    report.total += 1;
    return place;
  }

  /** `places` keeps the order in which they were added. */
  async function readAll(): Promise<void> {
    const work = async () => {
      for (;;) {
        const next = [...places].find(([, { reading }]) => reading === undefined);
        if (next === undefined || signal.aborted) return;
        await read(...next);
      }
    };
    await Promise.all(Array.from({ length: maxConcurrent }, work));
  }

  async function listed(types: string) {
    const args = { types, exclude_archived: true, limit: maxListPage };
    const found: z.infer<typeof listSchema>["channels"] = [];
    for await (const { channels } of pagesOf(api, "conversations.list", args, listSchema, maxListPages))
      found.push(...channels);
    return found;
  }

  /** Finds conversations that started or invited the agent during the absence, then the newest silent DMs. */
  async function addNewChannels(since: string, absence: Absence): Promise<void> {
    const { types, newChannels: most, silent } = limits[absence];
    const known = new Set(cursors.channels());
    const unknown = (await listed(types)).filter(({ id }) => !known.has(id));
    const isYoung = (created = 0) => created >= Number(since) - 1;
    const fresh = unknown.filter((each) => each.is_member === true || (each.is_im === true && isYoung(each.created)));
    const old = unknown.filter((each) => each.is_im === true && !isYoung(each.created));
    old.sort((one, other) => (other.created ?? 0) - (one.created ?? 0));
    for (const { id } of fresh.slice(0, most)) {
      cursors.holdAt(id, since);
      add(id, since, 0);
    }
    for (const { id } of old.slice(0, silent)) add(id, since, 0);
    report.unchecked += Math.max(0, fresh.length - most) + Math.max(0, old.length - silent);
  }

  async function run(absence: Absence): Promise<void> {
    const { channels: most, oldThreads } = limits[absence];
    const newest = cursors.newest();
    // In the first process, none was missed before the first message.
    if (newest === undefined) return;
    runs += 1;
    unheardFrom = newest;
    report = { ...newReport(), total: places.size };
    const known = cursors.channels();
    for (const channel of known.slice(0, most)) add(channel, cursors.hold(channel), oldThreads);
    report.unchecked = Math.max(0, known.length - most);
    unknownSince = newest;
    await readAll();
    try {
      await addNewChannels(newest, absence);
      await readAll();
    } catch (thrown) {
      log.warn({ error: messageOf(thrown) }, "could not read Slack's list of conversations");
    }
    runs -= 1;
    if (runs > 0) return;
    unknownSince = undefined;
    report.isOver = true;
    onProgress(report);
  }

  async function fetchMinute(minute: number): Promise<void> {
    const untilOverMs = (minute + 60) * 1000 + settledMs - Date.now();
    await pause(Math.min(Math.max(untilOverMs, settledMs), maxMinuteWaitMs), signal);
    if (signal.aborted) return;
    await run("long");
    options.onMinuteFetched();
  }

  async function fetchRefused(channel: string): Promise<void> {
    for (let isTaken = false; !isTaken && !signal.aborted; ) {
      await pause(refusedPauseMs, signal);
      const place = add(channel, cursors.hold(channel), limits.short.oldThreads);
      isTaken = place === undefined || (await read(channel, place));
    }
  }

  function fetchSoon(channel: string): void {
    if (soon.has(channel)) return;
    soon.add(channel);
    void fetchRefused(channel).finally(() => soon.delete(channel));
  }

  return {
    fetchSoon,
    before(channel) {
      const since = cursors.isKnown(channel) ? undefined : unknownSince;
      const place = places.get(channel) ?? add(channel, since, 0);
      place?.urgent.abort();
      return place === undefined ? undefined : read(channel, place);
    },
    async minuteDropped(minute) {
      // Slack may say so again for the same minute.
      if (minute === droppedMinute) return;
      // Held at once, because what Slack still sends would move the cursors past the gap.
      const from = (minute - 1).toFixed(6);
      for (const channel of cursors.channels()) cursors.holdAt(channel, earlier(cursors.hold(channel) ?? from, from));
      await cursors.save();
      droppedMinute = minute;
      void fetchMinute(minute);
    },
    run,
  };
}
