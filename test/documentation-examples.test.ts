/** The settings that the documentation shows are valid. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { formatProblems, loadSettings } from "../src/config/load.ts";

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

test("the recipes have settings", () => expect(settingsIn("docs/recipes.md").length).toBeGreaterThan(3));
