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

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const headings = [...readFileSync(join(root, page), "utf8").matchAll(/^#+ (.*)$/gm)];
  return new Set(
    headings.map(([, text = ""]) =>
      text
        .toLowerCase()
        .replaceAll(/\]\([^)]*\)/g, "")
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

test.each(pages)("%s: links to parts of a page", (page) => {
  const text = readFileSync(join(root, page), "utf8");
  const links = [...text.matchAll(/\]\(([^)#\s:]*)#([^)\s]+)\)/g)];
  const missing = links.filter(([, target = "", anchor = ""]) => {
    const linked = target === "" ? page : join(dirname(page), target);
    return linked.endsWith(".md") && existsSync(join(root, linked)) && !anchorsOf(linked).has(anchor);
  });
  expect(missing.map(([link]) => link)).toEqual([]);
});

test("every page is in the list of pages", () => {
  const listed = readFileSync(join(root, "docs/README.md"), "utf8");
  const names = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md") && name !== "README.md");
  expect(names.filter((name) => !listed.includes(`](${name})`))).toEqual([]);
});

test("every row of the security log names a test that exists, or leads to the changes", () => {
  const text = readFileSync(join(root, "docs/security-log.md"), "utf8");
  const rows = text.split("\n").filter((line) => /^\| (?!-|Source|Kind)/.test(line.replace("|---", "| -")));
  const hasTest = (row: string) =>
    [...row.matchAll(/`(test\/[^`]+\.test\.ts)`/g)].some(([, path = ""]) => existsSync(join(root, path)));
  expect(rows.length).toBeGreaterThan(80);
  expect(rows.filter((row) => !hasTest(row) && !row.includes("](../CHANGELOG.md)"))).toEqual([]);
});

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
