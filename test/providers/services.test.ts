/**
 * The table of docs/models.md: each service with the settings that its section shows, word for word, asked by the real client
 * libraries, against a double that refuses what the service's reference or public reports say it refuses.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { providerSettings } from "../../src/config/derive.ts";
import { formatProblems, loadSettings } from "../../src/config/load.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { ModelEvent, ModelMessage, ModelRequest, Provider } from "../../src/ports/provider.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { createProviders } from "../../src/providers/select.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { groqErrors } from "../doubles/model-rules/groq.ts";
import { bedrockErrors, deepSeekErrors } from "../doubles/model-rules/hosted.ts";
import { llamaCppErrors, lmStudioErrors, vllmErrors } from "../doubles/model-rules/local-servers.ts";
import { mistralErrors } from "../doubles/model-rules/mistral.ts";
import type { Refusal } from "../doubles/model-rules/rule.ts";
import type { ModelService } from "../doubles/model-rules/services.ts";
import { asking, callsIn, collect, failureIn, patient, textIn } from "./apis.ts";

const root = resolve(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/models.md"), "utf8");
const home = mkdtempSync(join(tmpdir(), "remora-services-"));

interface Row {
  /** As the page's heading and its table name it. */
  service: string;
  /** The which-th block of settings of its section. */
  block?: number;
  double: ModelService;
  path: string;
  /** The field by which reasoning goes back in the same turn. Absent: the service gives none, or takes none back. */
  goesBack?: string;
  seesPictures: boolean;
  wrongKey?: Refusal;
  tooMany?: Refusal;
}

/** As OpenAI and most others say it. */
const wrongKey: Refusal = {
  status: 401,
  body: { error: { message: "Incorrect API key provided", type: "invalid_request_error", code: "invalid_api_key" } },
};
const tooMany: Refusal = {
  status: 429,
  body: { error: { message: "Rate limit reached", type: "tokens", code: "rate_limit_exceeded" } },
};
const hosted = { wrongKey, tooMany };
const chat = "/v1/chat/completions";

const rows: Row[] = [
  {
    service: "Anthropic",
    double: "anthropic",
    path: "/v1/messages",
    goesBack: "signature",
    seesPictures: true,
    ...hosted,
  },
  {
    service: "OpenAI",
    double: "openai",
    path: "/v1/responses",
    goesBack: "encrypted_content",
    seesPictures: true,
    ...hosted,
  },
  {
    service: "Azure",
    double: "azure",
    path: "/openai/v1/responses",
    goesBack: "encrypted_content",
    seesPictures: true,
    ...hosted,
  },
  { service: "Bedrock", double: "bedrock", path: "/openai/v1/chat/completions", seesPictures: true, ...bedrockErrors },
  {
    service: "Bedrock",
    block: 1,
    double: "bedrock",
    path: "/anthropic/v1/messages",
    goesBack: "signature",
    seesPictures: true,
    ...bedrockErrors,
  },
  {
    service: "Vertex",
    double: "gemini",
    path: "/v1/projects/your-project/locations/global/endpoints/openapi/chat/completions",
    goesBack: "thought_signature",
    seesPictures: true,
    ...hosted,
  },
  {
    service: "Gemini",
    double: "gemini",
    path: "/v1beta/openai/chat/completions",
    goesBack: "thought_signature",
    seesPictures: true,
    ...hosted,
  },
  {
    service: "OpenRouter",
    double: "openRouterWithGemini",
    path: "/api/v1/chat/completions",
    goesBack: "reasoning_details",
    seesPictures: true,
    ...hosted,
  },
  { service: "Groq", double: "groq", path: `/openai${chat}`, goesBack: "reasoning", seesPictures: true, ...groqErrors },
  { service: "Mistral", double: "mistral", path: chat, seesPictures: true, ...mistralErrors },
  {
    service: "DeepSeek",
    double: "deepSeek",
    path: "/chat/completions",
    goesBack: "reasoning_content",
    seesPictures: false,
    ...deepSeekErrors,
  },
  {
    service: "xAI",
    double: "xai",
    path: "/v1/responses",
    goesBack: "encrypted_content",
    seesPictures: true,
    ...hosted,
  },
  { service: "Ollama", double: "ollama", path: "/api/chat", seesPictures: true },
  {
    service: "llama.cpp",
    double: "llamaCpp",
    path: chat,
    goesBack: "reasoning_content",
    seesPictures: true,
    wrongKey: llamaCppErrors.wrongKey,
  },
  {
    service: "vLLM",
    double: "vllm",
    path: chat,
    goesBack: "reasoning",
    seesPictures: true,
    wrongKey: vllmErrors.wrongKey,
  },
  { service: "LM Studio", double: "lmStudio", path: chat, seesPictures: true },
];

