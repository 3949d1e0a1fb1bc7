/** The checks of tokens and models that setup, doctor and readiness share. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { checkModelCall } from "../../src/health/model-call.ts";
import { checkToken } from "../../src/platforms/discord/doctor-token.ts";
import { checkAppToken, checkBotToken } from "../../src/platforms/slack/doctor-tokens.ts";
import { createAnthropicProvider } from "../../src/providers/anthropic.ts";
import { createOllamaProvider } from "../../src/providers/ollama.ts";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { freePort } from "../doubles/free-port.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import { apis, createOpenAiChatProvider, usualContext } from "../providers/apis.ts";

describe("Slack's tokens", () => {
  let slack: SlackDouble;
  beforeEach(async () => {
    slack = await createSlackDouble();
    return () => slack.stop();
  });
  const bot = (token: string) => checkBotToken(token, { apiUrl: slack.apiUrl });
  const app = (token: string, appId?: string) => checkAppToken(token, appId, { apiUrl: slack.apiUrl });

  test("a bot token says who and where the bot is", async () => {
    const checked = await bot(slack.botToken);
    expect(checked).toMatchObject({ ok: true, token: slack.botToken, botName: expect.stringMatching(/./) });
  });

  test("a bot token without the scope for searching is taken, because the rest works without it", async () => {
    const token = slack.tokens.get(slack.botToken);
    if (token !== undefined) token.scopes = token.scopes.filter((scope) => scope !== "search:read.public");
    expect(await bot(slack.botToken)).toMatchObject({ ok: true });
  });

  test("spaces, quotes and the variable's name around a token do not matter", async () => {
    expect(await bot(` SLACK_BOT_TOKEN="${slack.botToken}"\n`)).toMatchObject({ ok: true, token: slack.botToken });
    expect(await app(`\t${slack.appToken} `)).toMatchObject({ ok: true, token: slack.appToken });
  });

  test("missing scopes are named, and no request is wasted on swapped, empty or foreign tokens", async () => {
    const token = slack.tokens.get(slack.botToken);
    if (token !== undefined) token.scopes = ["chat:write"];
    expect(await bot(slack.botToken)).toMatchObject({
      code: "slack.missing-scopes",
      problem: expect.stringContaining("users:read"),
    });
    const before = slack.calls.length;
    expect(await bot(slack.appToken)).toMatchObject({ code: "slack.swapped" });
    expect(await app(slack.botToken)).toMatchObject({ code: "slack.swapped" });
    expect(await bot("  ")).toMatchObject({ code: "slack.empty" });
    expect(await bot("xoxp-1-2")).toMatchObject({ problem: expect.stringContaining("a person's token") });
    expect(await bot("xoxb-1\nxoxb-2")).toMatchObject({ code: "slack.form" });
    expect(await app("x".repeat(40))).toMatchObject({ code: "slack.form" });
    expect(slack.calls.length).toBe(before);
  });

  test("a revoked token and an app token without connections:write say what to do", async () => {
    for (const token of slack.tokens.values()) if (token.kind === "bot") token.state = "revoked";
    expect(await bot(slack.botToken)).toMatchObject({ code: "slack.token_revoked" });
    expect(await bot("xoxb-1-2-3")).toMatchObject({ code: "slack.invalid_auth" });
    for (const token of slack.tokens.values()) if (token.kind === "app") token.scopes = [];
    expect(await app(slack.appToken)).toMatchObject({
      code: "slack.missing-scopes",
      problem: expect.stringContaining("connections:write"),
    });
  });

  test("tokens of two apps are told apart", async () => {
    expect(await app("xapp-1-A0OTHER-12-ab", "A0MINE")).toMatchObject({ code: "slack.two-apps" });
  });

  test("an address that does not answer, or answers with a page, is a problem of the network", async () => {
    const dead = `http://127.0.0.1:${await freePort()}/`;
    expect(await checkBotToken("xoxb-1", { apiUrl: dead })).toMatchObject({ code: "slack.unreachable" });
    slack.failNext("auth.test", { type: "http", status: 404, body: "<html>" });
    expect(await bot(slack.botToken)).toMatchObject({ code: "slack.http" });
  });
});

describe("Discord's token", () => {
  let discord: DiscordDouble;
  beforeAll(async () => {
    discord = await createDiscordDouble();
  });
  afterAll(() => discord.stop());
  const check = (token: string) => checkToken(token, { apiUrl: discord.apiUrl });

  test("names the application, its owner and its servers", async () => {
    expect(await check(`Bot ${discord.token}`)).toMatchObject({
      ok: true,
      token: discord.token,
      applicationId: discord.bot.id,
      owner: { id: expect.stringMatching(/^\d+$/) },
      servers: [{ id: discord.guild.id }],
    });
  });

  test("an intent that is off, a token that was reset, and what is no token", async () => {
    discord.portal.messageContent = false;
    expect(await check(discord.token)).toMatchObject({ code: "discord.intents" });
    discord.portal.messageContent = true;
    expect(await check("aaa.bbb.ccc")).toMatchObject({ code: "discord.token" });
    expect(await check("")).toMatchObject({ problem: "There is no token." });
    expect(await check(discord.bot.id)).toMatchObject({ problem: expect.stringContaining("an id") });
    expect(await check("xoxb-1")).toMatchObject({ problem: expect.stringContaining("Slack") });
    expect(await check("A".repeat(32))).toMatchObject({ problem: expect.stringContaining("client secret") });
  });
});

describe("a model", () => {
  let model: ModelDouble;
  beforeAll(async () => {
    model = await startModelDouble({ countsChecks: true });
    model.mock.onMessage(/./, { content: "ok" });
  });
  afterAll(() => model.stop());
  const check = (baseUrl = model.url) =>
    checkModelCall(createAnthropicProvider({ apiKey: "k", baseUrl, model: "claude-test" }));

  test("is asked for one word, and says why it does not answer", async () => {
    expect(await check()).toMatchObject({ ok: true, model: "anthropic/claude-test" });
    expect(model.requests.at(-1)?.body).toMatchObject({ max_tokens: 16 });
    const refused = (status: number, type: string, message: string) =>
      model.failNext({ type: "answer", status, body: JSON.stringify({ type: "error", error: { type, message } }) });
    refused(401, "authentication_error", "invalid x-api-key");
    expect(await check()).toMatchObject({ ok: false, code: "provider.wrong-key" });
    refused(400, "invalid_request_error", "Your credit balance is too low");
    expect(await check()).toMatchObject({ ok: false, code: "provider.no-credit" });
    refused(404, "not_found_error", "model: claude-test");
    expect(await check()).toMatchObject({
      ...{ ok: false, code: "provider.unknown-model" },
      problem: `anthropic/claude-test does not answer: there is no model claude-test at ${model.url} (404 \`model: claude-test\`).`,
      fix: "Check models.anthropic.model and ANTHROPIC_BASE_URL or models.anthropic.baseUrl.",
    });
    expect(await check(`${model.url}/proxy`)).toMatchObject({
      problem: expect.stringContaining(`there is nothing at ${model.url}/proxy for claude-test (404 \`Invalid URL`),
      fix: expect.stringContaining("Correct ANTHROPIC_BASE_URL"),
    });
    expect(await check(`http://127.0.0.1:${await freePort()}`)).toMatchObject({
      ok: false,
      code: "provider.unreachable",
    });
  });

  const stream = { "content-type": "text/event-stream" };
  const event = (body: { type: string }) => `event: ${body.type}\ndata: ${JSON.stringify(body)}\n\n`;
  const incomplete = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [] };
  /** A model that thinks has spent all sixteen tokens on that. */
  const endedByLimit: Record<string, string> = {
    anthropic: [
      event({ type: "message_start", ...{ message: { usage: {} } } }),
      event({ type: "message_delta", ...{ delta: { stop_reason: "max_tokens" }, usage: { output_tokens: 16 } } }),
      event({ type: "message_stop" }),
    ].join(""),
    "openai chat": `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "length" }] })}\n\n`,
    "openai responses": event({ type: "response.incomplete", ...{ response: incomplete } }),
    ollama: `${JSON.stringify({ message: { content: "", thinking: "Hm" }, done: true, done_reason: "length" })}\n`,
  };

  test.each(apis)(
    "answers over $name with a call of the tool, with thoughts up to the limit, or with words that are cut, but not with nothing",
    async (api) => {
      const double = await startModelDouble({ countsChecks: true });
      try {
        const asked = () => checkModelCall(api.create(double.url));
        const answers = [
          { toolCalls: [{ name: "current_time", arguments: "{}" }] },
          { content: "o", finishReason: "length" },
        ];
        for (const answer of answers) {
          double.mock.clearFixtures();
          double.mock.onMessage(/./, answer);
          expect(await asked()).toMatchObject({ ok: true });
        }
        double.failNext({
          type: "answer",
          status: 200,
          body: endedByLimit[api.name] ?? expect.fail(),
          headers: stream,
        });
        expect(await asked()).toMatchObject({ ok: true });
        double.mock.clearFixtures();
        double.mock.onMessage(/./, { content: "" });
        expect(await asked()).toMatchObject({ ok: false, code: "provider.empty" });
        const { body } = double.requests[0] ?? {};
        expect(JSON.stringify(body)).toContain('"current_time"');
        expect(body?.stream).toBe(true);
      } finally {
        await double.stop();
      }
    },
  );

  test("that has no tools, or takes none in this API, is no model that Remora can work with", async () => {
    const double = await startModelDouble({ countsChecks: true });
    const refused = (status: number, error: unknown) =>
      double.failNext({ type: "answer", status, body: JSON.stringify({ error }) });
    try {
      refused(400, "registry.ollama.ai/library/gemma:2b does not support tools");
      expect(
        await checkModelCall(createOllamaProvider({ host: double.url, model: "gemma:2b", context: usualContext })),
      ).toMatchObject({
        ...{ ok: false, code: "provider.no-tools" },
        ...{
          problem: expect.stringMatching(/^ollama\/gemma:2b does not answer: gemma:2b can't use tools \(/),
          fix: "Choose another model (models.ollama.model).",
        },
      });
      const chat = createOpenAiChatProvider({ apiKey: "k", baseUrl: `${double.url}/v1`, model: "gpt-6-luna" });
      expect(await checkModelCall(chat)).toMatchObject({
        ...{ ok: false, code: "provider.wrong-api" },
        fix: expect.stringMatching(/Set models\.openai\.api/),
      });
    } finally {
      await double.stop();
    }
  });

  test("whose account may not spend says so, in the service's own words too", async () => {
    const limit = {
      type: "rate_limit_error",
      message: "Over your monthly spend limit.",
      details: { error_code: "enforced_spend_limit_reached" },
    };
    model.failNext({ type: "answer", status: 429, body: JSON.stringify({ type: "error", error: limit }) });
    expect(await check()).toMatchObject({
      ...{ ok: false, code: "provider.spend-limit", fix: expect.stringContaining("Raise the limit in the account") },
      problem: expect.stringMatching(/has reached its spending limit, .* \(429 `Over your monthly spend limit\.`\)\.$/),
    });
  });
});
