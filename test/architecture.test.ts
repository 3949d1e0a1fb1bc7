/** The two import rules, and what follows from them: docs/architecture.md says why. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { expect, test } from "vitest";

const source = resolve(import.meta.dirname, "../src");
const skills = resolve(import.meta.dirname, "../skills");

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Every module a file names: static imports, re-exports and dynamic imports. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)"([^"]+)"/g)].flatMap((match) => match[1] ?? []);
}

const files = filesIn(source);
const mayCross = (file: string) => {
  const path = relative(source, file);
  return path === "main.ts" || /^app(?:-[a-z]+)?\.ts$/.test(path) || path.startsWith(`cli${sep}`);
};

test("the rules are looked for where the code is", () => {
  expect(files.length).toBeGreaterThan(50);
  expect(importsOf(join(source, "main.ts"))).toContain("./core/errors.ts");
});

test.each(files.map((file) => relative(source, file)))(
  "%s imports its own folder, core, ports, node and packages only",
  (path) => {
    const file = join(source, path);
    if (mayCross(file)) return;
    const folder = path.split(sep)[0];
    const foreign = importsOf(file)
      .filter((name) => name.startsWith("."))
      .map((name) => relative(source, resolve(dirname(file), name)))
      .filter((target) => ![folder, "core", "ports"].includes(target.split(sep)[0]));
    expect(foreign).toEqual([]);
  },
);

test("skills use the vocabulary of core and ports and their own folder, nothing else of the source", () => {
  const shared = [skills, join(source, "core"), join(source, "ports")].map((folder) => folder + sep);
  const foreign = filesIn(skills).flatMap((file) =>
    importsOf(file)
      .filter((name) => name.startsWith("."))
      .map((name) => resolve(dirname(file), name))
      .filter((target) => !shared.some((folder) => target.startsWith(folder))),
  );
  expect(foreign).toEqual([]);
});

test("there are no barrels", () => {
  expect(files.filter((file) => file.endsWith(`${sep}index.ts`))).toEqual([]);
});

test("imports name the file they mean", () => {
  const loose = files.flatMap((file) =>
    importsOf(file).filter((name) => name.startsWith(".") && !name.endsWith(".ts")),
  );
  expect(loose).toEqual([]);
});