/** The settings of a service's section. */
function blocksOf(service: string): string[] {
  const section = page.split(/^### /m).find((text) => text.startsWith(`${service}\n`)) ?? "";
  return [...section.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, text]) => text ?? []);
}

let double: ModelDouble;
const realFetch = globalThis.fetch;

async function start(service: ModelService): Promise<void> {
  double = await startModelDouble({
    service,
    installed: [
      { name: "qwen3:latest", capabilities: ["completion", "tools", "thinking", "vision"], contextLength: 40_960 },
    ],
  });
  // The double stands where the settings lead to. It asks its own upstream by the same function.
  vi.stubGlobal("fetch", (input: string | URL | Request, init?: RequestInit) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const isUpstream = url.origin === new URL(double.mock.url).origin;
    return realFetch(isUpstream ? input : `${double.url}${url.pathname}${url.search}`, init);
  });
}

/** The model that the page's settings lead to. */
async function providerOf({ service, block = 0 }: Row, change = (text: string) => text): Promise<Provider> {
  const text = change(blocksOf(service)[block] ?? expect.fail(`docs/models.md has no settings for ${service}`));
  const file = join(home, "token");
  writeFileSync(file, "your-token");
  const env = Object.fromEntries(
    text
      .trim()
      .split("\n")
      .map((line) => [line.split("=")[0], line.slice(line.indexOf("=") + 1)]),
  );
  const secrets = Object.fromEntries(
    Object.keys(env)
      .filter((name) => name.endsWith("_FILE"))
      .map((name) => [name, file]),
  );
  const folders = { REMORA_WORKSPACE: join(home, "w"), REMORA_DATA: join(home, "d"), REMORA_ENV_FILE: "/dev/null" };
  const loaded = loadSettings({ ...env, ...secrets, ...folders }, root);
  if (loaded.type === "invalid") throw new Error(formatProblems(loaded.problems));
  const { providers, statuses } = await createProviders(providerSettings(loaded.settings), AbortSignal.timeout(60_000));
  const provider = providers[0] ?? expect.fail();
  expect(statuses.find(({ name }) => name === provider.name)).toMatchObject({ isReady: true });
  return provider;
}

function script({ path }: Row): void {
  // The other protocols have it as the doubles of their services say.
  const hasThoughts = /messages$|responses$/.test(path);
  const steps = ["Berlin", "Rome"];
  for (const [step, place] of steps.entries())
    double.mock.on(
      {
        userMessage: "weather",
        predicate: ({ messages }) => messages.filter(({ role }) => role === "tool").length === step,
      },
      {
        content: "I look.",
        toolCalls: [{ name: "look_up", arguments: JSON.stringify({ place }), id: `call_${"ab"[step]}` }],
        ...(hasThoughts ? { reasoning: `Let me look up ${place}.`, reasoningSignature: `c2lnbmVk${step}` } : {}),
      },
    );
  double.mock.on({ userMessage: "weather" }, { content: "It rains in both." });
  double.mock.onMessage("The picture in the result", { content: "It rains there." });
  double.mock.onMessage("hello", { content: "Hello there." });
}

/** The answer and the results of its calls, as a turn keeps them: through JSON. */
function answered(events: ModelEvent[]): ModelMessage[] {
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error(`no end: ${JSON.stringify(end)}`);
  const toolCalls = callsIn(events).map(({ id, name, inputJson }) => ({ id, name, inputJson }));
  const carry = end.carry === undefined ? {} : { carry: { model: end.model, data: end.carry } };
  const results = toolCalls.map(({ id, name }) => ({
    ...{ role: "tool" as const, callId: id, name, text: "Rain.", isError: false },
  }));
  return JSON.parse(JSON.stringify([{ role: "assistant", text: textIn(events), toolCalls, ...carry }, ...results]));
}

const picture = {
  mimeType: "image/png",
  base64: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
};

/** Asks until the model calls nothing more. */
async function turn(provider: Provider, said: string): Promise<{ text: string; steps: number; last: ModelRequest }> {
  let last = asking(said, { maxOutputTokens: 16_000 });
  for (let steps = 0; steps < 4; steps += 1) {
    const events = await collect(provider, last);
    if (events.at(-1)?.type === "error") throw failureIn(events);
    if (callsIn(events).length === 0) return { text: textIn(events), steps, last };
    last = { ...last, messages: [...last.messages, ...answered(events)] };
  }
  throw new Error("the model calls tools without end");
}

const bodyNow = () => JSON.stringify(double.requests.at(-1)?.body);
const answerOf = ({ status, headers, body }: Refusal) => ({
  ...{ type: "answer" as const, status, body: JSON.stringify(body) },
  ...(headers === undefined ? {} : { headers }),
});

