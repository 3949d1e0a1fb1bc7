/**
 * Time zones by their names in the tz database, such as `Europe/Berlin`: the machine's, as the system names it, and those that
 * people have. Asks `Intl` only where the system does not say, because the first use of `Intl` takes 12 ms and keeps 8 MB of memory.
 */
import { existsSync, readlinkSync } from "node:fs";

const zonesFolder = "/usr/share/zoneinfo/";

export function machineTimeZone(): string {
  const name = (process.env.TZ || linkedZone()).replace(/^Etc\/UTC$/, "UTC");
  const isZone = /^[A-Z][\w+-]*(?:\/[\w+-]+)*$/.test(name) && existsSync(zonesFolder + name);
  return isZone ? name : new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function linkedZone(): string {
  try {
    return readlinkSync("/etc/localtime").split("/zoneinfo/")[1] ?? "";
  } catch {
    return "";
  }
}

const namePattern = /^[a-z][\w+-]*(?:\/[\w+-]+)*$/i;

/** The zone's name, also from one in other letters. Undefined for anything else, also for an offset, which knows no summer time. */
export function knownTimeZone(value: unknown): string | undefined {
  if (typeof value !== "string" || !namePattern.test(value)) return undefined;
  if (value === machineTimeZone()) return value;
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: value }).resolvedOptions();
    // Of zones with several names, `Intl` may prefer another one.
    return timeZone.toLowerCase() === value.toLowerCase() ? timeZone : value;
  } catch {
    return undefined;
  }
}

/** Returns the person with the time zone of their earlier words, for a request that is repeated for them. */
export function inZoneOf<P extends { timeZone?: string }>(earlier: P, person: P): P {
  return earlier.timeZone === undefined ? person : { ...person, timeZone: earlier.timeZone };
}
