/** Somebody sets the clock back by three hours: what was kept for a moment, or waits for one, must not last until the old time. */
import { expect, test, vi } from "vitest";
import { createRequestLimits } from "../../src/access/request-limits.ts";
import { elapsedSince, leftOf } from "../../src/lib/elapsed.ts";
import { createTimedCache } from "../../src/lib/timed-cache.ts";
import { createPeople } from "../../src/platforms/discord/api/people.ts";
import { createThrottledUpdates } from "../../src/platforms/shared/throttled-updates.ts";
import { createPeople as createSlackPeople } from "../../src/platforms/slack/api/people.ts";
import { createRateLimiter } from "../../src/platforms/slack/api/rate-limiter.ts";
import type { Provider } from "../../src/ports/provider.ts";
import { createCircuitBreaker } from "../../src/providers/circuit-breaker.ts";
import { createRefusedKeys } from "../../src/providers/refused-keys.ts";
import { inboundMessage } from "../doubles/records.ts";

const threeHoursMs = 3 * 3_600_000;

function createClock() {
  let at = 1_800_000_000_000;
  const setBack = () => {
    at -= threeHoursMs;
  };
  return { now: () => at, setBack };
}

test("an age behind the clock is unknown, and a wait that began there is over", () => {
  expect([elapsedSince(90, 100), elapsedSince(110, 100)]).toEqual([10, Number.POSITIVE_INFINITY]);
  expect([leftOf(30, 90, 100), leftOf(5, 90, 100), leftOf(30, 110, 100)]).toEqual([20, 0, 0]);
});

test("answers of a service are asked for again", async () => {
  const { now, setBack } = createClock();
  const cached = createTimedCache<number>({ keepMs: 60_000, maxEntries: 10, now });
  let asks = 0;
  const ask = () => cached("key", async () => ++asks);
  expect([await ask(), await ask()]).toEqual([1, 1]);
  setBack();
  expect(await ask()).toBe(2);
});

test("a person's roles and groups, which decide who can approve, are read again", async () => {
  const { now, setBack } = createClock();
  vi.spyOn(Date, "now").mockImplementation(now);
  const user = { id: "1", username: "ann" };
  let roles = ["approver"];
  const discord = createPeople({ request: async () => ({ user, roles }) as never } as never, async () => ["9"]);
  let users = ["U1"];
  const call = async (method: string) =>
    method === "usergroups.list" ? { usergroups: [{ id: "S1", users }] } : { user: { id: "U1", team_id: "T1" } };
  const slack = createSlackPeople({ api: { call } as never, teamId: async () => "T1" });
  expect([await discord.roles("9", "1"), (await slack.author("U1")).roles]).toEqual([["approver"], ["S1"]]);
  [roles, users] = [[], []];
  setBack();
  expect(await discord.roles("9", "1")).toEqual([]);
  // Slack's groups are refreshed in the background.
  await expect.poll(async () => (await slack.author("U1")).roles).toEqual([]);
});

test("a growing message is shown on", async () => {
  const { now, setBack } = createClock();
  const shown: string[] = [];
  const show = async (text: string) => void shown.push(text);
  const updates = createThrottledUpdates<string>({ minIntervalMs: 60_000, show, onFailure() {}, now });
  await updates.offer("a");
  setBack();
  await updates.offer("ab");
  expect(shown).toEqual(["a", "ab"]);
});

test("slots of a minute are free, a model's pause is over, and people read again what was left out", () => {
  const { now, setBack } = createClock();
  const limiter = createRateLimiter(now);
  while (limiter.take("history") === 0);
  const breaker = createCircuitBreaker(now);
  breaker.failed("model", "provider.unreachable");
  const refused = createRefusedKeys(undefined, now);
  const provider = { name: "p", model: "p/m", keyDigest: () => "digest" } as Provider;
  refused.refuse("p", provider, { plain: "the key was refused" });
  expect(refused.reasonOf(provider, "p/m")).toBeDefined();
  const limits = createRequestLimits({ userRequestsPerMinute: 1, channelRequestsPerMinute: null }, now);
  const admit = (id: string) => limits.admit(inboundMessage({ platform: "slack", id, at: now() }));
  admit("1");
  expect([admit("2"), admit("3")]).toMatchObject([{ notice: {} }, { type: "limited" }]);
  expect(breaker.leftMs("model")).toBeGreaterThan(0);
  setBack();
  expect([limiter.take("history"), breaker.leftMs("model")]).toEqual([0, 0]);
  expect(refused.reasonOf(provider, "p/m")).toBeUndefined();
  admit("4");
  expect(admit("5")).toMatchObject({ notice: {} });
});
