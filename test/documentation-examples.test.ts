/** The settings that the documentation shows are valid. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { formatProblems, loadSettings } from "../src/config/load.ts";
import { readTasks } from "../src/evals/task-file.ts";
import { endingOf } from "../src/providers/model-lifecycle.ts";
import { shippedPrices } from "../src/usage/price-table.ts";

const root = resolve(import.meta.dirname, "..");
const home = mkdtempSync(join(tmpdir(), "remora-docs-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const pages = ["README.md", ...readdirSync(join(root, "docs")).map((name) => join("docs", name))].filter((name) =>
  name.endsWith(".md"),
);
const textOf = (page: string) => readFileSync(join(root, page), "utf8");
const settingsIn = (page: string) =>
  [...textOf(page).matchAll(/^```yaml\n(.*?)^```/gms)].map(([, source = ""], index) => ({ page, index, source }));
/** Compose files and workflows have other keys. */
const isOurs = ({ source }: { source: string }) => {
  const keys = Object.keys((parse(source) as object | null) ?? {});
  return keys.some((key) =>
    ["models", "safety", "limits", "folders", "sandbox", "web", "skills", "memory", "transcription"].includes(key),
  );
};

test.each(pages.flatMap(settingsIn).filter(isOurs))("$page: settings $index are valid", ({ page, index, source }) => {
  const file = join(home, `${page.replaceAll("/", "-")}-${index}.yaml`);
  writeFileSync(file, source);
  const used = Array.from(source.matchAll(/\$\{([A-Z_]+)\}/g), ([, name = ""]) => [name, "value"]);
  const folders = { REMORA_WORKSPACE: join(home, "w"), REMORA_DATA: join(home, "d") };
  const loaded = loadSettings({ ...Object.fromEntries(used), ...folders, REMORA_CONFIG: file }, root);
  expect(loaded.type === "ok" ? "" : formatProblems(loaded.problems)).toBe("");
});

test("the tasks that docs/evals.md shows can be played", () => {
  const [tasks = ""] = settingsIn("docs/evals.md").map(({ source }) => source);
  const file = join(home, "evals.yaml");
  writeFileSync(file, tasks);
  expect(readTasks(file).map(({ turns }) => turns.map(({ approve }) => approve))).toEqual([
    ["yes"],
    ["yes", "yes"],
    ["no"],
  ]);
});

test("the recipes have settings", () => expect(settingsIn("docs/recipes.md").length).toBeGreaterThan(3));

test("prices that the documentation shows for a model are those that Remora knows", () => {
  const schema = z.looseObject({
    models: z.looseObject({ prices: z.record(z.string(), z.unknown()).optional() }).optional(),
  });
  const shown = pages
    .flatMap(settingsIn)
    .filter(isOurs)
    .flatMap(({ source }) => Object.entries(schema.parse(parse(source)).models?.prices ?? {}));
  const known = shown.filter(([model]) => shippedPrices[model] !== undefined);
  expect(known.length).toBeGreaterThan(1);
  for (const [model, price] of known) {
    // The configuration has no prices for long prompts.
    const { long: _long, ...usual } = shippedPrices[model] ?? {};
    expect({ model, price }).toEqual({ model, price: usual });
  }
});

test("models that the settings and the documentation show do not end", () => {
  const shown = [...pages.flatMap(settingsIn).map(({ source }) => source), textOf("config/remora.yaml")].join("\n");
  const named = [...shown.matchAll(/^#? *(?:.*[{,] *)?model: *"?([\w.:-]+)/gm)].map(([, model = ""]) => model);
  expect(named).toContain("gpt-transcribe");
  const ending = named.filter((name) =>
    ["anthropic", "openai"].some((maker) => endingOf(`${maker}/${name}`) !== undefined),
  );
  expect(ending).toEqual([]);
});
