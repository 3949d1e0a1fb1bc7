import { expect, test } from "vitest";
import { embedderSettings, toolboxSettings } from "../../src/config/derive.ts";
import { loadSettings } from "../../src/config/load.ts";

test.each(["auto", "required", "off"] as const)(
  "safety.sandbox %s is no setting of a skill: each finds what the file says, word for word",
  (mode) => {
    const loaded = loadSettings({}, "/nowhere");
    if (loaded.type !== "ok") throw new Error("the defaults are no valid configuration");
    const { settings } = loaded;
    settings.config.safety.sandbox = mode;
    settings.config.skills.settings = { shell: { seconds: 5 } };
    expect(toolboxSettings(settings).settings).toEqual({ shell: { seconds: 5 } });
  },
);

test("embeddings take the provider's address and key if they have no address, and never send that key elsewhere", () => {
  const loaded = loadSettings({ OPENAI_API_KEY: "sk-models", OPENAI_BASE_URL: "http://models/v1" }, "/nowhere");
  if (loaded.type !== "ok") throw new Error("the defaults are no valid configuration");
  const { settings } = loaded;
  const of = (embeddings: Partial<NonNullable<typeof settings.config.memory.embeddings>>) => {
    const nothing = { baseUrl: null, apiKey: null, dimensions: null };
    settings.config.memory.embeddings = { provider: "openai", model: "m", ...nothing, ...embeddings };
    return embedderSettings(settings);
  };
  expect(embedderSettings(settings)).toBeUndefined();
  expect(of({})).toEqual({ provider: "openai", model: "m", baseUrl: "http://models/v1", apiKey: "sk-models" });
  expect(of({ apiKey: "sk-own", dimensions: 256 })).toMatchObject({ apiKey: "sk-own", dimensions: 256 });
  expect(of({ baseUrl: "http://other/v1" })).toEqual({ provider: "openai", model: "m", baseUrl: "http://other/v1" });
  expect(of({ provider: "ollama" })).toEqual({ provider: "ollama", model: "m" });
  settings.config.models.ollama.host = "box:11434";
  expect(of({ provider: "ollama" })).toEqual({ provider: "ollama", model: "m", baseUrl: "box:11434" });
});
