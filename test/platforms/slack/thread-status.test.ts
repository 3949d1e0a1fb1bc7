/** The status of a thread: there at once, renewed, gone at the end, and never a reason to fail. */
import { beforeEach, expect, test } from "vitest";
import { RemoraError } from "../../../src/lib/errors.ts";
import { type Log, silentLog } from "../../../src/lib/log.ts";
import type { SlackApi } from "../../../src/platforms/slack/api/api.ts";
import { createRateLimiter } from "../../../src/platforms/slack/api/rate-limiter.ts";
import { createThreadStatuses, type ThreadStatuses } from "../../../src/platforms/slack/outbound/thread-status.ts";

let clock: number;
let sent: unknown[];
let logged: number;
let refusal: RemoraError | undefined;
let answer: Promise<void>;
let statuses: ThreadStatuses;

beforeEach(() => {
  [clock, sent, logged, refusal, answer] = [1_000_000, [], 0, undefined, Promise.resolve()];
  const log: Log = { ...silentLog, info: () => (logged += 1) };
  const call: SlackApi["call"] = async (_method, { status }, schema) => {
    sent.push(status);
    await answer;
    if (refusal !== undefined) throw refusal;
    return schema.parse({});
  };
  const now = () => clock;
  statuses = createThreadStatuses({
    api: { call, clockSkewMs: () => 0 },
    rateLimiter: createRateLimiter(now),
    log,
    now,
  });
});

function refused(code: string, more: Partial<RemoraError> = {}): RemoraError {
  return Object.assign(new RemoraError({ code: `slack.${code}`, place: "slack", message: code }), more);
}

test("ten minutes of the same work renew it before Slack drops it after two, and not at every call", async () => {
  const status = statuses("C1", "1.1");
  for (let seconds = 0; seconds <= 600; seconds += 5) {
    await status.show("is thinking");
    clock += 5_000;
  }
  expect(sent.length).toBeGreaterThanOrEqual(600 / 30);
  expect(sent.length).toBeLessThanOrEqual(600 / 20);
  await status.show("");
  await status.show("");
  expect(sent.at(-1)).toBe("");
  expect(sent.filter((each) => each === "")).toHaveLength(1);
});

test("what a fast answer overtakes is cleared: a status that arrives after the post does not stay", async () => {
  let open = () => {};
  answer = new Promise((resolve) => {
    open = resolve;
  });
  const status = statuses("C1", "1.1");
  const beginning = status.begin("is on it");
  status.posted();
  open();
  await beginning;
  expect(sent).toEqual(["is on it", ""]);
});

test("a message in a thread that has a status leaves it alone", async () => {
  await statuses("C1", "1.1").show("is running tests");
  await statuses("C1", "1.1").begin("is on it");
  await statuses("C1", "2.2").begin("is on it");
  expect(sent).toEqual(["is running tests", "is on it"]);
});

test.each(["missing_scope", "not_allowed_token_type", "method_not_supported_for_channel_type"])(
  "after the refusal %s, replies show a line instead, and it is logged once",
  async (code) => {
    refusal = refused(code);
    await statuses("C1", "1.1").show("is thinking");
    expect(statuses("C1", "1.1").isPossible()).toBe(false);
    expect(statuses("C2", "2.2").isPossible()).toBe(false);
    await statuses("C1", "1.1").show("is thinking");
    expect(sent).toHaveLength(1);
    clock += 11 * 60_000;
    await statuses("C2", "2.2").show("is thinking");
    expect([sent.length, logged]).toEqual([2, 1]);
  },
);

test("a deleted thread says nothing about the others", async () => {
  refusal = refused("invalid_thread_ts");
  await statuses("C1", "1.1").show("is thinking");
  expect(statuses("C1", "1.1").isPossible()).toBe(false);
  expect(statuses("C1", "2.2").isPossible()).toBe(true);
});

test("a rate limit rests for as long as Slack asks, and then it goes on", async () => {
  refusal = refused("ratelimited", { isRetryable: true, retryAfterMs: 45_000 });
  await statuses("C1", "1.1").show("is thinking");
  clock += 44_000;
  expect(statuses("C1", "1.1").isPossible()).toBe(false);
  clock += 2_000;
  refusal = undefined;
  await statuses("C1", "1.1").show("is thinking");
  expect(sent).toHaveLength(2);
});

test("a status is short, and can't call anybody", async () => {
  await statuses("C1", "1.1").show(`is reading <@U123> <!channel> ${"x".repeat(500)}`);
  const [text] = sent;
  expect(String(text).length).toBeLessThanOrEqual(90);
  expect(String(text)).not.toMatch(/<[@!]/);
});
