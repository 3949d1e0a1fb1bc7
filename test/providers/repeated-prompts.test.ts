/** Errors that repeat what a person has written: no word of it decides what has failed. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { errorBodyOf } from "../../src/providers/error-body.ts";
import { kindOfReport, kindOfStatus } from "../../src/providers/kind-of-response.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { createScriptedProvider, says } from "../doubles/scripted-provider.ts";
import { apis, asking, collect, failureIn } from "./apis.ts";

const sentences = [
  "explain AWS: budget exceeded and the spending limit",
  "I have no credits left on my phone",
  "what does insufficient funds mean",
  "why is my credit balance too low",
  "my organization has been disabled",
  'why does it say "invalid API key" here',
  "the model is overloaded",
  "the prompt is too long",
  "this model does not support tools",
  "it requires --jinja",
  "model x not found",
  "don't say that my account is overdue",
  "it's not my country: not supported",
  "the content violates our rules",
  "You have reached your specified API usage limits",
];
const quotes: [string, (text: string) => string][] = [
  ["in a sentence with double quotes", (text) => `Invalid value "${text}" for field messages`],
  ["in single quotes", (text) => `Invalid value: '${text}'`],
  ["in backticks", (text) => `Can't read \`${text}\` here`],
  ["in printed quotes", (text) => `Can't read “${text}” here`],
  ["in a quotation that is cut off", (text) => `Input should be a valid string, got "${text}`],
  ["as JSON", (text) => `Invalid body: ${JSON.stringify({ messages: [{ role: "user", content: text }] })}`],
];
const bodies: [string, (text: string) => object][] = [
  ...quotes.map(([name, quote]): [string, (text: string) => object] => [
    name,
    (text) => ({ error: { message: quote(text) } }),
  ]),
  [
    "as a validator's input",
    (input) => ({ detail: [{ loc: ["body", 1], msg: "Input should be a valid string", input }] }),
  ],
  ["in a message that is a validator's", (input) => ({ message: { detail: [{ loc: ["body"], msg: "Bad", input }] } })],
  [
    "in details",
    (reason) => ({ error: { message: "bad", details: [{ input: { reason: `${reason} insufficient_funds` } }] } }),
  ],
  ["in a field of what was sent", (content) => ({ object: "error", request: "bad", content })],
];

describe.each(bodies)("a prompt %s", (_where, bodyOf) => {
  test.each(sentences)("“%s” stays what the status says, and in a stream what may pass", (sentence) => {
    const body = errorBodyOf(bodyOf(sentence));
    expect([400, 422, 429, 403, 500].map((status) => kindOfStatus(status, body, false))).toEqual([
      ...["badRequest", "badRequest", "rateLimited"],
      expect.stringMatching(/^(?:blocked|forbidden)$/),
      "serverError",
    ]);
    expect(kindOfReport(body)).toBe("serverError");
  });
});

test.each(["Explain: budget exceeded", "My phone says out of credits", "invalid api key in my script"])(
  "“%s” without quotes is no matter of money or keys where the status says nothing of them",
  (sentence) => {
    for (const status of [400, 422]) {
      const body = errorBodyOf({ error: { message: `Cannot read the input: ${sentence}` } });
      expect(kindOfStatus(status, body, false)).toBe("badRequest");
    }
  },
);

describe.each(apis)("$name", (api) => {
  let double: ModelDouble;
  beforeAll(async () => {
    double = await startModelDouble();
    double.mock.onMessage("hello", { content: "Hello there." });
  });
  afterAll(() => double.stop());

  test("words of money or keys alone let a model rest for a minute, and a code for an hour", async () => {
    const clock = { now: 1_000 };
    const asked = async (error: object, laterMs: number, status = 429) => {
      const one = api.create(double.url);
      const two = createScriptedProvider([says("Two.", "b/two"), says("Two.", "b/two")], "b/two");
      const cascade = createCascade({ providers: [one, two], events: createEvents(), now: () => clock.now });
      double.failNext({ type: "answer", status, body: JSON.stringify({ error }) });
      await collect(cascade, asking("hello"));
      clock.now += laterMs;
      const before = double.requests.length;
      await collect(cascade, asking("hello"));
      return double.requests.length - before;
    };
    const message = "You are out of credits.";
    expect(await asked({ message }, 50_000)).toBe(0);
    expect(await asked({ message }, 61_000)).toBe(1);
    expect(await asked({ message, code: "insufficient_quota" }, 3_590_000)).toBe(0);
    const suspended = "Validation error: my account was suspended by Amazon";
    expect(await asked({ message: suspended }, 50_000, 400)).toBe(0);
    expect(await asked({ message: suspended }, 61_000, 400)).toBe(1);
    expect(await asked({ message: suspended, code: "account_deactivated" }, 3_590_000, 400)).toBe(0);
    expect(await asked({ message: "Input error: Your credit balance is too low" }, 61_000, 400)).toBe(1);
    expect(await asked({ message: "Your credit balance is too low to go on" }, 3_590_000, 400)).toBe(0);
  });

  test("a validator's message names the field, and not what was sent", async () => {
    const detail = [{ loc: ["body", "messages", 1], msg: "Input should be a valid string", input: "my secret plan" }];
    double.failNext({ type: "answer", status: 422, body: JSON.stringify({ detail }) });
    const { code, message } = failureIn(await collect(api.create(double.url), asking("hello")));
    expect(code).toBe("provider.bad-request");
    expect(message).toContain("422 `body.messages.1: Input should be a valid string`");
    expect(message).not.toContain("secret");
  });
});
