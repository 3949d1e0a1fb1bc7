/** Requests that wait for a server which works on few at a time: order, what people read, a stop, and what gives way. */
import { expect, test } from "vitest";
import { RemoraError } from "../../src/lib/errors.ts";
import type { ModelEvent, ModelRequest, Provider } from "../../src/ports/provider.ts";
import { createProviders, type ProviderSettings } from "../../src/providers/select.ts";
import { queued, usualConcurrency } from "../../src/providers/server-queue.ts";
import { startModelDouble } from "../doubles/model.ts";
import { noUsage } from "../doubles/scripted-provider.ts";
import { asking, failureIn, patient, scripted, text, textIn, usualContext } from "./apis.ts";

const background = { isBackground: true as const };

/** A server that answers when the test says so, in `order`, and counts what it has at once. */
function openServer(concurrency: number) {
  const order: string[] = [];
  const answering = new Map<string, () => void>();
  let most = 0;
  const server: Provider = {
    ...{ name: "openai", model: "openai/m" },
    async *stream(request, signal) {
      const said = saidIn(request);
      order.push(said);
      const answered = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => answered.resolve(), { once: true });
      answering.set(said, () => answered.resolve());
      most = Math.max(most, answering.size);
      await answered.promise;
      answering.delete(said);
      if (signal.aborted) {
        const aborted = { code: "provider.aborted", place: "provider openai", message: "stopped" };
        yield { type: "error", error: new RemoraError(aborted) };
        return;
      }
      yield { type: "text-delta", text: `to ${said}` };
      yield { type: "end", stop: "end", usage: noUsage, model: "openai/m" };
    },
  };
  const provider = queued(server, concurrency);
  const ask = (said: string, more: Partial<ModelRequest> = {}) => {
    const controller = new AbortController();
    const events: ModelEvent[] = [];
    const over = (async () => {
      for await (const event of provider.stream(asking(said, more), controller.signal)) events.push(event);
      return events;
    })();
    const notices = () => events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
    return { over, events, notices, stop: () => controller.abort() };
  };
  const answer = async (said: string) => {
    await expect.poll(() => answering.has(said)).toBe(true);
    answering.get(said)?.();
  };
  return { ask, answer, order, most: () => most };
}

function saidIn({ messages: [first] }: ModelRequest): string {
  const part = first?.role === "user" ? first.content[0] : undefined;
  return part?.type === "text" ? part.text : "";
}

test("four people at a server with one slot are answered in the order in which they came, each told how many are before them", async () => {
  const { ask, answer, order, most } = openServer(1);
  const names = ["ann", "ben", "cem", "dora"];
  const asked = names.map((name) => ask(name));
  for (const name of names) await answer(name);
  for (const [index, one] of asked.entries()) expect(textIn(await one.over)).toBe(`to ${names[index]}`);
  expect(order).toEqual(names);
  expect(most()).toBe(1);
  expect(asked.map(({ notices }) => notices())).toEqual([
    [],
    ["Waiting: 1 request before yours", "Thinking"],
    ["Waiting: 2 requests before yours", "Waiting: 1 request before yours", "Thinking"],
    [
      "Waiting: 3 requests before yours",
      "Waiting: 2 requests before yours",
      "Waiting: 1 request before yours",
      "Thinking",
    ],
  ]);
});

test("a stop ends a request that waits for the model's server at once, without a request, and the others move up", async () => {
  const { ask, answer, order } = openServer(1);
  const [ann, ben, cem] = [ask("ann"), ask("ben"), ask("cem")];
  await expect.poll(cem.notices).toEqual(["Waiting: 2 requests before yours"]);
  ben.stop();
  expect(failureIn(await ben.over).code).toBe("provider.aborted");
  await expect.poll(cem.notices).toEqual(["Waiting: 2 requests before yours", "Waiting: 1 request before yours"]);
  await answer("ann");
  await answer("cem");
  expect(textIn(await cem.over)).toBe("to cem");
  expect(textIn(await ann.over)).toBe("to ann");
  expect(order).toEqual(["ann", "cem"]);
});

test("a stop in mid-answer, and a reader that leaves, make room for the next request", async () => {
  const { ask, answer, order } = openServer(1);
  const [ann, ben] = [ask("ann"), ask("ben")];
  await expect.poll(() => order).toEqual(["ann"]);
  ann.stop();
  await answer("ben");
  expect(textIn(await ben.over)).toBe("to ben");
});

test("two slots take two requests at once", async () => {
  const { ask, answer, most } = openServer(2);
  const asked = ["ann", "ben", "cem"].map((name) => ask(name));
  await answer("ben");
  await answer("cem");
  await answer("ann");
  await Promise.all(asked.map(({ over }) => over));
  expect(most()).toBe(2);
  expect(asked[1]?.notices()).toEqual([]);
  expect(asked[2]?.notices()).toEqual(["Waiting: 2 requests before yours", "Thinking"]);
});

test("people's requests go before those for which nobody waits, and these are not counted", async () => {
  const { ask, answer, order } = openServer(1);
  const ann = ask("ann");
  const check = ask("check", background);
  const ben = ask("ben");
  await expect.poll(ben.notices).toEqual(["Waiting: 1 request before yours"]);
  await answer("ann");
  await answer("ben");
  await answer("check");
  await Promise.all([ann.over, ben.over, check.over]);
  expect(order).toEqual(["ann", "ben", "check"]);
});

