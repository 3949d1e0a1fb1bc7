/** What happens when a model service has a bad day, over each protocol, with the real client libraries. */
import { createServer } from "node:net";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAnthropicProvider } from "../../src/providers/anthropic.ts";
import { createOpenAiProvider } from "../../src/providers/openai.ts";
import { freePort } from "../doubles/free-port.ts";
import { type Fault, type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { apis, asking, berlin, callsIn, collect, failureIn, patient, scripted, text, textIn } from "./apis.ts";

describe.each(apis)("$name", (api) => {
  let double: ModelDouble;
  beforeEach(async () => {
    double = await startModelDouble();
    scripted(double);
  });
  afterEach(() => double.stop());

  const ask = (said: string, ...faults: Fault[]) => {
    double.failNext(...faults);
    return collect(api.create(double.url), asking(said));
  };
  const answer = (status: number, body: unknown, headers: Record<string, string> = {}): Fault => ({
    type: "answer",
    status,
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

  test("streams the text piece by piece", async () => {
    const events = await ask("hello");
    expect(textIn(events)).toBe(text);
    expect(events.filter((event) => event.type === "text-delta").length).toBeGreaterThan(1);
  });

  test("says when the request has left", async () => {
    let sent = 0;
    await collect(api.create(double.url), {
      ...asking("hello"),
      onSent: () => {
        sent += 1;
      },
    });
    expect(sent).toBeGreaterThan(0);
  });

  test("puts arguments together that come in pieces, after the text before them", async () => {
    const events = await ask("one call");
    expect(events.map((event) => event.type)).toEqual(["text-delta", "tool-call", "end"]);
    expect(callsIn(events).map((call) => JSON.parse(call.inputJson))).toEqual([berlin]);
  });

  test("tells two calls of one answer apart", async () => {
    const calls = callsIn(await ask("two calls"));
    expect(calls.map((call) => JSON.parse(call.inputJson))).toEqual([berlin, { place: "Rome" }]);
    expect(new Set(calls.map((call) => call.id)).size).toBe(2);
  });

  test.each([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["milliseconds", { "retry-after-ms": "1500" }, 1_500],
    ["nothing", {}, undefined],
  ])("a rate limit may pass, with Retry-After as %s", async (_name, headers, wanted) => {
    const error = failureIn(await ask("hello", answer(429, { error: { message: "slow down" } }, headers)));
    expect(error).toMatchObject({ code: "provider.rate-limited", isRetryable: true, retryAfterMs: wanted });
  });

  test("a rate limit may say until when", async () => {
    const until = new Date(Date.now() + 60_000).toUTCString();
    const error = failureIn(await ask("hello", answer(429, {}, { "retry-after": until })));
    expect(error.retryAfterMs).toBeGreaterThan(50_000);
    expect(error.retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  test.each([
    [529, {}, "provider.overloaded", true],
    [503, {}, "provider.overloaded", true],
    [500, {}, "provider.server-error", true],
    [502, {}, "provider.server-error", true],
    [401, {}, "provider.wrong-key", false],
    [403, {}, "provider.forbidden", false],
    [402, {}, "provider.no-credit", false],
    [429, { error: { code: "insufficient_quota", message: "no quota" } }, "provider.no-credit", false],
    [404, { error: { message: "model not there" } }, "provider.unknown-model", false],
    [413, {}, "provider.too-long", false],
    [400, { error: { message: "prompt is too long: 210000 tokens" } }, "provider.too-long", false],
    [400, { error: { message: "something else" } }, "provider.bad-request", false],
    [400, { error: "llama3 does not support tools" }, "provider.no-tools", false],
    [429, { error: { message: "Request too large: tokens must be reduced" } }, "provider.too-long", false],
    [400, { error: { message: "the image in the prompt is bad" } }, "provider.bad-request", false],
    [400, { whatever: { it: "means" } }, "provider.bad-request", false],
  ])("an answer %i %j is %s", async (status, body, code, isRetryable) => {
    const events = await ask("hello", answer(status, body));
    expect(events).toHaveLength(1);
    expect(failureIn(events)).toMatchObject({ code, isRetryable });
  });

  test("what the service says about a wrong key is not repeated", async () => {
    const error = failureIn(await ask("hello", answer(401, { error: { message: "Incorrect key: sk-live-123" } })));
    expect(error.message).not.toContain("sk-live");
    expect(error.message).toContain("set a valid one in");
  });

  test.each([
    "Received sk-live-0123abcd here",
    "Received sk-...ITlA here",
    "Received AIzaSyD0123456789 here",
    "Received na***ys here",
    "Received API key: letmein here",
    "Received 5ea43e256ed93ce3082d9e89be60b7b2ff5709391df2b35b2eca0e493eeb4c72 here",
  ])("a key in “%s” is hidden, whatever the failure is, and the other words stay", async (message) => {
    for (const status of [400, 403, 404, 429, 500]) {
      const error = failureIn(await ask("hello", answer(status, { error: { message } })));
      expect(error.message).toMatch(/Received (?:API key: )?\[hidden\] here/);
    }
  });

  test.each([200, 404, 403])("a web page with status %i is named, with the setting to correct", async (status) => {
    const page = answer(status, "<!doctype html><title>Welcome</title>", { "content-type": "text/html" });
    const error = failureIn(await ask("hello", page));
    expect(error).toMatchObject({ code: "provider.not-an-api", isRetryable: false });
    expect(error.message).toMatch(/correct (?:ANTHROPIC_BASE_URL|OPENAI_BASE_URL|OLLAMA_HOST)/);
  });

  test("a web page from a proxy whose service is down may pass", async () => {
    const page = answer(502, "<html>Bad gateway</html>", { "content-type": "text/html" });
    const error = failureIn(await ask("hello", page));
    expect(error).toMatchObject({ code: "provider.server-error", isRetryable: true });
    expect(error.message).not.toContain("<html>");
  });

  test("a connection that is reset at once may pass", async () => {
    expect(failureIn(await ask("hello", { type: "reset" }))).toMatchObject({
      code: "provider.cut",
      isRetryable: true,
    });
  });

  test("a break before the first byte of the answer shows nothing and may pass", async () => {
    const events = await ask("hello", { type: "break", before: (_frame, index) => index === 0 });
    expect(events).toHaveLength(1);
    expect(failureIn(events)).toMatchObject({ code: "provider.cut", isRetryable: true });
  });

  test.each(["break", "finish"] as const)("a %s in the text is a failure after what was said", async (type) => {
    const events = await ask("hello", { type, before: api.secondText });
    expect(text.startsWith(textIn(events))).toBe(true);
    expect(textIn(events)).not.toBe("");
    expect(failureIn(events)).toMatchObject({ code: "provider.cut", isRetryable: true });
  });

  test.each(["break", "finish"] as const)("a %s in the arguments gives no call", async (type) => {
    const events = await ask("one call", { type, before: api.argumentsPiece });
    expect(callsIn(events)).toEqual([]);
    expect(failureIn(events)).toMatchObject({ code: "provider.cut", isRetryable: true });
  });

  test.each(["break", "finish"] as const)("a %s between the call and the end is a failure", async (type) => {
    const events = await ask("one call", { type, before: api.ending });
    expect(failureIn(events)).toMatchObject({ code: "provider.cut", isRetryable: true });
  });

  test("an error event in the text is a failure after what was said", async () => {
    const events = await ask("hello", { type: "insert", before: api.secondText, frame: api.errorFrame });
    expect(textIn(events)).not.toBe("");
    expect(failureIn(events)).toMatchObject({ code: "provider.overloaded", isRetryable: true });
  });

  test("a piece that can't be read is a failure, not a gap", async () => {
    const events = await ask("hello", { type: "insert", before: api.secondText, frame: api.garbageFrame });
    expect(textIn(events)).not.toBe("");
    expect(failureIn(events)).toMatchObject({ code: "provider.malformed", isRetryable: true });
  });

  test("a body without any event is an empty answer and may pass", async () => {
    const type = api.name === "ollama" ? "application/x-ndjson" : "text/event-stream";
    const events = await ask("hello", answer(200, "", { "content-type": type }));
    expect(events).toHaveLength(1);
    expect(failureIn(events)).toMatchObject({ code: "provider.empty", isRetryable: true });
  });

  test("an answer of nothing is an empty answer and may pass", async () => {
    double.mock.onMessage("say nothing", { content: "" });
    const events = await ask("say nothing");
    expect(events).toHaveLength(1);
    expect(failureIn(events)).toMatchObject({ code: "provider.empty", isRetryable: true });
  });

  test("an answer that is no stream is a failure", async () => {
    const events = await ask("hello", answer(200, '{"error":{"message":"not today"}}'));
    expect(events).toHaveLength(1);
    expect(failureIn(events).code).toMatch(/^provider\.(?:malformed|server-error)$/);
    expect(failureIn(events).message).toContain("not today");
  });

  test("nothing at the address is unreachable and may pass", async () => {
    const port = await freePort();
    const error = failureIn(await collect(api.create(`http://127.0.0.1:${port}`), asking("hello")));
    expect(error).toMatchObject({ code: "provider.unreachable", isRetryable: true });
    expect(error.message).toContain(`127.0.0.1:${port}`);
  });

  test("a name that does not exist is unreachable", async () => {
    const error = failureIn(await collect(api.create("http://nowhere.invalid:81"), asking("hello")));
    expect(error).toMatchObject({ code: "provider.unreachable", isRetryable: true });
  });

  test.each(["http://ann:secret@127.0.0.1:8080", "http://127.0.0.1:6000"])(
    "an address that can't be used is named, without a password: %s",
    async (url) => {
      const error = failureIn(await collect(api.create(url), asking("hello")));
      expect(error).toMatchObject({ code: "provider.bad-url", isRetryable: false });
      expect(error.message).not.toContain("secret");
    },
  );

  test("a connection that never stands ends by the connect time-out", async () => {
    // A TLS handshake that nobody answers: the connection is accepted, and does not come about.
    const silent = createServer((socket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const provider = api.create(`https://127.0.0.1:${address.port}`, { ...patient, connectMs: 50 });
    const error = failureIn(await collect(provider, asking("hello")));
    expect(error).toMatchObject({ code: "provider.connect-timeout", isRetryable: true });
    silent.close();
  });

  test("a slow first word is no slow connection", async () => {
    double.failNext({ type: "delay", before: (_frame, index) => index === 0, ms: 1_500 });
    const provider = api.create(double.url, { ...patient, connectMs: 1_000 });
    expect(textIn(await collect(provider, asking("hello")))).toBe(text);
  });

  test("a service that never answers ends by the first-token time-out, and is let go", async () => {
    double.failNext({ type: "silence" });
    // The request is sent at once, so that the connect time-out, the shorter one, is over by then.
    const provider = api.create(double.url, { ...patient, connectMs: 1_500, firstTokenMs: 2_000 });
    const error = failureIn(await collect(provider, asking("hello")));
    expect(error).toMatchObject({ code: "provider.first-token-timeout", isRetryable: true });
    await expect.poll(() => double.abandoned()).toBe(1);
  });

  test("a stream that goes quiet ends by the idle time-out, after what was said", async () => {
    double.failNext({ type: "stall", before: api.secondText });
    const provider = api.create(double.url, { ...patient, idleMs: 1_000 });
    const events = await collect(provider, asking("hello"));
    expect(textIn(events)).not.toBe("");
    expect(failureIn(events)).toMatchObject({ code: "provider.idle-timeout", isRetryable: true });
    await expect.poll(() => double.abandoned()).toBe(1);
  });

  test("a stop in mid-answer lets the connection go", async () => {
    double.failNext({ type: "stall", before: api.secondText });
    const controller = new AbortController();
    for await (const event of api.create(double.url).stream(asking("hello"), controller.signal)) {
      if (event.type === "text-delta") controller.abort();
    }
    await expect.poll(() => double.abandoned()).toBe(1);
  });

  test("half a surrogate pair and blank text in the conversation are no reason to fail", async () => {
    const events = await collect(
      api.create(double.url),
      asking("hello \ud83d there", {
        messages: [
          { role: "user", content: [{ type: "text", text: " " }] },
          { role: "assistant", text: "", toolCalls: [{ id: "call_1", name: "no such tool!", inputJson: "{broken" }] },
          { role: "tool", callId: "call_1", name: "no such tool!", text: "", isError: true },
          { role: "user", content: [{ type: "text", text: "hello \ud83d there" }] },
        ],
      }),
    );
    expect(events.at(-1)?.type).toBe("end");
    const sent = JSON.stringify(double.requests[0]?.body);
    expect(sent).not.toContain("\\ud83d");
    expect(sent).not.toContain("no such tool!");
    expect(sent).toContain("malformed_arguments");
  });

  test("the model that the request prefers is asked, when it is this provider's", async () => {
    const provider = api.create(double.url);
    const events = await collect(provider, asking("hello", { preferredModel: `${provider.name}/other-one` }));
    expect(double.requests[0]?.body.model).toBe("other-one");
    expect(events.at(-1)).toMatchObject({ type: "end", model: `${provider.name}/other-one` });
    await collect(provider, asking("hello", { preferredModel: "elsewhere/other-one" }));
    expect(`${provider.name}/${double.requests.at(-1)?.body.model}`).toBe(provider.model);
  });
});

test.each([
  ["anthropic", createAnthropicProvider, "ANTHROPIC_API_KEY"],
  ["openai", createOpenAiProvider, "OPENAI_API_KEY"],
] as const)(
  "a key for %s that no header can hold is a wrong key, and none of it is told",
  async (_name, create, name) => {
    for (const apiKey of ["sk-SECRET1\nSECRET2", "“sk-SECRET”", "sk-SECRET\u0000"]) {
      const error = failureIn(
        await collect(create({ apiKey: () => apiKey, model: "m", baseUrl: "http://127.0.0.1:1" }), asking("hello")),
      );
      expect(error).toMatchObject({
        code: "provider.wrong-key",
        isRetryable: false,
        message: expect.stringContaining(name),
      });
      expect(inspect(error, { depth: 10 })).not.toContain("SECRET");
    }
  },
);
