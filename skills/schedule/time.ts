/**
 * Converts times in people's words to schedule times. A recurrence or cron expression becomes cron. Anything else is a
 * single future time in the person's time zone, in ISO 8601 or in words that chrono-node parses.
 */
import { casual, type ParsedComponents } from "chrono-node";
import { Cron } from "croner";
import type { ScheduleTime } from "../../src/plugin-sdk/plugin.ts";
import { cronOf } from "./recurrence.ts";

export type ReadTime = { type: "time"; time: ScheduleTime } | { type: "unclear"; problem: string };

const dayMs = 24 * 60 * 60_000;
const examples =
  'Write it like "in 20 minutes", "tomorrow at 9", "on 24 December at 18:00", "every weekday at 9:30", or as a cron expression.';

export function readTime(words: string, timeZone: string, now: number): ReadTime {
  if (!isTimeZone(timeZone))
    return unclear(`"${timeZone}" is not a time zone. Use an IANA name such as Europe/Berlin.`);
  const text = words.trim();
  const expression = cronOf(text) ?? (isCron(text) ? text : undefined);
  if (expression !== undefined) return { type: "time", time: { type: "cron", expression, timeZone } };
  if (/^every\b|^each\b|\bdaily\b|\bweekly\b|\bmonthly\b/i.test(text)) {
    return unclear(`"${text}" is not a recurring time that I understand. ${examples}`);
  }
  const at = momentOf(text, timeZone, now);
  if (at === undefined) return unclear(`"${text}" is not a time that I understand. ${examples}`);
  if (at <= now) return unclear(`"${text}" is ${shownTime(at, timeZone)}, which has passed.`);
  return { type: "time", time: { type: "once", at } };
}

/** Formats a time as `Mon, 23 Nov 2026, 09:00 (Europe/Berlin)` */
export function shownTime(at: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat("en-GB", {
    ...{ weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" },
    timeZone,
  });
  return `${format.format(at)} (${timeZone})`;
}

function momentOf(text: string, timeZone: string, now: number): number | undefined {
  // A time with an offset is exact; one without an offset is local time.
  const [exact, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)T[\d:.]+(?:Z|[+-]\d\d:?\d\d)$/i.exec(text) ?? [];
  if (exact !== undefined)
    return isDay(Number(year), Number(month), Number(day)) ? Date.parse(exact) || undefined : undefined;
  const reference = { instant: new Date(now), timezone: offsetMinutes(now, timeZone) };
  const [found] = words.parse(text, reference, { forwardDate: true });
  if (found === undefined || hasMoreWords(text.replace(found.text, ""))) return undefined;
  const { start } = found;
  if (start.tags().has("result/relativeDateAndTime")) return start.date().getTime();
  const zone = start.isCertain("timezoneOffset") ? start.get("timezoneOffset") : null;
  const instants = wallsOf(start).map((wall) => (zone === null ? instantOf(wall, timeZone) : wall - zone * 60_000));
  return instants.find((at) => at > now) ?? instants[0];
}

/** Returns candidate local times, encoded as UTC: on the parsed day, and on later days that also fit the text. */
function wallsOf(start: ParsedComponents): number[] {
  const part = (name: "year" | "month" | "day" | "hour" | "minute" | "second" | "millisecond") => start.get(name) ?? 0;
  const time = [part("hour"), part("minute"), part("second"), part("millisecond")] as const;
  // chrono-node reads a day without a time as noon; people mean the morning of that day.
  const isDayAlone = !start.isCertain("hour") && time.join() === "12,0,0,0";
  const [hour, minute, second] = isDayAlone ? [9, 0, 0] : time;
  const isSaid = (name: "year" | "month" | "day" | "weekday") => start.isCertain(name);
  const isYearOpen = isSaid("month") && !isSaid("year");
  const daysOn = isSaid("day") || isSaid("month") || isSaid("year") ? 0 : isSaid("weekday") ? 7 : 1;
  const walls = yearOffsets.map((times) => {
    const day = new Date(
      Date.UTC(part("year") + (isYearOpen ? times : 0), part("month") - 1, part("day") + daysOn * times),
    );
    const isThatMonth = daysOn > 0 || day.getUTCMonth() === part("month") - 1;
    return isThatMonth ? [day.setUTCHours(hour, minute, second)] : [];
  });
  return walls.flat();
}

/** Leap days are at most 8 years apart. */
const yearOffsets = [0, 1, 2, 3, 4, 5, 6, 7, 8];

/** chrono-node's look-ahead compares the person's local time with the machine's and can be off by a week or a year. */
const words = casual.clone();
words.refiners = words.refiners.filter((refiner) => refiner.constructor.name !== "ForwardDateRefiner");

/** Checks that the day exists, because `Date.parse` reads 30 February as 2 March. */
function isDay(year: number, month: number, day: number): boolean {
  return new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
}

/** Leftover words may change the meaning ("mondays at 9" is not "at 9"). */
function hasMoreWords(rest: string): boolean {
  return /[\p{L}\p{N}]/u.test(rest.replace(/\b(?:at|on|the|in|by|from|now|o'clock|please)\b/gi, ""));
}

/** If local time `wall` occurs twice, returns the first instant. If clocks skip it, moves it forward. */
function instantOf(wall: number, timeZone: string): number {
  const offsets = [wall - dayMs, wall + dayMs].map((at) => offsetMinutes(at, timeZone));
  const instants = offsets.map((offset) => wall - offset * 60_000);
  const isShown = (at: number) => at + offsetMinutes(at, timeZone) * 60_000 === wall;
  return instants.find(isShown) ?? Math.max(...instants);
}

/** How many minutes the zone is ahead of UTC at that time. */
function offsetMinutes(at: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat("en-US", {
    ...{ year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" },
    ...{ hourCycle: "h23", timeZone },
  });
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Math.round((Date.UTC(year, month - 1, day, hour, minute, second) - at) / 60_000);
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function isCron(text: string): boolean {
  if (!/^[\d*@]/.test(text) || !/^(?:@\w+|\S+(?:\s+\S+){4,5})$/.test(text)) return false;
  try {
    new Cron(text, { paused: true });
    return true;
  } catch {
    return false;
  }
}

function unclear(problem: string): ReadTime {
  return { type: "unclear", problem };
}