test("the page's table, its sections and these tests have the same services", () => {
  const table = [...page.matchAll(/^\| \[([^\]]+)\]/gm)].map(([, name]) => name);
  const tested = [...new Set(rows.map(({ service }) => service))];
  expect(table).toEqual(tested);
  expect(tested.filter((service) => blocksOf(service).length === 0)).toEqual([]);
  const blocks = tested.map((service) => blocksOf(service).length);
  expect(blocks).toEqual(tested.map((service) => rows.filter((row) => row.service === service).length));
});

describe.each(rows)("$service, as its section sets it up ($path)", (row) => {
  beforeEach(async () => {
    await start(row.double);
    script(row);
  });
  afterEach(async () => {
    vi.unstubAllGlobals();
    await double.stop();
  });

  test("answers at the address that the service has", async () => {
    const { text } = await turn(await providerOf(row), "hello");
    expect(text).toBe("Hello there.");
    expect(double.requests.at(-1)?.path).toBe(row.path);
  });

  test("plays a request with two tool steps, and gets its reasoning back in the meantime", async () => {
    const { text, steps } = await turn(await providerOf(row), "What is the weather?");
    expect({ text, steps }).toEqual({ text: "It rains in both.", steps: 2 });
    if (row.goesBack !== undefined) expect(bodyNow()).toContain(`"${row.goesBack}":`);
  });

  test("sees a picture of a person and of a tool, or is told that there is one", async () => {
    const provider = await providerOf(row);
    const said = asking("hello", {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "hello" },
            { type: "image", ...picture },
          ],
        },
      ],
    });
    expect(textIn(await collect(provider, said))).toBe("Hello there.");
    expect(bodyNow().includes(picture.base64)).toBe(row.seesPictures);
    const called = await collect(provider, asking("What is the weather?"));
    const messages = answered(called).map((message) =>
      message.role === "tool" ? { ...message, images: [picture] } : message,
    );
    const after = await collect(provider, {
      ...asking("What is the weather?"),
      messages: [...asking("What is the weather?").messages, ...messages],
    });
    expect(after.at(-1)).toMatchObject({ type: "end" });
    expect(bodyNow().includes(picture.base64)).toBe(row.seesPictures);
  });

  test.runIf(row.wrongKey !== undefined)("says that its key is wrong, and where the key is set", async () => {
    double.failNext(answerOf(row.wrongKey ?? expect.fail()));
    const { code, message } = failureIn(await collect(await providerOf(row), asking("hello")));
    expect(code).toMatch(/^provider\.(?:wrong-key|forbidden)$/);
    expect(message).toContain("_API_KEY");
  });

  test.runIf(row.tooMany !== undefined)("rests when there are too many requests", async () => {
    double.failNext(answerOf(row.tooMany ?? expect.fail()));
    const failure = failureIn(await collect(await providerOf(row), asking("hello")));
    expect(failure).toMatchObject({ code: "provider.rate-limited", isRetryable: true });
  });
});

/** The settings of a section with another model, at another address, or with another double. */
async function providerAt(row: Partial<Row> & Pick<Row, "service" | "double">, change: [RegExp, string][] = []) {
  const whole = { path: chat, seesPictures: true, ...row };
  await start(row.double);
  script(whole);
  return await providerOf(whole, (text) =>
    change.reduce((changed, [pattern, replacement]) => changed.replace(pattern, replacement), text),
  );
}

