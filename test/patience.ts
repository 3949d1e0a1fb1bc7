/**
 * What every test runs with, so that a slow machine changes only how long the suite takes:
 *
 *   - Waiting for a condition ends when it holds, so patience costs nothing. Limits given by a test are lower bounds.
 *   - Properties always get the same inputs. PROPERTY_SEED=random draws new ones; a failure prints its seed.
 *   - A property ends after two minutes, because shrinking a failure could take hours.
 *
 * And what the page's server serves can be imported (doubles/served-files.ts), and a failure shows what the agents of the test
 * did last.
 */
import fc from "fast-check";
import { afterEach, expect, vi } from "vitest";
import { lastEvents } from "./doubles/last-events.ts";
import "./doubles/served-files.ts";

const patienceMs = 90_000;
const maxPropertyMs = 120_000;
const { waitFor } = vi;
const { poll } = expect;

vi.waitFor = (callback, options) => {
  const given = typeof options === "number" ? { timeout: options } : options;
  return waitFor(callback, { ...given, timeout: Math.max(patienceMs, given?.timeout ?? 0) });
};

expect.poll = (callback, options) =>
  poll(callback, { ...options, timeout: Math.max(patienceMs, options?.timeout ?? 0) });

afterEach(async ({ task }) => {
  if (task.result?.state !== "fail") return;
  const events = await lastEvents();
  if (events !== "") console.error(events);
});

fc.configureGlobal({
  interruptAfterTimeLimit: maxPropertyMs,
  ...(process.env.PROPERTY_SEED === "random" ? {} : { seed: Number(process.env.PROPERTY_SEED ?? 1) }),
});
