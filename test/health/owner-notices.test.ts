/** When owners get a direct message about a problem, which words it has, and when they get none. */
import { setImmediate } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import type { ServiceState } from "../../src/health/owner-notice-text.ts";
import { createOwnerNotices, type OwnerNotices } from "../../src/health/owner-notices.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { HealthCheck } from "../../src/ports/health.ts";
import type { Json } from "../../src/ports/message.ts";

const minute = 60_000;
const full: HealthCheck = {
  ...{ name: "disk data", state: "broken", todo: "Free some space" },
  what: "the disk of the data folder is full",
};
const fullText =
  "⚠️ I can't take new messages: the disk of the data folder is full. Free some space. I'll write again when that is solved.";
const revoked = { isConnected: false, detail: "token_revoked: the token was revoked" };

let checks: HealthCheck[];
let slack: ServiceState;
let discord: ServiceState;
let sent: string[];
let refuses: (service: string) => boolean;
let kept: Map<string, Json>;
let isStoreFull: boolean;
let now: number;
let notices: OwnerNotices;

beforeEach(() => {
  checks = [];
  slack = { name: "slack", isConnected: true, detail: "connected" };
  discord = { name: "discord", isConnected: true, detail: "connected" };
  [sent, refuses, kept, isStoreFull, now] = [[], () => false, new Map(), false, 0];
  notices = started();
});

/** A process on the same store. */
function started(owners = ["user:slack:U1", "user:discord:2", "role:slack:S1", "requester"]): OwnerNotices {
  return createOwnerNotices({
    ...{ checks: () => checks, services: () => [slack, discord], owners: () => owners, log: silentLog },
    async send({ service, userId, text }) {
      if (refuses(service)) throw new Error("not now");
      sent.push(`${service} ${userId}: ${text}`);
    },
    store: {
      get: async (key) => kept.get(key),
      async set(key, value) {
        if (isStoreFull) throw new Error("ENOSPC");
        kept.set(key, structuredClone(value));
      },
      delete: async () => {},
      close: async () => {},
    },
    minProblemMs: 15_000,
  });
}

/** Sweeps at once and after each of the times. Returns what was sent in between. */
async function after(...milliseconds: number[]): Promise<string[]> {
  const before = sent.length;
  for (const ms of [0, ...milliseconds]) {
    now += ms;
    await notices.sweep(now);
    await setImmediate();
  }
  return sent.slice(before);
}

test("a full disk is told once on every service that works, and once more when there is room", async () => {
  checks = [full, { ...full, name: "disk workspace" }];
  const both = fullText.replace(". I'll", "; the disk of the data folder is full. Free some space. I'll");
  expect(await after(14_999)).toEqual([]);
  expect(await after(1, minute, minute)).toEqual([`slack U1: ${both}`, `discord 2: ${both}`]);
  checks = [];
  const solved = "✅ There is room on the disk again, so I take messages again.";
  expect(await after(15_000, minute)).toEqual([`slack U1: ${solved}`, `discord 2: ${solved}`]);
});

test("a revoked token is told on the other service", async () => {
  Object.assign(slack, revoked);
  expect(await after(15_000)).toEqual([
    "discord 2: ⚠️ I can't work on Slack: token_revoked: the token was revoked. I'll write again when that is solved.",
  ]);
  Object.assign(slack, { isConnected: true, detail: "connected" });
  expect(await after(15_000)).toEqual(["slack U1: ✅ I'm back on Slack.", "discord 2: ✅ I'm back on Slack."]);
});

test("models are told together, and only if none answers", async () => {
  const broken = (name: string): HealthCheck => ({ name: `model ${name}`, state: "broken", what: `${name} is down` });
  checks = [{ ...broken("a"), state: "warning" }];
  expect(await after(minute)).toEqual([]);
  checks = [broken("a"), broken("b")];
  const [first] = await after(15_000);
  expect(first).toBe(
    "slack U1: ⚠️ I can't answer, because no model does:\n- a: a is down.\n- b: b is down.\n\nI'll write again when that is solved.",
  );
});

test("a moment's trouble is not told, and what comes and goes is told at most every ten minutes", async () => {
  Object.assign(discord, { isConnected: false });
  expect(await after(14_000)).toEqual([]);
  Object.assign(discord, { isConnected: true });
  expect(await after(minute)).toEqual([]);
  const round = async () => {
    checks = [full];
    const told = await after(15_000);
    checks = [];
    return [...told, ...(await after(15_000))].length;
  };
  expect([await round(), await round(), await round()]).toEqual([4, 0, 0]);
  now += 10 * minute;
  expect(await round()).toBe(4);
});

test("a restart repeats nothing, even if the store can't keep it in this process", async () => {
  checks = [full];
  isStoreFull = true;
  expect(await after(15_000, minute)).toHaveLength(2);
  isStoreFull = false;
  checks = [];
  expect(await after(15_000)).toHaveLength(2);
  checks = [full];
  now += 10 * minute;
  expect(await after(15_000)).toHaveLength(2);
  notices = started();
  expect(await after(15_000, minute)).toEqual([]);
});

test("a kill is told at most once an hour, as soon as an owner can be reached", async () => {
  const text = "⚠️ I was killed.";
  Object.assign(slack, { isConnected: false });
  Object.assign(discord, { isConnected: false });
  notices.restarted(text);
  expect(await after(2_000)).toEqual([]);
  Object.assign(discord, { isConnected: true });
  expect(await after(2_000, 2_000)).toEqual([`discord 2: ${text}`]);
  for (let restarts = 0; restarts < 3; restarts++) {
    notices = started();
    notices.restarted(text);
    expect(await after(minute)).not.toContain(`discord 2: ${text}`);
  }
  now += 60 * minute;
  notices = started();
  notices.restarted(text);
  expect(await after()).toEqual([`discord 2: ${text}`]);
});

test("a notice that reached nobody is tried again", async () => {
  checks = [full];
  refuses = () => true;
  expect(await after(15_000, 2_000)).toEqual([]);
  refuses = (service) => service === "slack";
  expect(await after(minute, minute)).toEqual([`discord 2: ${fullText}`]);
});

test("without owners, nobody is told", async () => {
  notices = started(["requester", "role:slack:S1"]);
  checks = [full];
  expect(await after(15_000)).toEqual([]);
});

test("a model whose account may not spend is told also while another one answers, and once if none does", async () => {
  const limit: HealthCheck = {
    ...{ name: "model openai/one", state: "warning", tellsOwners: true, todo: "Raise the limit in the account" },
    what: "the account has reached its spending limit",
  };
  const text = "the account has reached its spending limit. Raise the limit in the account.";
  checks = [limit, { ...limit, name: "model b/two", tellsOwners: false }];
  expect(await after(15_000, minute)).toContain(
    `discord 2: ⚠️ I can't use openai/one: ${text} I'll write again when that is solved.`,
  );
  checks = [{ ...limit, state: "broken" }];
  const none = await after(15_000, minute);
  expect(none.join("\n")).toContain(`I can't answer, because no model does:\n- openai/one: ${text}\n\n`);
  expect(none.join("\n")).not.toMatch(/answers again|can't use/);
  checks = [];
  expect((await after(15_000, minute)).join("\n")).toMatch(/✅ openai\/one answers again\./);
});