test("a request for which nobody waits makes room for a person's, and says that nothing is wrong", async () => {
  const { ask, answer, order } = openServer(1);
  const check = ask("check", background);
  await expect.poll(() => order).toEqual(["check"]);
  const ann = ask("ann");
  await answer("ann");
  expect(textIn(await ann.over)).toBe("to ann");
  expect(ann.notices()).toEqual([]);
  expect(failureIn(await check.over)).toMatchObject({ code: "provider.busy", isRetryable: false });
});

test("a check that gives up while it waits says that nothing is wrong", async () => {
  const { ask, answer } = openServer(1);
  const ann = ask("ann");
  const check = ask("check", background);
  check.stop();
  expect(failureIn(await check.over).code).toBe("provider.busy");
  await answer("ann");
  await ann.over;
});

test.each([
  ["ollama", "http://127.0.0.1:11434", 1],
  ["ollama", "https://ollama.example.com", 1],
  ["ollama", "https://ollama.com", Number.POSITIVE_INFINITY],
  ["openai", "http://localhost:8080/v1", 4],
  ["openai", "http://10.0.0.7:1234/v1", 4],
  ["openai", "http://llama:8080/v1", 4],
  ["anthropic", "http://[::1]:8080", Number.POSITIVE_INFINITY],
  ["openai", "https://models.example.com/v1", Number.POSITIVE_INFINITY],
  ["openai", "https://api.openai.com/v1", Number.POSITIVE_INFINITY],
  ["anthropic", "https://api.anthropic.com", Number.POSITIVE_INFINITY],
  ["demo", undefined, Number.POSITIVE_INFINITY],
])("%s at %s gets %d requests at once, if no setting says another number", (name, address, most) => {
  expect(usualConcurrency(name, address)).toBe(most);
});

test("a server over each protocol gets as many requests at once as the settings say", async () => {
  const double = await startModelDouble();
  scripted(double);
  const { url } = double;
  const select = async (concurrency: number) => {
    const limit = { concurrency };
    const settings: ProviderSettings = {
      order: ["anthropic", "openai", "ollama"],
      anthropic: { baseUrl: url, model: "claude-sonnet-5-5", ...limit },
      openai: { baseUrl: `${url}/v1`, model: "m", api: "chat", ...limit },
      ollama: { host: url, model: "llama3.2", context: usualContext, ...limit },
      timeouts: patient,
    };
    return (await createProviders(settings, new AbortController().signal)).providers;
  };
  const noticesOf = async (provider: Provider) => {
    double.failNext({ type: "late", ms: 200 });
    const collectAll = async () => {
      const events: ModelEvent[] = [];
      for await (const event of provider.stream(asking("hello"), new AbortController().signal)) events.push(event);
      return events;
    };
    const [first, second] = await Promise.all([collectAll(), collectAll()]);
    expect([textIn(first), textIn(second)]).toEqual([text, text]);
    return second.flatMap((event) => (event.type === "notice" ? [event.text] : []));
  };
  for (const provider of await select(1))
    expect(await noticesOf(provider)).toEqual(["Waiting: 1 request before yours", "Thinking"]);
  for (const provider of await select(2)) expect(await noticesOf(provider)).toEqual([]);
  await double.stop();
});

test.each<[string, number | undefined, string[][]]>([
  [
    "a llama-server gets as many requests at once as it has slots",
    1,
    [[], ["Waiting: 1 request before yours", "Thinking"]],
  ],
  ["another server with OpenAI's protocol gets four requests at once", undefined, [[], []]],
])("%s, if no setting says how many", async (_what, slots, expected) => {
  const double = await startModelDouble(slots === undefined ? {} : { slots });
  scripted(double);
  double.failNext({ type: "late", ms: 200 }, { type: "late", ms: 200 });
  const settings: ProviderSettings = {
    order: ["openai"],
    ...{ anthropic: { model: "m" }, ollama: { model: "m", context: usualContext } },
    openai: { baseUrl: `${double.url}/v1`, model: "m", api: "chat" },
    timeouts: patient,
  };
  const [provider] = (await createProviders(settings, new AbortController().signal)).providers;
  const asked = Array.from({ length: 2 }, async () => {
    const notices: string[] = [];
    for await (const event of provider?.stream(asking("hello"), new AbortController().signal) ?? [])
      if (event.type === "notice") notices.push(event.text);
    return notices;
  });
  expect(await Promise.all(asked)).toEqual(expected);
  await double.stop();
});

test("a llama-server that still loads its model is asked for its slots again", async () => {
  const answers = [undefined, undefined, { count: 1 }];
  let asked = 0;
  const double = await startModelDouble();
  scripted(double);
  const settings: ProviderSettings = {
    order: ["openai"],
    ...{ anthropic: { model: "m" }, ollama: { model: "m", context: usualContext } },
    openai: { baseUrl: `${double.url}/v1`, model: "m", api: "chat", concurrency: 100 },
    timeouts: patient,
  };
  const [server] = (await createProviders(settings, new AbortController().signal)).providers;
  if (server === undefined) throw new Error("no provider");
  const provider = queued(server, 4, async () => answers[asked++]);
  const ask = async () => {
    const notices: string[] = [];
    for await (const event of provider.stream(asking("hello"), new AbortController().signal))
      if (event.type === "notice") notices.push(event.text);
    return notices;
  };
  for (const _load of [1, 2]) expect(await ask()).toEqual([]);
  double.failNext({ type: "late", ms: 200 }, { type: "late", ms: 200 });
  expect(await Promise.all([ask(), ask()])).toEqual([[], ["Waiting: 1 request before yours", "Thinking"]]);
  expect(asked).toBe(3);
  await double.stop();
});
