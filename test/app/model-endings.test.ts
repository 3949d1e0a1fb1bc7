/** Warnings before a model in use ends, and what people read afterwards. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { endingChecks } from "../../src/app/model-endings.ts";
import { loadSettings } from "../../src/config/load.ts";
import { checkText } from "../../src/ports/health.ts";
import { statusFailure } from "../../src/providers/classify-failure.ts";
import { lifecycleDate, lifecycleSources, modelEndings } from "../../src/providers/model-lifecycle.ts";
import { describeReadiness } from "../../src/web/readiness.ts";

const home = mkdtempSync(join(tmpdir(), "remora-endings-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const at = (day: string) => Date.parse(`${day}T12:00:00Z`);
const sonnet = { name: "anthropic", model: "anthropic/claude-sonnet-4-5-20250929" };

function warnings(config: string, day: string, providers = [sonnet], asked: string[] = [], env = {}): string[] {
  const file = join(home, "remora.yaml");
  writeFileSync(file, config);
  const loaded = loadSettings({ REMORA_CONFIG: file, REMORA_WORKSPACE: home, REMORA_DATA: home, ...env }, home);
  if (loaded.type === "invalid") throw new Error(JSON.stringify(loaded.problems));
  return endingChecks(loaded.settings, providers, { asked, now: at(day) }).map((check) => {
    expect(check).toMatchObject({ name: "retirement", state: "warning" });
    return checkText(check);
  });
}

test("the table of endings has a date, its sources, days, and replacements that do not end themselves", () => {
  expect(Date.parse(lifecycleDate)).toBeLessThanOrEqual(Date.now());
  for (const source of lifecycleSources) expect(URL.canParse(source)).toBe(true);
  for (const [model, { ends, instead }] of Object.entries(modelEndings)) {
    expect(ends).toMatch(/^20\d\d-[01]\d-[0-3]\d$/);
    if (instead !== undefined) expect(modelEndings[`${model.split("/", 1)[0]}/${instead}`]).toBeUndefined();
  }
});

test("a model in use is named from 60 days before its end, with what its maker recommends and the setting to change", () => {
  expect(warnings("{}", "2026-09-30")).toEqual([]);
  expect(warnings("{}", "2026-10-01")).toEqual([
    "anthropic/claude-sonnet-4-5-20250929 ends on 2026-11-30, in 60 days. Use claude-sonnet-5-5 instead: models.anthropic.model",
  ]);
  expect(warnings("{}", "2026-11-29")[0]).toContain("ends on 2026-11-30, in 1 day.");
  expect(warnings("{}", "2026-12-01")[0]).toContain("has ended on 2026-11-30. Use claude-sonnet-5-5");
});

test("a model that REMORA_MODEL names is to be changed there", () => {
  const warned = warnings("{}", "2026-11-29", [sonnet], [], { REMORA_MODEL: sonnet.model });
  expect(warned[0]).toContain("Use anthropic/claude-sonnet-5-5 instead: REMORA_MODEL");
});

test("models that can be chosen or were, that transcribe or embed, are named too", () => {
  const config = `models: { choices: [anthropic/claude-opus-4-5, openai/gpt-4o] }
transcription: { baseUrl: "https://api.openai.com/v1", model: whisper-1 }
memory: { embeddings: { provider: openai, model: gpt-5.1, apiKey: k } }`;
  expect(warnings(config, "2027-02-10", [sonnet], ["openai/gpt-5-mini", "openai/gpt-6-luna"]).slice(1)).toEqual([
    "anthropic/claude-opus-4-5 has ended on 2027-01-22. Use claude-opus-5-5 instead: models.choices",
    "openai/gpt-5-mini has ended on 2026-12-11. Use gpt-6.1-terra instead: /remora model in its conversation",
    "openai/whisper-1 ends on 2027-02-26, in 16 days. Use gpt-transcribe instead: transcription.model",
    "openai/gpt-5.1 ends on 2027-04-01, in 50 days. Choose another model: memory.embeddings.model",
  ]);
});

test("other servers serve models as long as they like", () => {
  const config = `models: { anthropic: { baseUrl: "https://gateway.example" }, openai: { baseUrl: "https://openrouter.ai/api/v1" } }
transcription: { baseUrl: "https://speech.example/v1", model: whisper-1 }
memory: { embeddings: { provider: openai, model: gpt-5.1, apiKey: k } }`;
  expect(warnings(config, "2027-03-31", [sonnet], ["openai/gpt-4o"])).toEqual([]);
});

test("a warning does not turn readiness red, and is one of its lines", () => {
  const checks = [{ name: "retirement", state: "warning" as const, what: "a/b ends on 2026-11-30, in 3 days" }];
  const ready = describeReadiness({ isStarted: true, redis: undefined, connected: [], checks });
  expect(ready).toEqual({ isReady: true, detail: "ready\nretirement: a/b ends on 2026-11-30, in 3 days" });
});

test("a model that its maker no longer serves is said to have ended, with its replacement; at another address it is unknown", () => {
  const place = (baseUrl: string, model = "o4-mini") => ({
    ...{ name: "openai", model, baseUrl, keySetting: "key", urlSetting: "url", modelSetting: "models.openai.model" },
  });
  const failure = (baseUrl: string, model?: string) =>
    statusFailure(place(baseUrl, model), 404, {
      message: "The model does not exist",
      type: "",
      code: "model_not_found",
    });
  expect(failure("https://api.openai.com/v1")).toMatchObject({
    ...{ code: "provider.model-ended", isRetryable: false },
    message: "[provider openai] o4-mini has ended on 2026-10-23; set models.openai.model to gpt-5.6-terra",
  });
  expect(failure("https://api.openai.com/v1", "gpt-6-lunar").code).toBe("provider.unknown-model");
  expect(failure("https://openrouter.ai/api/v1").code).toBe("provider.unknown-model");
});
