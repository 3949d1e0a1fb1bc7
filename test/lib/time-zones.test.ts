import { afterEach, expect, test, vi } from "vitest";
import { machineTimeZone } from "../../src/lib/time-zones.ts";

afterEach(() => vi.unstubAllEnvs());

test.each(["Europe/Berlin", "America/Argentina/Buenos_Aires", "UTC", "Etc/GMT+5"])(
  "the time zone is the variable's, %s",
  (zone) => {
    vi.stubEnv("TZ", zone);
    expect(machineTimeZone()).toBe(zone);
  },
);

test.each([undefined, "Nowhere/Land", ":Europe/Berlin", "CET-1CEST", "../../../etc/passwd"])(
  "where the variable names no zone (%s), the time zone is the one that dates use",
  (zone) => {
    vi.stubEnv("TZ", zone);
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
    expect(machineTimeZone()).toBe(timeZone);
  },
);
