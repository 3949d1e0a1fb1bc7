/**
 * Times as people say them, into what a schedule keeps:
 *
 *   1. a recurrence in words ("every weekday at 9"), or a cron expression, becomes cron
 *   2. anything else is a moment: ISO 8601, or words that chrono-node reads, in the person's time zone, always ahead
 */
import { parse as parseWords } from "chrono-node";
import { Cron } from "croner";
import type { ScheduleTime } from "../../src/core/schedules.ts";
import { cronOf } from "./recurrence.ts";

export type ReadTime = { type: "time"; time: ScheduleTime } | { type: "unclear"; problem: string };

const examples =
  'Say it as "in 20 minutes", "tomorrow at 9", "on 24 December at 18:00", "every weekday at 9:30", or as a cron expression.';

export function readTime(words: string, timeZone: string, now: number): ReadTime {
  if (!isTimeZone(timeZone)) return unclear(`"${timeZone}" is no time zone. Use an IANA name such as Europe/Berlin.`);
  const text = words.trim();
  const expression = cronOf(text) ?? (isCron(text) ? text : undefined);
  if (expression !== undefined) return { type: "time", time: { type: "cron", expression, timeZone } };
  if (/^every\b|^each\b|\bdaily\b|\bweekly\b|\bmonthly\b/i.test(text)) {
    return unclear(`"${text}" is not understood as something that recurs. ${examples}`);
  }
  const at = momentOf(text, timeZone, now);
  if (at === undefined) return unclear(`"${text}" is not understood as a time. ${examples}`);
  if (at <= now) return unclear(`"${text}" is ${shownTime(at, timeZone)}, and that has passed.`);
  return { type: "time", time: { type: "once", at } };
}

/** `Mon, 23 Nov 2026, 09:00 (Europe/Berlin)` */
export function shownTime(at: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat("en-GB", {
    ...{ weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" },
    timeZone,
  });
  return `${format.format(at)} (${timeZone})`;
}

function momentOf(text: string, timeZone: string, now: number): number | undefined {
  // With an offset it says exactly when; without one it is a time of the person's clock.
  if (/^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)$/i.test(text)) return Date.parse(text) || undefined;
  const reference = { instant: new Date(now), timezone: offsetMinutes(now, timeZone) };
  const [found] = parseWords(text, reference, { forwardDate: true });
  if (found === undefined || hasMoreWords(text.replace(found.text, ""))) return undefined;
  const { start } = found;
  if (start.isCertain("timezoneOffset")) return start.date().getTime();
  const part = (name: "year" | "month" | "day" | "hour" | "minute" | "second") => start.get(name) ?? 0;
  // A day without a time is noon to chrono-node; people mean its morning.
  const isDayAlone = !start.isCertain("hour") && part("hour") === 12;
  const clock = isDayAlone ? ([9, 0, 0] as const) : ([part("hour"), part("minute"), part("second")] as const);
  const wall = Date.UTC(part("year"), part("month") - 1, part("day"), ...clock);
  return instantOf(wall, timeZone);
}

/** What was not understood may change the meaning ("mondays at 9" is not "at 9"). */
function hasMoreWords(rest: string): boolean {
  return /[\p{L}\p{N}]/u.test(rest.replace(/\b(?:at|on|the|in|by|from|now|o'clock|please)\b/gi, ""));
}

/** The instant at which a clock in the zone shows `wall` (as if it were UTC); across a change of the clocks too. */
function instantOf(wall: number, timeZone: string): number {
  const guess = wall - offsetMinutes(wall, timeZone) * 60_000;
  return wall - offsetMinutes(guess, timeZone) * 60_000;
}

/** Minutes that the zone is ahead of UTC at that instant. */
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
