/** The import rules of docs/architecture.md. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { expect, test } from "vitest";

const source = resolve(import.meta.dirname, "../src");
const skills = resolve(import.meta.dirname, "../skills");
/** What every folder of the source may import besides itself. */
const shared = ["ports", "lib"];
/** They put the parts together, so they may import anything. */
const composition = ["app", "cli", "evals", "main.ts", "remora.mjs"];

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|mjs)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Every module that a file names: static imports, type imports, re-exports and dynamic imports. */
function importedNames(file: string): string[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)"([^"]+)"/g)].flatMap((match) => match[1] ?? []);
}

function importedFiles(file: string): string[] {
  return importedNames(file)
    .filter((name) => name.startsWith("."))
    .map((name) => resolve(dirname(file), name));
}

const topFolder = (path: string) => path.split(sep)[0] ?? path;
const files = filesIn(source);
const skillFiles = filesIn(skills);

test("the source files are found, and their imports are read", () => {
  expect(files.length).toBeGreaterThan(50);
  expect(importedNames(join(source, "main.ts"))).toContain("./lib/errors.ts");
});

test.each(files.map((file) => relative(source, file)))(
  "%s imports its own top folder, ports, lib, node and packages only",
  (path) => {
    const own = topFolder(path);
    if (composition.includes(own)) return;
    const foreign = importedFiles(join(source, path))
      .map((file) => relative(source, file))
      .filter((target) => ![own, ...shared].includes(topFolder(target)));
    expect(foreign).toEqual([]);
  },
);

test("skills import the plugin SDK and their own folder only", () => {
  const allowed = (file: string) => [join(source, "plugin-sdk"), join(skills, topFolder(relative(skills, file)))];
  const foreign = skillFiles.flatMap((file) =>
    importedFiles(file).filter((target) => !allowed(file).some((folder) => target.startsWith(folder + sep))),
  );
  expect(foreign).toEqual([]);
});

test("no request of the source or of skills follows a redirect by itself", () => {
  const all = [...files, ...skillFiles].filter((file) => !/[\\/](?:page|dashboard)[\\/]/.test(file));
  const following = all.flatMap((file) => {
    const text = readFileSync(file, "utf8");
    // Not methods and parameters with that name, which get the standard `fetch` from elsewhere.
    const calls = [...text.matchAll(/(?<![\w.]|async |function )fetch\((?!\)|\w+: )/g)];
    const isOwn = /(?:[{,(]\s*|\bconst )fetch\b(?=[,: }=])/.test(text);
    const unsafe = calls.filter(({ index }) => !/redirect: "(?:manual|error)"/.test(text.slice(index, index + 200)));
    const hasLibrary = /new (?:OpenAI|Anthropic|Ollama)\(/.test(text);
    return isOwn ? [] : [...unsafe, ...(hasLibrary ? [1] : [])].map(() => relative(source, file));
  });
  expect(following).toEqual([]);
});

test("no file imports itself by way of others, not even for a type", () => {
  const imports = new Map([...files, ...skillFiles].map((file) => [file, importedFiles(file)]));
  expect(circles(imports).map((circle) => circle.map((file) => relative(dirname(source), file)))).toEqual([]);
});

test("there are no barrels", () => {
  expect(files.filter((file) => file.endsWith(`${sep}index.ts`))).toEqual([]);
});

test("imports name the file they mean", () => {
  const loose = files.flatMap((file) =>
    importedNames(file).filter((name) => name.startsWith(".") && !/\.(?:ts|mjs|json)$/.test(name)),
  );
  expect(loose).toEqual([]);
});

/** The first use of `Intl` reads the data of all languages: 12 ms, and 8 MB of memory for good. */
test("no file uses Intl when it is loaded, or to show a number", () => {
  const early = files.filter((file) =>
    /\.toLocaleString\(|^(?:export )?const .*\bIntl\./m.test(readFileSync(file, "utf8")),
  );
  expect(early.map((file) => relative(source, file))).toEqual([]);
});

/** Each circle once, by the file where a walk from the first file closes it. */
function circles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const walk = (file: string) => {
    if (path.includes(file)) found.push([...path.slice(path.indexOf(file)), file]);
    if (done.has(file) || path.includes(file)) return;
    path.push(file);
    for (const target of imports.get(file) ?? []) walk(target);
    path.pop();
    done.add(file);
  };
  for (const file of imports.keys()) walk(file);
  return found;
}

test("a start loads no package of a service, a model or a document reader that may never be used", () => {
  const loaded = new Set<string>();
  const packages = new Set<string>();
  const load = (file: string) => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const [, name = ""] of readFileSync(file, "utf8").matchAll(
      /^(?:import|export) (?!type\b)(?:[^;"]*?from )?"([^"]+)"/gm,
    )) {
      if (name.startsWith(".")) load(resolve(dirname(file), name));
      else if (!name.startsWith("node:")) packages.add(/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
    }
  };
  for (const file of ["main.ts", "cli/start.ts", "cli/environment.ts", "platforms/local/platform.ts"])
    load(join(source, file));
  // Each package here costs every start time and memory. Import others where they are first needed.
  expect([...packages].toSorted()).toEqual([
    ...["@hono/node-server", "@keyv/sqlite", "chokidar", "commander", "croner", "diff", "hono", "keyv", "p-queue"],
    ...["pino", "re2js", "unbash", "yaml", "zod"],
  ]);
});
