/** What an account may not spend: every service's own words become one of three failures, over each client library. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RemoraError } from "../../src/lib/errors.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { Provider } from "../../src/ports/provider.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { moneyAnswers } from "../doubles/model-rules/money.ts";
import { createScriptedProvider, says } from "../doubles/scripted-provider.ts";
import { apis, asking, collect, failureIn } from "./apis.ts";

let double: ModelDouble;
beforeAll(async () => {
  double = await startModelDouble();
});
afterAll(() => double.stop());

async function failure(
  api: (typeof apis)[number],
  answer: { status: number; headers?: Record<string, string>; body: unknown },
) {
  const { status, headers = {}, body } = answer;
  double.failNext({ type: "answer", status, headers, body: JSON.stringify(body) });
  return failureIn(await collect(api.create(double.url), asking("hello", { tools: [] })));
}

describe.each(apis)("$name", (api) => {
  test.each(moneyAnswers)("$service $status “$says” is $means", async ({ means, resetsAt, ...answer }) => {
    const error = await failure(api, answer);
    expect(error.code).toBe(`provider.${means}`);
    expect(error.isRetryable).toBe(means === "rate-limited");
    if (resetsAt === undefined) return;
    const text = `${resetsAt.slice(0, 10)} ${resetsAt.slice(11, 16)} UTC`;
    expect(error.message).toContain(text);
    expect(Date.now() + (error.retryAfterMs ?? 0)).toBeCloseTo(Date.parse(resetsAt), -5);
  });
});

describe("words that no list knows", () => {
  const said = async (status: number, message: string) => {
    const [api] = apis;
    if (api === undefined) throw new Error("no api");
    return (await failure(api, { status, body: { error: { message } } })).code;
  };

  test.each([
    "Monthly spending cap exceeded for this project.",
    "Your project has exceeded its monthly spending cap. Please go to AI Studio to manage your spend cap.",
    "You've reached your monthly usage limit.",
    "The budget limit has been reached for key abc.",
    "Vous avez atteint votre limite de dépenses.",
    "Das Ausgabenlimit ist erreicht.",
  ])("“%s” is a spending limit, with every status that can mean one", async (message) => {
    for (const status of [402, 403, 429]) expect(await said(status, message)).toBe("provider.spend-limit");
  });

  test.each([
    "Insufficient account balance",
    "You are out of credits.",
    "There are not enough credits for this request.",
    "账户余额不足",
    "Ihr Guthaben ist aufgebraucht.",
    "Saldo insuficiente",
  ])("“%s” is an empty account, with every status that can mean one", async (message) => {
    for (const status of [402, 403, 429]) expect(await said(status, message)).toBe("provider.no-credit");
  });

  test.each([
    "Rate limit reached for model llama on tokens per day (TPD). Need more tokens? Upgrade at https://x.example/settings/billing",
    "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",
    "You have reached your usage limit of 50 requests per minute.",
    "Too many requests",
    "利用が集中しています",
  ])("“%s” stays too many requests", async (message) => {
    expect(await said(429, message)).toBe("provider.rate-limited");
  });

  test.each([
    "Invalid schema for function 'read_spend_limit': 'spendLimit' is not valid under any of the given schemas",
    "tools.0.input_schema: properties.budget is required",
    "Unsupported parameter: monthly",
  ])("“%s” stays a wrong request", async (message) => {
    expect(await said(400, message)).toBe("provider.bad-request");
  });

  test("a payment that is required in other words is an empty account, and only a refusal without words is one of access", async () => {
    expect(await said(402, "платеж")).toBe("provider.no-credit");
    expect(await said(403, "")).toBe("provider.forbidden");
    expect(await said(403, "нет")).toBe("provider.bad-request");
  });
});

test("people read one plain sentence, and the service's own words are kept for owners", async () => {
  const [api] = apis;
  const [tier] = moneyAnswers;
  if (api === undefined || tier === undefined) throw new Error("nothing to ask");
  const error = await failure(api, tier);
  expect(error.message).toMatch(
    /^\[provider anthropic\] the account has reached its spending limit, which resets on \d{4}-\d\d-01 00:00 UTC; whoever manages the account can raise it, or set another key in ANTHROPIC_API_KEY or models\.anthropic\.apiKey$/,
  );
  expect(error.detail).toContain("429 `This request would exceed your account's monthly spend limit");
});

describe("a model whose account may not spend", () => {
  const clock = { now: 1_000 };
  const hourMs = 3_600_000;
  let digest = "one";
  let failed: RemoraError;
  let asked = 0;
  const limited: Provider = {
    name: "a",
    model: "a/one",
    keyDigest: () => digest,
    async *stream() {
      asked += 1;
      yield { type: "error", error: failed };
    },
  };
  const error = (code: string, retryAfterMs?: number) =>
    new RemoraError({
      ...{ code, place: "provider a", message: "no", isRetryable: code === "provider.rate-limited" },
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  const cascade = (...others: Provider[]) => {
    asked = 0;
    clock.now = 1_000;
    return createCascade({ providers: [limited, ...others], events: createEvents(), now: () => clock.now, pauseMs: 1 });
  };
  const two = () =>
    createScriptedProvider(
      Array.from({ length: 3_000 }, () => says("Two.", "b/two")),
      "b/two",
    );
  const ask = async (made: Provider, times = 1) => {
    for (let count = 0; count < times; count++) await collect(made, asking("x"));
  };

  test("is not asked for an hour, then for two and four, and never for more than six", async () => {
    failed = error("provider.spend-limit");
    const made = cascade(two());
    await ask(made, 3);
    expect(asked).toBe(1);
    for (const [hours, times] of [
      [1, 2],
      [2, 3],
      [4, 4],
      [6, 5],
      [6, 6],
    ] as const) {
      clock.now += hours * hourMs - 1;
      await ask(made);
      expect(asked).toBe(times - 1);
      clock.now += 1;
      await ask(made);
      expect(asked).toBe(times);
    }
  });

  test("rests until the date that the service names, but is asked every six hours, because somebody may raise the limit", async () => {
    failed = error("provider.spend-limit", 2 * hourMs);
    const made = cascade(two());
    await ask(made);
    clock.now += 2 * hourMs - 1;
    await ask(made);
    expect(asked).toBe(1);
    failed = error("provider.spend-limit", 400 * hourMs);
    clock.now += 1;
    await ask(made);
    expect(asked).toBe(2);
    clock.now += 6 * hourMs;
    await ask(made);
    expect(asked).toBe(3);
  });

  test("is asked at once with another key, and for each message if no other model is there", async () => {
    failed = error("provider.no-credit");
    const made = cascade(two());
    await ask(made, 2);
    expect(asked).toBe(1);
    digest = "two";
    await ask(made, 2);
    expect(asked).toBe(2);
    const alone = cascade();
    await ask(alone, 2);
    expect(asked).toBe(2);
  });

  test("also rests longer and longer if it only says that there are too many requests, but never beyond the time that this has lasted", async () => {
    failed = error("provider.rate-limited");
    const made = cascade(two());
    for (const end = clock.now + 24 * hourMs; clock.now < end; clock.now += 60_000) await ask(made);
    expect(asked).toBeLessThan(45);
    const many = cascade(two());
    await Promise.all(Array.from({ length: 30 }, () => ask(many)));
    const before = asked;
    clock.now += 5 * 60_000;
    await ask(many);
    expect(asked).toBe(before + 1);
  });
});
