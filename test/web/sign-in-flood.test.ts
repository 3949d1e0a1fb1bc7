/**
 * Floods of wrong passwords, by a clock that the test moves: who gets in, after how long, and how many guesses are left.
 * test/e2e/web-limits.test.ts plays one on the real agent.
 */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { deviceIn, newDevice } from "../../src/web/accounts/cookies.ts";
import { createFairQueue } from "../../src/web/accounts/fair-queue.ts";
import { createPasswordChecks, type PasswordChecks } from "../../src/web/accounts/password-checks.ts";
import { networksOf } from "../../src/web/client.ts";

const checkMs = 100;
const never = new AbortController().signal;
let checks: PasswordChecks;
let wrong: Record<string, number>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  checks = createPasswordChecks(Date.now);
  wrong = {};
});
afterEach(() => {
  vi.useRealTimers();
});

interface Attempt {
  name?: string;
  address: string;
  device?: string;
}

/** Takes its time, and counts the wrong ones by name. */
async function attempt({ name = "ann", address, device }: Attempt, isRight: boolean, signal = never) {
  const networks = networksOf(address);
  const check = async () => {
    await new Promise<void>((done) => setTimeout(done, checkMs));
    if (!isRight) wrong[name] = (wrong[name] ?? 0) + 1;
    return isRight ? name : undefined;
  };
  return await checks.run({ name, networks, device }, check, signal);
}

async function timeUntilIn(as: Attempt): Promise<number> {
  const began = performance.now();
  const outcome = attempt(as, true);
  let isOver = false;
  outcome.finally(() => {
    isOver = true;
  });
  while (!isOver) await vi.advanceTimersByTimeAsync(checkMs);
  expect(await outcome).toMatchObject({ type: "checked", found: as.name ?? "ann" });
  return performance.now() - began;
}

const hex = (number: number) => (number % 65_536).toString(16);
const places = {
  "the /64s of a /48": (index: number) => `2001:db8:1:${hex(index)}::${hex(index * 7 + 1)}`,
  "the /48s of a /32": (index: number) => `2001:db8:${hex(index)}::1`,
  "the /24s of a /8": (index: number) => `10.${(index >> 8) % 256}.${index % 256}.9`,
  "everywhere, IPv6": (index: number) => `2${hex(index % 4_096).padStart(3, "0")}:${hex(index * 31)}::1`,
  "everywhere, IPv4": (index: number) => `${1 + ((index * 7) % 220)}.${(index * 13) % 256}.1.1`,
  "one address": () => "198.51.100.1",
};
type From = keyof typeof places;

/** Each connection sends the next password as soon as it has an answer, and comes back after a second if told to. */
function flood(connections: number, from: From, nameOf: (index: number) => string) {
  const ended = new AbortController();
  let index = 0;
  for (let connection = 0; connection < connections; connection++)
    void (async () => {
      while (!ended.signal.aborted) {
        const tried = index++;
        const answer = await attempt({ name: nameOf(tried), address: places[from](tried) }, false, ended.signal);
        if (answer.type === "later") await new Promise<void>((done) => setTimeout(done, 1_000));
      }
    })();
  return async () => {
    ended.abort();
    await vi.advanceTimersByTimeAsync(2_000);
  };
}

test("whatever networks a flood comes from, a stranger with the right password signs in within a bounded time", async () => {
  const floods = fc.record({
    connections: fc.integer({ min: 1, max: 8 }),
    from: fc.constantFrom(...(Object.keys(places) as From[])),
    isOneName: fc.boolean(),
    seconds: fc.integer({ min: 1, max: 4 }),
    person: fc.constantFrom("203.0.113.9", "2001:db8:1:ffff::9", "2001:db8:ffff::9", "10.255.255.9", "198.51.100.200"),
  });
  await fc.assert(
    fc.asyncProperty(floods, async ({ connections, from, isOneName, seconds, person }) => {
      checks = createPasswordChecks(Date.now);
      const end = flood(connections, from, (index) => (isOneName ? "ann" : `name${index}`));
      await vi.advanceTimersByTimeAsync(seconds * 1_000);
      const ms = await timeUntilIn({ address: person }).finally(end);
      // Nobody is before the person but those who waited already, and each lets half a second pass for this name. In a
      // network that the flood uses too, they may have come 15 seconds later.
      const aheadMs = person === "203.0.113.9" ? 0 : 15_000;
      expect(ms).toBeLessThanOrEqual((connections + 1) * (500 + checkMs) + aheadMs);
    }),
    { numRuns: 500 },
  );
});

test("of all guesses at one name from any number of addresses, fewer than 10,000 a day are checked", async () => {
  const end = flood(8, "everywhere, IPv6", () => "ann");
  await vi.advanceTimersByTimeAsync(86_400_000);
  expect(wrong.ann).toBeGreaterThan(8_000);
  expect(wrong.ann).toBeLessThan(10_000);
  // Then, too, a stranger comes in, though it takes more than one try.
  let tries = 1;
  while (
    (await Promise.all([attempt({ address: "203.0.113.9" }, true), vi.advanceTimersByTimeAsync(31_000)]))[0].type ===
    "later"
  )
    tries += 1;
  expect(tries).toBeLessThanOrEqual(4);
  await end();
});

