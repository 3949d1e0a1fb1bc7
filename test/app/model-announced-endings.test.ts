/** Asking services when their models end, with the real client libraries. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { announcedEndings, endingChecks } from "../../src/app/model-endings.ts";
import { loadSettings } from "../../src/config/load.ts";
import { checkText } from "../../src/ports/health.ts";

const answers: Record<string, object> = {
  "/v1/models/claude-x": { id: "claude-x", type: "model", lifecycle: "deprecated", retires_at: "2030-05-01T00:00:00Z" },
  "/v1/models/gpt-x": { id: "gpt-x", object: "model", shutdown_date: "2030-06-01" },
  "/v1/models/gpt-new": { id: "gpt-new", object: "model", shutdown_date: null },
};
let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer(({ url: path = "" }, response) => {
    const answer = answers[path];
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { error: { message: "no such model" } }));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

function settings() {
  const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url, OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${url}/v1` };
  const loaded = loadSettings(env, "/nowhere");
  if (loaded.type === "invalid") throw new Error(JSON.stringify(loaded.problems));
  return loaded.settings;
}
const provider = (model: string) => ({ name: model.split("/", 1)[0] ?? "", model });

test("services say when their models end, and those that do not are left out", async () => {
  const models = [
    "anthropic/claude-x",
    "anthropic/gone",
    "openai/gpt-x",
    "openai/gpt-new",
    "ollama/qwen3",
    "demo/demo",
  ];
  const endings = await announcedEndings(settings(), models.map(provider), AbortSignal.timeout(10_000));
  expect([...endings].sort()).toEqual([
    ["anthropic/claude-x", "2030-05-01"],
    ["openai/gpt-x", "2030-06-01"],
  ]);
  const now = Date.parse("2030-04-30T12:00:00Z");
  expect(endingChecks(settings(), models.map(provider), { announced: endings, now }).map(checkText)).toEqual([
    "anthropic/claude-x ends on 2030-05-01, in 1 day. Choose another model: models.anthropic.model",
    "openai/gpt-x ends on 2030-06-01, in 32 days. Choose another model: models.openai.model",
  ]);
});

test("a service that does not answer says nothing", async () => {
  const endings = await announcedEndings(settings(), [provider("anthropic/claude-x")], AbortSignal.abort());
  expect(endings.size).toBe(0);
});
