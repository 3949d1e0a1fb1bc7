import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RemoraError } from "../../src/lib/errors.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { RemoraEvent } from "../../src/ports/events.ts";
import type { ModelEvent, Provider } from "../../src/ports/provider.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { freePort } from "../doubles/free-port.ts";
import { createScriptedProvider, noUsage, says } from "../doubles/scripted-provider.ts";
import { apis, asking, collect, failureIn, textIn } from "./apis.ts";

const limited = (retryAfterMs?: number) => failing("provider.rate-limited", true, retryAfterMs);
const down = () => failing("provider.unreachable", true);
const wrongKey = () => failing("provider.wrong-key", false);

function failing(code: string, isRetryable: boolean, retryAfterMs?: number): ModelEvent[] {
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return [
    { type: "error", error: new RemoraError({ code, place: "provider x", message: "no", isRetryable, ...wait }) },
  ];
}

function provider(model: string, ...steps: ModelEvent[][]) {
  return { ...createScriptedProvider(steps, model), name: model.split("/")[0] ?? "" };
}

function cascade(providers: Provider[], clock = { now: 0 }) {
  const events = createEvents();
  const heard: RemoraEvent[] = [];
  events.listen((event) => heard.push(event));
  const fallbacks = () => heard.map((event) => event.fields).map((fields) => fields as Record<string, unknown>);
  const made = createCascade({ providers, events, now: () => clock.now, pauseMs: 1, longestPauseMs: 100 });
  return { made, fallbacks, clock };
}