test("a name that does not exist gets slow like any other, so that the time does not tell", async () => {
  const end = flood(2, "everywhere, IPv4", () => "nobody");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(wrong.nobody).toBeLessThan(160);
  await end();
});

test("a browser and an address that have signed in before wait for no stranger, and are counted for themselves", async () => {
  await timeUntilIn({ address: "203.0.113.9" });
  const end = flood(8, "everywhere, IPv4", () => "ann");
  await vi.advanceTimersByTimeAsync(60 * 60_000);
  for (const person of [
    { address: "203.0.113.9" },
    { address: places["everywhere, IPv4"](1), device: "her browser" },
  ]) {
    expect(await timeUntilIn(person)).toBeLessThanOrEqual(2 * checkMs);
    const all = Promise.all(Array.from({ length: 25 }, () => attempt(person, false)));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await timeUntilIn({ ...person, device: "another of her browsers" })).toBeLessThanOrEqual(2 * checkMs);
    await vi.advanceTimersByTimeAsync(40_000);
    const counted = (await all).filter(({ type }) => type === "checked").length;
    expect(counted).toBeGreaterThanOrEqual(10);
    expect(counted).toBeLessThanOrEqual(20);
  }
  await end();
});

test("only passwords that were checked count: who is turned away or goes away has used up nothing", async () => {
  const gone = new AbortController();
  const address = "203.0.113.9";
  const all = Array.from({ length: 400 }, () => attempt({ address }, false, gone.signal));
  const turnedAway = Promise.all(all);
  gone.abort();
  await vi.advanceTimersByTimeAsync(1_000);
  expect((await turnedAway).filter(({ type }) => type === "checked").length).toBe(1);
  expect(await timeUntilIn({ address })).toBe(checkMs);
});

test("a full queue lets a request from a quiet network in, and turns one of the crowd away", async () => {
  const queue = createFairQueue({ atOnce: 1, loadOf: () => 0 });
  const enter = (address: string) => queue.enter({ networks: networksOf(address) }, never);
  const leave = await enter("10.0.0.1");
  const crowd = Array.from({ length: 300 }, (_, index) => enter(places["the /64s of a /48"](index)));
  const quiet = enter("203.0.113.9");
  leave?.();
  expect(await quiet).toBeDefined();
  expect(await Promise.race([...crowd.slice(-1)])).toBeUndefined();
  await vi.advanceTimersByTimeAsync(31_000);
  expect((await Promise.all(crowd)).every((place) => place === undefined)).toBe(true);
});

test("a newcomer begins at once while no check runs, however many wait longer for a pause of theirs", async () => {
  const queue = createFairQueue({ atOnce: 1, loadOf: () => 0 });
  for (let index = 0; index < 300; index++)
    void queue.enter({ networks: networksOf(places["the /64s of a /48"](index)), pauseMs: () => 60_000 }, never);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await queue.enter({ networks: networksOf("203.0.113.9") }, never)).toBeDefined();
});

test.each([
  ["203.0.113.9", ["203.0.0.0/16", "203.0.113.0/24", "203.0.113.9"]],
  ["::ffff:203.0.113.9", ["203.0.0.0/16", "203.0.113.0/24", "203.0.113.9"]],
  ["::FFFF:cb00:7109", ["203.0.0.0/16", "203.0.113.0/24", "203.0.113.9"]],
  ["64:ff9b::cb00:7109", ["203.0.0.0/16", "203.0.113.0/24", "203.0.113.9"]],
  ["2001:DB8:0:a::1", ["2001:db8::/32", "2001:db8:0::/48", "2001:db8:0:a::/64"]],
  ["2001:0db8:0000:000a:ffff::", ["2001:db8::/32", "2001:db8:0::/48", "2001:db8:0:a::/64"]],
  ["fe80::1%eth0", ["fe80:0::/32", "fe80:0:0::/48", "fe80:0:0:0::/64"]],
  ["::1", ["0:0::/32", "0:0:0::/48", "0:0:0:0::/64"]],
  [undefined, ["unknown"]],
])("the networks of %s are the same in every notation", (address, networks) => {
  expect(networksOf(address)).toEqual(networks);
});

test("what a browser is known by can't be made up, and ends with the key and after half a year", () => {
  const device = newDevice("the key", 1_000);
  expect(deviceIn(device, "the key", 2_000)).toMatch(/^[\w-]{22}$/);
  expect(deviceIn(device, "another key", 2_000)).toBeUndefined();
  expect(deviceIn(device, "the key", 1_000 + 181 * 86_400_000)).toBeUndefined();
  fc.assert(
    fc.property(fc.nat(device.length - 1), fc.constantFrom(..."AZaz09-_.", ""), (index, other) => {
      const made = device.slice(0, index) + other + device.slice(index + 1);
      if (made !== device) expect(deviceIn(made, "the key", 2_000)).toBeUndefined();
    }),
  );
  fc.assert(fc.property(fc.string(), (made) => deviceIn(made, "the key", 2_000) === undefined));
});
