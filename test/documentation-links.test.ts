/** Links and source paths in the documentation lead somewhere. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");
const pages = [
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md"],
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];
/** Stand-ins of instructions, such as `src/platforms/NAME/platform.ts`. */
const isTemplate = (path: string) => /[A-Z]{3,}|[<*…]/.test(path.replace(/SKILL\.md$|README\.md$/, ""));

test.each(pages)("%s", (page) => {
  const text = readFileSync(join(root, page), "utf8");
  const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].flatMap(([, target]) => target ?? []);
  const linked = links.filter((target) => !/^[a-z]+:/.test(target)).map((target) => join(dirname(page), target));
  const named = [...text.matchAll(/`((?:src|test|skills|docs|scripts|bench)\/[^`\s]+)`/g)].flatMap(
    ([, path]) => path ?? [],
  );
  const missing = [...linked, ...named].filter((path) => !isTemplate(path) && !existsSync(join(root, path)));
  expect(missing).toEqual([]);
});