describe("a service that wants something else than OpenAI", () => {
  afterEach(async () => {
    vi.unstubAllGlobals();
    await double.stop();
  });

  /** As after a model that failed in the middle of a turn. */
  const id = "toolu_01A09q90qw90lq917835lq9";
  const begun = asking("What is the weather?", {
    messages: [
      { role: "user", content: [{ type: "text", text: "What is the weather?" }] },
      { role: "assistant", text: "", toolCalls: [{ id, name: "look_up", inputJson: "{}" }] },
      { role: "tool", callId: id, name: "look_up", text: "Rain.", isError: false },
    ],
  });
  const elsewhere: [RegExp, string][] = [[/OPENAI_BASE_URL=.*/, "OPENAI_BASE_URL=https://gateway.example/v1"]];

  test.each([
    { service: "Mistral", double: "mistral" as const },
    { service: "DeepSeek", double: "deepSeek" as const },
  ])("goes on with a turn that another model began: $service", async (row) => {
    const provider = await providerAt(row);
    expect((await collect(provider, begun)).at(-1)).toMatchObject({ type: "end", stop: "tool-calls" });
  });

  test("is understood behind a gateway, too, and refuses once only", async () => {
    const provider = await providerAt({ service: "Mistral", double: "mistral" }, elsewhere);
    expect((await collect(provider, begun)).at(-1)).toMatchObject({ type: "end" });
    const before = double.requests.length;
    expect(before).toBeGreaterThan(1);
    expect((await collect(provider, begun)).at(-1)).toMatchObject({ type: "end" });
    expect(double.requests.length).toBe(before + 1);
  });

  test("that does not know reasoning in messages gets none from then on", async () => {
    const provider = await providerAt({ service: "Groq", double: "groq" }, [[/gpt-oss-120b/, "kimi-k3"]]);
    expect((await turn(provider, "What is the weather?")).text).toBe("It rains in both.");
    expect(bodyNow()).not.toContain('"reasoning');
  });

  test("that counts the longest answer against a small plan gets a shorter one", async () => {
    const provider = await providerAt({ service: "Groq", double: "groq" }, [[/120b/, "120b-free-plan"]]);
    expect((await turn(provider, "What is the weather?")).text).toBe("It rains in both.");
    expect(Number(double.requests.at(-1)?.body.max_tokens)).toBeGreaterThan(1_000);
  });

  test("that has a context too small for the longest answer gets a shorter one", async () => {
    const provider = await providerAt({ service: "vLLM", double: "vllm" }, [[/your-model/, "qwen3-12k"]]);
    expect((await turn(provider, "What is the weather?")).text).toBe("It rains in both.");
    expect(double.requests.at(-1)?.body.max_tokens).toBe(8_000);
  });

  test("that names a model's highest limit is asked for that from then on", async () => {
    const provider = await providerAt({ service: "Groq", double: "groq" }, [
      [/openai\/gpt-oss-120b/, "llama-3.1-8b-instant"],
    ]);
    await turn(provider, "hello");
    await turn(provider, "hello");
    expect(double.requests.map(({ body }) => body.max_tokens)).toEqual([16_000, 8_000, 8_000]);
  });

  test("that refuses a prompt as too long says so", async () => {
    const provider = await providerAt({ service: "llama.cpp", double: "llamaCpp" }, [[/your-model/, "qwen3-1k"]]);
    const long = asking(`hello ${"and so on ".repeat(2_000)}`, { maxOutputTokens: 16_000 });
    expect(failureIn(await collect(provider, long)).code).toBe("provider.too-long");
    expect(double.requests).toHaveLength(1);
  });

  test.each([
    { service: "vLLM", double: "vllm" as const, model: "qwen3-without-tools", says: "--enable-auto-tool-choice" },
    { service: "llama.cpp", double: "llamaCpp" as const, model: "qwen3-without-jinja", says: "--jinja" },
  ])("that was started without tools says how to start it: $service", async ({ model, says, ...row }) => {
    const provider = await providerAt(row, [[/your-model/, model]]);
    const failure = failureIn(await collect(provider, asking("hello")));
    expect(failure).toMatchObject({ code: "provider.tools-off", isRetryable: false });
    expect(failure.message).toContain(says);
  });

  test.each([
    ["LM Studio", lmStudioErrors.nothingLoaded, "provider.unknown-model", "Please load a model"],
    ["llama.cpp", llamaCppErrors.loading, "provider.overloaded", "Loading model"],
    ["DeepSeek", deepSeekErrors.noBalance, "provider.no-credit", "Insufficient Balance"],
    ["Groq", groqErrors.badCall, "provider.bad-call", "another model"],
  ])("says what is wrong in words that help: %s", async (service, refusal, code, words) => {
    const provider = await providerAt({ service, double: "any" });
    double.failNext(answerOf(refusal));
    const failure = failureIn(await collect(provider, asking("hello")));
    expect(failure).toMatchObject({ code });
    expect(failure.message).toContain(words);
  });

  test("is asked again when it could not read the model's call", async () => {
    const provider = await providerAt({ service: "Groq", double: "groq" });
    const cascade = createCascade({ providers: [provider], events: createEvents(), pauseMs: 1 });
    double.failNext(answerOf(groqErrors.badCall));
    expect(textIn(await collect(cascade, asking("hello")))).toBe("Hello there.");
  });

  test("gets a token that was renewed while the process runs", async () => {
    await start("gemini");
    script({ service: "Vertex", double: "gemini", path: chat, seesPictures: true });
    let token = "first-token";
    const baseUrl = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi";
    const settings = {
      ...{ order: ["openai"], timeouts: patient, anthropic: { model: "a" }, ollama: {} },
      openai: { model: "google/gemini-3.6-flash", api: "auto" as const, baseUrl },
      keyOf: () => token,
    };
    const { providers } = await createProviders(settings, AbortSignal.timeout(60_000));
    const provider = providers[0] ?? expect.fail();
    await turn(provider, "hello");
    token = "second-token";
    await turn(provider, "hello");
    const sent = double.requests.map(({ headers }) => headers.authorization);
    expect(sent).toEqual(["Bearer first-token", "Bearer second-token"]);
  });
});

afterAll(() => rmSync(home, { recursive: true, force: true }));
