/** docs/configuration.md names every key with its default, and every variable of the environment that the code reads. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { configSchema } from "../../src/config/schema.ts";

const project = resolve(import.meta.dirname, "../..");
const page = readFileSync(join(project, "docs/configuration.md"), "utf8");
const rows = new Map(
  [...page.matchAll(/^\| `([^`]+)` \| `([^`]+)` \| \S/gm)].map(([, key = "", shown = ""]) => [key, shown]),
);

/** Keys with a value of their own; a map that is empty by default is one. */
function leaves(value: unknown, path: string[] = []): [key: string, value: unknown][] {
  const isMap = typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
  return isMap
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]))
    : [[path.join("."), value]];
}

const keys = leaves(configSchema.parse({}));

test.each(keys)("%s is there, with its default", (key, value) => {
  expect(rows.get(key)).toBe(JSON.stringify(value));
});

test("no key is described that does not exist", () => {
  expect([...rows.keys()].filter((key) => !keys.some(([known]) => known === key))).toEqual([]);
});

test("the example is a configuration", () => {
  const [, example = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  expect(configSchema.safeParse(parse(example)).error).toBeUndefined();
});

/** Names in quotes that look like a variable of ours or of a service, anywhere in the source. */
function variables(): string[] {
  const files = readdirSync(join(project, "src"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const pattern = /"((?:REMORA|DISCORD|SLACK|ANTHROPIC|OPENAI|OLLAMA|REDIS|LOG)_[A-Z_]*[A-Z])"/g;
  const found = files.flatMap((name) => [...readFileSync(join(project, "src", name), "utf8").matchAll(pattern)]);
  const names = new Set(found.map(([, name = ""]) => name));
  // The page says once that every secret can come from a file.
  return [...names].filter((name) => !names.has(name.replace(/_FILE$/, "")) || !name.endsWith("_FILE")).sort();
}

test("the variables are looked for where the code is", () => {
  expect(variables()).toContain("REMORA_WORKSPACE");
});

test.each(variables())("%s is there", (name) => {
  const [, environment = ""] = page.split("\n## The environment\n");
  expect(environment).toContain(`\`${name}\``);
});
