import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Environment } from "../../src/config/environment.ts";
import { formatProblems, loadSettings } from "../../src/config/load.ts";

const project = resolve(import.meta.dirname, "../..");
let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remora-sources-"));
  file = join(folder, "remora.yaml");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function sourcesOf(yaml: string, env: Environment = {}) {
  writeFileSync(file, yaml);
  const result = loadSettings({ REMORA_CONFIG: file, ...env }, project);
  if (result.type === "invalid") throw new Error(formatProblems(result.problems));
  const { sources } = result.settings;
  return { sources, of: (key: string) => sources.find((source) => source.key === key) };
}

test("each setting says whether it is the default, a line of the file, or a variable", () => {
  const { of } = sourcesOf("safety:\n  quorum: 2\n  grantMinutes: 30\n", { LOG_LEVEL: "debug", REMORA_PORT: "0" });
  expect(of("safety.quorum")).toMatchObject({ value: "2", source: "file", place: `${file}:2`, isDefault: false });
  expect(of("safety.grantMinutes")).toMatchObject({ source: "file", place: `${file}:3`, isDefault: true });
  expect(of("safety.shell")).toMatchObject({ value: "free", source: "default", place: "", isDefault: true });
  expect(of("log.level")).toMatchObject({ value: "debug", source: "environment", place: "LOG_LEVEL" });
  expect(of("web.port")).toMatchObject({ value: "0", source: "environment", place: "REMORA_PORT" });
  expect(of("REMORA_CONFIG")).toMatchObject({ value: file, source: "environment" });
  expect(of("REMORA_DATA")).toMatchObject({ value: "not set", source: "default" });
});

test("no secret is in the list, wherever it comes from", () => {
  const secrets = [
    "key-of-anthropic",
    "key-of-openai",
    "token-of-mcp",
    "token-of-discord",
    "pass-of-redis",
    "pass-in-url",
    "token in a list",
    "token of a service",
  ];
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "token-of-discord\n");
  const yaml = [
    "models:",
    "  openai: { apiKey: '${MY_KEY}', baseUrl: 'https://me:pass-in-url@proxy.example/v1' }",
    "skills:",
    "  settings:",
    "    mcp: { servers: { one: { headers: { Authorization: Bearer token-of-mcp } } } }",
    "    web: { apiKey: 'token in a list', addresses: ['https://x.example/?key=token%20in%20a%20list'] }",
    "    other: { apiKey: 'token of a service', start: 'run --with \"token of a service\"' }",
    `    long: { words: ['${"x".repeat(380)} token in a list'] }`,
  ].join("\n");
  const { sources, of } = sourcesOf(yaml, {
    MY_KEY: "key-of-openai",
    ANTHROPIC_API_KEY: "key-of-anthropic",
    DISCORD_TOKEN_FILE: tokenFile,
    REDIS_URL: "redis://me:pass-of-redis@redis.example:6379",
  });
  const all = JSON.stringify(sources);
  for (const secret of secrets) expect(all).not.toContain(secret);
  expect(of("models.anthropic.apiKey")).toMatchObject({ value: "set", place: "ANTHROPIC_API_KEY" });
  expect(of("models.openai.apiKey")).toMatchObject({ value: "set", place: `${file}:2 with MY_KEY` });
  expect(of("models.openai.baseUrl")).toMatchObject({ value: "https://…@proxy.example/v1" });
  expect(of("skills.settings.mcp.servers.one.headers.Authorization")).toMatchObject({ value: "set", source: "file" });
  expect(of("DISCORD_TOKEN")).toMatchObject({ value: "set", place: "DISCORD_TOKEN_FILE" });
  expect(of("REDIS_URL")).toMatchObject({ value: "redis://…@redis.example:6379" });
});
