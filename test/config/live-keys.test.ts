/** What can change without a restart: the keys, and that a part which holds a group of settings sees the change. */
import { expect, test } from "vitest";
import { applyLive, changesBetween } from "../../src/config/live-keys.ts";
import { loadSettings } from "../../src/config/load.ts";
import { type Config, configSchema } from "../../src/config/schema.ts";
import type { Settings } from "../../src/config/settings.ts";

function settings(config: object = {}, env: Record<string, string> = {}): Settings {
  const loaded = loadSettings(env, "/nowhere");
  if (loaded.type === "invalid") throw new Error(JSON.stringify(loaded.problems));
  return { ...loaded.settings, config: configSchema.parse(config) };
}

test.each<[string, object, (config: Config) => () => unknown, unknown]>([
  [
    "safety.tools",
    { safety: { tools: { a: { quorum: 2 } } } },
    ({ safety }) =>
      () =>
        safety.tools.a?.quorum,
    2,
  ],
  [
    "safety.approvers",
    { safety: { approvers: ["user:1"] } },
    ({ safety }) =>
      () =>
        safety.approvers,
    ["user:1"],
  ],
  [
    "safety.changes.given",
    { safety: { changes: { given: "keep" } } },
    ({ safety: { changes } }) =>
      () =>
        changes.given,
    "keep",
  ],
  [
    "limits.dollars.user",
    { limits: { dollars: { user: 3, channel: 2 } } },
    ({ limits }) =>
      () =>
        limits.dollars.user,
    3,
  ],
  [
    "slack.access.users",
    { slack: { access: { users: ["U1"] } } },
    ({ slack: { access } }) =>
      () =>
        access.users,
    ["U1"],
  ],
  [
    "discord.access.bots",
    { discord: { access: { bots: ["1"] } } },
    ({ discord: { access } }) =>
      () =>
        access.bots,
    ["1"],
  ],
  [
    "web.accounts",
    { web: { accounts: { "slack:U0ANN": "viewer" } } },
    ({ web }) =>
      () =>
        web.accounts,
    { "slack:U0ANN": "viewer" },
  ],
  [
    "skills.deny",
    { skills: { deny: ["web"] } },
    ({ skills }) =>
      () =>
        skills.deny,
    ["web"],
  ],
])("%s changes in place", (key, next, held, value) => {
  const current = settings({ limits: { dollars: { channel: 2 } } });
  const read = held(current.config);
  const changes = changesBetween(current, settings({ limits: { dollars: { channel: 2 } }, ...next }));
  expect(changes).toMatchObject([{ key, isLive: true, isSafety: true }]);
  applyLive(current, settings({ limits: { dollars: { channel: 2 } }, ...next }), changes);
  expect(read()).toEqual(value);
  expect(changesBetween(current, settings({ limits: { dollars: { channel: 2 } }, ...next }))).toEqual([]);
});

test("a new key, folder, token or address needs a restart, and secrets are not shown", () => {
  const next = settings(
    { models: { openai: { apiKey: "a-secret" } }, folders: { a: "/b" }, web: { port: 1 } },
    { DISCORD_TOKEN: "b-secret" },
  );
  next.config.models.openai.apiKey = "a-secret";
  const changes = changesBetween(settings(), next);
  expect(changes.map(({ key, isLive }) => [key, isLive])).toEqual([
    ["models.openai.apiKey", false],
    ["folders", false],
    ["web.port", false],
    ["folders.a", false],
    ["DISCORD_TOKEN", false],
  ]);
  expect(JSON.stringify(changes)).not.toContain("secret");
});

test("the first budget needs a restart, because it decides which models may answer", () => {
  const next = settings({ limits: { dollars: { user: 3 }, userTokensPerDay: 9 } });
  expect(changesBetween(settings(), next)).toMatchObject([
    { key: "limits.userTokensPerDay", isLive: true },
    { key: "limits.dollars.user", isLive: false },
  ]);
});

const withKeys = (keys: object, memory: object = {}) =>
  settings({ models: { anthropic: { apiKey: "first-key-1" }, openai: { apiKey: "first-key-2" }, ...keys }, memory });

test("a model's key applies at once, and the old one and the new one count as secrets", () => {
  const [current, next] = [withKeys({}), withKeys({ anthropic: { apiKey: "second-key-1" } })];
  current.secrets = [{ name: "ANTHROPIC_API_KEY", value: "first-key-1" }];
  next.secrets = [{ name: "ANTHROPIC_API_KEY", value: "second-key-1" }];
  const changes = changesBetween(current, next);
  expect(changes).toMatchObject([{ key: "models.anthropic.apiKey", isLive: true }]);
  expect(JSON.stringify(changes)).not.toMatch(/(?:first|second)-key/);
  const { anthropic } = current.config.models;
  applyLive(current, next, changes);
  expect(anthropic.apiKey).toBe("second-key-1");
  expect(current.secrets.map(({ value }) => value)).toEqual(["first-key-1", "second-key-1"]);
});

test("a key of a provider that was not set up needs a restart, and so does one that embeddings use", () => {
  const isLive = (current: Settings, next: Settings) => changesBetween(current, next).map((change) => change.isLive);
  expect(isLive(withKeys({ openai: { apiKey: null } }), withKeys({}))).toEqual([false]);
  const embeddings = { provider: "openai", model: "m" };
  const changed = { openai: { apiKey: "second-key-2" } };
  expect(isLive(withKeys({}, { embeddings }), withKeys(changed, { embeddings }))).toEqual([false]);
  expect(isLive(withKeys({}), withKeys(changed))).toEqual([true]);
});
