/**
 * The machine's time zone, such as `Europe/Berlin`, as the system names it. Asks `Intl` only where the system does not say,
 * because the first use of `Intl` takes 12 ms and keeps 8 MB of memory.
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