describe("the cascade", () => {
  test("asks the first provider and no other while it is well", async () => {
    const [one, two] = [provider("a/one", says("Hi.", "a/one")), provider("b/two")];
    const { made, fallbacks } = cascade([one, two]);
    expect(textIn(await collect(made, asking("x")))).toBe("Hi.");
    expect(fallbacks()).toEqual([]);
    expect(made.model).toBe("a/one");
  });

  test("moves on for a passing failure, and says so", async () => {
    const [one, two] = [provider("a/one", down()), provider("b/two", says("Hi.", "b/two"))];
    const { made, fallbacks } = cascade([one, two]);
    const events = await collect(made, asking("x"));
    expect(textIn(events)).toBe("Hi.");
    expect(events[0]).toEqual({ type: "notice", text: "Asking another model" });
    expect(events.at(-1)).toMatchObject({ type: "end", model: "b/two" });
    expect(fallbacks()).toMatchObject([{ from: "a/one", to: "b/two", code: "provider.unreachable" }]);
  });

  test("says of a single model that it thinks as soon as it is asked again", async () => {
    const { made } = cascade([provider("a/one", down(), says("Hi.", "a/one"))]);
    const events = await collect(made, asking("x"));
    expect(events.map((event) => ("text" in event ? event.text : event.type))).toEqual([
      ...["Asking the model again in 1 s", "Thinking", "Hi.", "end"],
    ]);
  });

  test("waits for a model that loads, and for a full server, with a status, and then says that it thinks", async () => {
    const one: Provider = { name: "a", model: "a/one", stream: () => stream() };
    const answers = [
      failing("provider.loading", true),
      failing("provider.loading", true),
      failing("provider.full", true),
    ];
    async function* stream() {
      const next = answers.shift();
      if (next !== undefined) return yield* next;
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      yield* says("Hi.", "a/one");
    }
    const events = await collect(cascade([one]).made, asking("x"));
    expect(events.map((event) => ("text" in event ? event.text : event.type))).toEqual([
      ...["Waiting: the server loads the model", "Waiting: the server loads the model"],
      ...["Waiting: the model's server is busy", "Thinking", "Hi.", "end"],
    ]);
  });

  test("gives up a model that does not end to load, and a stop ends the wait", async () => {
    const clock = { now: 0 };
    let asked = 0;
    const stopping = new AbortController();
    const one: Provider = {
      ...{ name: "a", model: "a/one" },
      async *stream() {
        asked += 1;
        clock.now += 60_000;
        if (asked === 100) stopping.abort();
        yield* failing("provider.loading", true);
      },
    };
    expect(failureIn(await collect(cascade([one], clock).made, asking("x"))).code).toBe("provider.loading");
    expect(asked).toBeLessThan(15);
    const loading = Array.from({ length: 50 }, () => failing("provider.loading", true));
    const collecting = collect(cascade([provider("a/one", ...loading)]).made, asking("x"), stopping.signal);
    stopping.abort();
    expect((await collecting).at(-1)?.type).toBe("error");
  });

  test("asks another model while one loads", async () => {
    const two = provider("b/two", says("Hi.", "b/two"));
    const { made } = cascade([provider("a/one", failing("provider.loading", true)), two]);
    expect(textIn(await collect(made, asking("x")))).toBe("Hi.");
  });

  test.each([
    ["http://127.0.0.1:8080/v1", 1],
    ["http://gpu-box:8000/v1", 1],
    ["https://models.example.com/v1", 1],
    ["https://api.openai.com/v1", 2],
  ])(
    "asks %s %i times if it does not begin to answer, because what may only be slow would begin anew",
    async (address, times) => {
      const late = () => failing("provider.first-token-timeout", true);
      const one = { ...provider("a/one", late(), late()), address };
      const { made } = cascade([one]);
      expect(failureIn(await collect(made, asking("x"))).code).toBe("provider.first-token-timeout");
      expect(one.requests).toHaveLength(times);
    },
  );

  test("asks another model if one does not begin to answer", async () => {
    const one = {
      ...provider("a/one", failing("provider.first-token-timeout", true)),
      address: "http://127.0.0.1:8080",
    };
    const two = provider("b/two", says("Hi.", "b/two"));
    expect(textIn(await collect(cascade([one, two]).made, asking("x")))).toBe("Hi.");
  });

  test("asks no other model if none may answer instead", async () => {
    const [one, two] = [provider("a/one", down(), down()), provider("b/two", says("Hi.", "b/two"))];
    const { made } = cascade([one, two]);
    const events = await collect(made, { ...asking("x"), isWithoutFallback: true });
    expect(failureIn(events)).toMatchObject({ code: "provider.unreachable" });
    expect(two.requests).toHaveLength(0);
  });

  test("does not move on once a call was given", async () => {
    const first: ModelEvent = { type: "tool-call", id: "1", name: "look_up", inputJson: "{}" };
    const [one, two] = [provider("a/one", [first, ...down()]), provider("b/two")];
    const { made } = cascade([one, two]);
    const events = await collect(made, asking("x"));
    expect(events[0]).toEqual(first);
    expect(failureIn(events).code).toBe("provider.unreachable");
    expect(two.requests).toHaveLength(0);
  });

  test("lets a model rest after a passing failure, and comes back to it when the rest is over", async () => {
    const one = provider("a/one", limited(60_000), says("Back.", "a/one"));
    const two = provider("b/two", says("1", "b/two"), says("2", "b/two"));
    const { made, clock, fallbacks } = cascade([one, two]);
    await collect(made, asking("x"));
    clock.now = 59_999;
    expect(textIn(await collect(made, asking("x")))).toBe("2");
    expect(fallbacks().at(-1)).toMatchObject({ from: "a/one", to: "b/two", code: "provider.resting" });
    clock.now = 60_000;
    expect(textIn(await collect(made, asking("x")))).toBe("Back.");
  });

  test("rests one model of a provider and not its others", async () => {
    const one = provider("a/one", limited(60_000), says("Other.", "a/other"));
    const two = provider("b/two", says("1", "b/two"));
    const { made } = cascade([one, two]);
    await collect(made, asking("x"));
    expect(textIn(await collect(made, asking("x", { preferredModel: "a/other" })))).toBe("Other.");
    expect(one.requests[1]?.preferredModel).toBe("a/other");
  });

  test("rests longer with every failure in a row", async () => {
    const one = provider("a/one", down(), down(), says("Back.", "a/one"));
    const two = provider("b/two", ...["1", "2", "3"].map((word) => says(word, "b/two")));
    const { made, clock } = cascade([one, two]);
    await collect(made, asking("x"));
    clock.now = 5_000;
    await collect(made, asking("x"));
    clock.now = 14_999;
    expect(textIn(await collect(made, asking("x")))).toBe("3");
    clock.now = 15_000;
    expect(textIn(await collect(made, asking("x")))).toBe("Back.");
  });

  test.each(["provider.overloaded", "provider.server-error"])(
    "rests for 15 minutes at most after %s, whatever the service asks for",
    async (code) => {
      const first = createScriptedProvider([failing(code, true, 16 * 3_600_000), says("One.", "a/one")], "a/one");
      const second = createScriptedProvider([says("Two.", "b/two"), says("Two.", "b/two")], "b/two");
      const { made, clock } = cascade([first, second]);
      const ask = async () => textIn(await collect(made, asking("x")));
      expect(await ask()).toBe("Two.");
      clock.now += 15 * 60_000 - 1;
      expect(await ask()).toBe("Two.");
      clock.now += 1;
      expect(await ask()).toBe("One.");
    },
  );

  test("a model whose rest is over is tried by one request, while others go past it", async () => {
    const gate = Promise.withResolvers<void>();
    let tries = 0;
    const one: Provider = {
      name: "a",
      model: "a/one",
      async *stream() {
        tries += 1;
        if (tries > 1) await gate.promise;
        yield* tries > 1 ? says("Back.", "a/one") : down();
      },
    };
    const two = provider("b/two", says("1", "b/two"), says("2", "b/two"));
    const { made, clock } = cascade([one, two]);
    await collect(made, asking("x"));
    clock.now = 5_000;
    const trial = collect(made, asking("x"));
    expect(textIn(await collect(made, asking("x")))).toBe("2");
    gate.resolve();
    expect(textIn(await trial)).toBe("Back.");
  });

  test("asks the one that is due first when all rest", async () => {
    const one = provider("a/one", limited(60_000));
    const two = provider("b/two", limited(30_000), says("Hi.", "b/two"));
    const { made } = cascade([one, two]);
    await collect(made, asking("x"));
    expect(textIn(await collect(made, asking("x")))).toBe("Hi.");
  });

  test("gives a single provider one more try", async () => {
    const one = provider("a/one", down(), says("Hi.", "a/one"));
    const { made, fallbacks } = cascade([one]);
    expect(textIn(await collect(made, asking("x")))).toBe("Hi.");
    expect(fallbacks()).toEqual([]);
  });

  test("gives a single provider no more than one more try", async () => {
    const one = provider("a/one", down(), down());
    const { made } = cascade([one]);
    expect(failureIn(await collect(made, asking("x"))).code).toBe("provider.unreachable");
    expect(one.requests).toHaveLength(2);
  });

  test("does not hold a person up for a long wait that the provider asks for", async () => {
    const one = provider("a/one", limited(60_000));
    const { made } = cascade([one]);
    expect(failureIn(await collect(made, asking("x")))).toMatchObject({ retryAfterMs: 60_000 });
    expect(one.requests).toHaveLength(1);
  });

  test("tells what each model failed of when none could answer", async () => {
    const { made } = cascade([provider("a/one", down()), provider("b/two", limited())]);
    const error = failureIn(await collect(made, asking("x")));
    expect(error).toMatchObject({ code: "provider.all-failed", isRetryable: true });
    expect(error.message).toMatch(/a\/one: .*b\/two: /);
    expect(error.plain).toMatch(/^No model could answer:\n- a\/one: [^[\]\n]*\.\n- b\/two: [^[\]\n]*$/);
  });

  test("a model that a person chose goes first, and the order follows", async () => {
    const [one, two] = [provider("a/one", says("Hi.", "a/one")), provider("b/two", down())];
    const { made, fallbacks } = cascade([one, two]);
    await collect(made, asking("x", { preferredModel: "b/two" }));
    expect(fallbacks()).toMatchObject([{ from: "b/two", to: "a/one" }]);
  });

  test("a chosen model of a provider that is not there leaves the order as it is", async () => {
    const one = provider("a/one", says("Hi.", "a/one"));
    expect(textIn(await collect(cascade([one]).made, asking("x", { preferredModel: "zzz/nine" })))).toBe("Hi.");
  });

  test("a service that can't be reached is passed at once, with the real client", async () => {
    const [anthropic] = apis;
    if (anthropic === undefined) throw new Error("no api");
    const local = provider("ollama/x", says("Local.", "ollama/x"));
    const { made } = cascade([anthropic.create(`http://127.0.0.1:${await freePort()}`), local]);
    expect(textIn(await collect(made, asking("x")))).toBe("Local.");
  });

  test("never shows anything twice and always ends once, whatever the providers do", async () => {
    const piece = fc.constantFrom<ModelEvent>(
      { type: "text-delta", text: "word " },
      { type: "text-delta", text: "" },
      { type: "tool-call", id: "1", name: "look_up", inputJson: "{}" },
    );
    const ending = fc.constantFrom<ModelEvent[]>(
      [{ type: "end", stop: "end", usage: noUsage, model: "m" }],
      down(),
      limited(10),
      wrongKey(),
    );
    const answer = fc.tuple(fc.array(piece, { maxLength: 3 }), ending).map(([pieces, last]) => [...pieces, ...last]);
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 4 }), async (answers) => {
        const shown: ModelEvent[][] = [];
        const providers = answers.map((events, index): Provider => {
          const model = `p${index}/m`;
          return {
            name: `p${index}`,
            model,
            async *stream() {
              shown.push(events);
              yield* events;
            },
          };
        });
        const events = await collect(cascade(providers).made, asking("x"));
        expect(events.filter((event) => event.type === "end" || event.type === "error")).toHaveLength(1);
        expect(["end", "error"]).toContain(events.at(-1)?.type);
        // People read one answer: what was shown before a restart is void, and the rest came from one request.
        const visible = events.slice(events.findLastIndex(({ type }) => type === "restart") + 1).filter(isVisible);
        const whole = visible.length === 0 || shown.some((sent) => isDeepStrictEqual(sent.filter(isVisible), visible));
        expect(whole).toBe(true);
        // No model was asked more than twice, and none after a call.
        expect(shown.length).toBeLessThanOrEqual(2 * answers.length);
        for (const before of shown.slice(0, -1)) expect(before.some(({ type }) => type === "tool-call")).toBe(false);
      }),
      { numRuns: 200 },
    );
  });
});

function isVisible(event: ModelEvent): boolean {
  return event.type === "tool-call" || (event.type === "text-delta" && event.text !== "");
}
