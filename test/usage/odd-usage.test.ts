/** Services that say odd things about what a call used: through the real client libraries, into the ledger. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { Usage } from "../../src/ports/provider.ts";
import { type UsageCount, usageSubject } from "../../src/ports/usage.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createUsageMeter } from "../../src/usage/usage.ts";
import { turnRecord } from "../doubles/records.ts";
import { noDollarLimits, noLimits } from "../doubles/turn-deps.ts";
import { apis, asking, collect, createOpenAiChatProvider } from "../providers/apis.ts";

/** What the service reports next: each protocol takes of it what it knows. */
let said: Record<string, unknown> = {};
let server: Server;
let url: string;

const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: { type: string }) => `event: ${value.type}\n${event(value)}`;

const answers: Record<string, () => string> = {
  "/v1/messages": () =>
    [
      { type: "message_start", message: { id: "m", role: "assistant", content: [], usage: said } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "Hi" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: said },
      { type: "message_stop" },
    ]
      .map(named)
      .join(""),
  "/v1/chat/completions": () =>
    event({ choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: null }] }) +
    event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: said }) +
    "data: [DONE]\n\n",
  "/v1/responses": () =>
    named({ type: "response.output_text.delta", ...{ delta: "Hi" } }) +
    named({ type: "response.completed", ...{ response: { id: "r", status: "completed", output: [], usage: said } } }),
  "/api/chat": () =>
    `${JSON.stringify({ message: { role: "assistant", content: "Hi" }, done: true, done_reason: "stop", ...said })}\n`,
};

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    const answer = answers[new URL(request.url ?? "", "http://service").pathname];
    if (answer === undefined) return void response.writeHead(404).end("{}");
    response.writeHead(200, {
      "content-type": request.url === "/api/chat" ? "application/x-ndjson" : "text/event-stream",
    });
    response.end(answer());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, {}, [], true, "", "x", "12", "1e400", "NaN", -1, -5e9, 0.5, 1e308, 9e15, 25_000_000),
  fc.integer({ min: 0, max: 200_000 }),
  fc.double(),
);
const oddUsage = fc.tuple(odd, odd, odd, odd, odd, odd).map(([input, output, cached, written, cost, upstream]) => ({
  ...{ input_tokens: input, output_tokens: output, prompt_tokens: input, completion_tokens: output },
  ...{ cache_read_input_tokens: cached, cache_creation_input_tokens: written },
  ...{ prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written } },
  ...{ input_tokens_details: { cached_tokens: cached, cache_write_tokens: written } },
  ...{ prompt_eval_count: input, eval_count: output },
  ...{ cost, is_byok: true, cost_details: { upstream_inference_cost: upstream }, cost_in_usd_ticks: cost },
}));

const sums = ["cost", "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"] as const;

test.each(apis)(
  "whatever a service says that calls used, a day's sums are finite and only grow ($name)",
  async ({ create }) => {
    const ledger = createSqliteLedger({ path: ":memory:" });
    const provider = create(url);
    const meter = createUsageMeter({
      ...{ ledger, log: silentLog, busyWaitMs: 0 },
      priceOf: () => ({ input: 10, output: 50 }),
      limits: { ...noLimits, dollars: { ...noDollarLimits, user: 1e12 } },
    });
    let before: UsageCount | undefined;
    await fc.assert(
      fc.asyncProperty(oddUsage, async (usage) => {
        said = usage;
        const end = (await collect(provider, asking("hello"))).at(-1);
        if (end?.type !== "end") throw new Error(JSON.stringify(end));
        const permit = await meter.admit(turnRecord());
        if (permit.type !== "admitted") throw new Error(permit.sentence);
        await permit.count({ ...end, addedMs: 0, promptTokens: 100, answerCharacters: 2 }).written;
        const [day] = await meter.days(usageSubject.everyone);
        for (const name of sums) expect(day?.[name]).toBeGreaterThanOrEqual(before?.[name] ?? 0);
        expect(sums.every((name) => Number.isFinite(day?.[name]))).toBe(true);
        if (!end.usage.cost) expect(day?.cost).toBeGreaterThan(before?.cost ?? 0);
        before = day;
      }),
      { numRuns: 250, interruptAfterTimeLimit: 60_000 },
    );
    await ledger.close();
  },
  120_000,
);

async function usageOf(usage: Record<string, unknown>): Promise<Usage | undefined> {
  said = usage;
  const provider = createOpenAiChatProvider({ apiKey: "k", baseUrl: `${url}/v1`, model: "m" });
  const end = (await collect(provider, asking("hello"))).at(-1);
  return end?.type === "end" ? end.usage : undefined;
}

test("counts that are written as text are read", async () => {
  expect(await usageOf({ prompt_tokens: "12", completion_tokens: "3" })).toMatchObject({
    ...{ inputTokens: 12, outputTokens: 3 },
  });
});

test.each([
  { prompt_tokens: "x", completion_tokens: 5 },
  { prompt_tokens: 10, completion_tokens: -5e9 },
  { prompt_tokens: 10, completion_tokens: 5e9 },
  { prompt_tokens: {}, completion_tokens: 5 },
])("%j says nothing, so the call is estimated", async (usage) => {
  expect(await usageOf(usage)).toEqual({ inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 });
});
