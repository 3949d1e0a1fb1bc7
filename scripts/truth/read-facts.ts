/**
 * Reads facts from the types of installed SDKs, and checks our code against them. TypeScript does the reading, so that the
 * facts do not depend on how an SDK arranges its files.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { API, type Checker, type Diagnostic, type Project, type Type } from "typescript/unstable/sync";
import type { Fact } from "./facts.ts";

/** By name: empty, `deprecated`, or `ends 2027-01-14`. */
export type Names = Record<string, string>;

export interface Reading {
  versions: Record<string, string>;
  /** By SDK, then by type. A type that is gone is missing. */
  facts: Record<string, Record<string, Names>>;
  /** What of our code does not fit the SDKs' types: `path:line text`. */
  misfits: string[];
  /** Uses of deprecated things in our code: `path text`. Without lines, because those change with every edit. */
  deprecatedUses: string[];
}

export interface ReadingOptions {
  /** Has `node_modules` with the SDKs. */
  folder: string;
  /** Of our code, with `tsconfig.json`. */
  root: string;
  /** Of our code, relative to `root`. */
  sources: readonly string[];
  sdks: Readonly<Record<string, string>>;
  facts: readonly Fact[];
}

export function readFacts(options: ReadingOptions): Reading {
  const { folder, sdks, facts } = options;
  const work = mkdtempSync(join(tmpdir(), "remora-truth-"));
  const api = new API({ cwd: work });
  try {
    const { config, probe } = writeProject(work, options);
    using snapshot = api.updateSnapshot({ openProjects: [config] });
    const [project] = snapshot.getProjects();
    if (project === undefined) throw new Error(`TypeScript does not open ${config}`);
    const places = Object.keys(sdks).map((sdk) => [sdk, join(folder, "node_modules", packageOf(sdk))] as const);
    const ends = Object.assign({}, ...places.map(([, place]) => endsInCode(place)));
    return {
      versions: Object.fromEntries(places.map(([sdk, place]) => [sdk, versionOf(place)])),
      facts: factsBySdk(project.checker, probe, facts, ends),
      ...problemsOf(project, options, probe),
    };
  } finally {
    api.close();
    rmSync(work, { recursive: true, force: true });
  }
}

/** A project of our code in which the SDKs' names lead to `folder`, with one file that names each fact. */
function writeProject(work: string, { folder, root, sources, sdks, facts }: ReadingOptions) {
  const [config, probe] = [join(work, "tsconfig.json"), join(work, "probe.ts")];
  const paths = Object.fromEntries(Object.keys(sdks).map((sdk) => [sdk, [typesOf(join(folder, "node_modules"), sdk)]]));
  const compilerOptions = { noEmit: true, paths, typeRoots: [join(root, "node_modules/@types")] };
  const include = [probe, ...sources.map((source) => join(root, source, "**/*.ts"))];
  writeFileSync(config, JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions, include }));
  const imports = Object.values(sdks).filter((line) => line !== "");
  const lines = facts.map(({ type }, index) => `export type Fact${index}_ = ${type};`);
  writeFileSync(probe, [...imports, ...lines, ""].join("\n"));
  return { config, probe };
}

interface Manifest {
  version?: string;
  types?: string;
  exports?: Record<string, unknown>;
}

function manifestOf(sdk: string): Manifest {
  return JSON.parse(readFileSync(join(sdk, "package.json"), "utf8"));
}

function versionOf(sdk: string): string {
  return manifestOf(sdk).version ?? "";
}

/** `discord-api-types` of `discord-api-types/v10`, `@slack/types` of itself. */
export function packageOf(sdk: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(sdk)?.[0] ?? sdk;
}

/** The types that a module's `import` gets. */
function typesOf(modules: string, sdk: string): string {
  const place = join(modules, packageOf(sdk));
  const entry = `.${sdk.slice(packageOf(sdk).length)}`;
  const { exports, types } = manifestOf(place);
  const named = (value: unknown): string | undefined => {
    if (typeof value !== "object" || value === null) return undefined;
    const { import: imported, types: own }: { import?: unknown; types?: unknown } = value;
    return named(imported) ?? (typeof own === "string" ? own : undefined);
  };
  const found = named(exports?.[entry]) ?? types;
  if (found === undefined) throw new Error(`${sdk} names no types in package.json`);
  return join(place, found);
}

function factsBySdk(checker: Checker, probe: string, facts: readonly Fact[], ends: Names): Reading["facts"] {
  const text = readFileSync(probe, "utf8");
  const found: Reading["facts"] = {};
  for (const [index, { sdk, type }] of facts.entries()) {
    const read = checker.getTypeAtPosition(probe, text.indexOf(`Fact${index}_`));
    const names = read === undefined || read.isErrorType() ? {} : namesIn(checker, read);
    if (Object.keys(names).length === 0) continue;
    const states = Object.entries(names).map(([name, state]) => [name, state || (ends[name] ?? "")] as const);
    found[sdk] ??= {};
    found[sdk][type] = Object.fromEntries(states.sort(([one], [other]) => (one < other ? -1 : 1)));
  }
  return found;
}

/** The strings of a union, or else the fields of an object, or of each object of a union. */
function namesIn(checker: Checker, type: Type): Names {
  const members = type.isUnionType() ? type.getTypes() : [type];
  const values = members.flatMap((member) => (member.isStringLiteralType() ? [String(member.value)] : []));
  if (values.length > 0) {
    const alias = type.getAliasSymbol();
    const ends = alias === undefined ? {} : endsInComment(checker.getDocumentationCommentOfSymbol(alias));
    return Object.fromEntries(values.map((value) => [value, ends[value] ?? ""]));
  }
  const fields = members.flatMap((member) => checker.getPropertiesOfType(member));
  return Object.fromEntries(
    fields.map((field) => {
      const isDeprecated = checker.getJsDocTagsOfSymbol(field).some(({ name }) => name === "deprecated");
      return [field.name, isDeprecated ? "deprecated" : ""];
    }),
  );
}

/** As OpenAI writes it: a list of names, and `Announced shutdown date: 2027-01-14` for all of them. */
function endsInComment(comment: string): Names {
  const items = comment.split(/\n\s*- /).map((item) => item.replaceAll(/\s+/g, " "));
  const ends = items.flatMap((item) => {
    const date = /shutdown date: (\d{4}-\d\d-\d\d)/.exec(item)?.[1];
    return date === undefined ? [] : Array.from(item.matchAll(/"([^"]+)"/g), ([, name]) => [name, `ends ${date}`]);
  });
  return Object.fromEntries(ends);
}

/** As Anthropic writes it, in a table of its code: `'claude-opus-4-5': 'January 22nd, 2027'`. */
function endsInCode(sdk: string): Names {
  const folder = join(sdk, "internal");
  if (!existsSync(folder)) return {};
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js"));
  const tables = files.flatMap(
    (name) => /DEPRECATED_MODELS = \{[^}]*\}/.exec(readFileSync(join(folder, name), "utf8")) ?? [],
  );
  const entries = tables.flatMap((table) => [...table.matchAll(/'([^']+)': '(\w+ \d+)\w*, (\d{4})'/g)]);
  return Object.fromEntries(
    entries.map(([, name, day, year]) => [name, `ends ${new Date(`${day}, ${year} UTC`).toISOString().slice(0, 10)}`]),
  );
}

function problemsOf({ program }: Project, { root, sdks }: ReadingOptions, probe: string) {
  const own = program.getSourceFileNames().filter((file) => file.startsWith(root) && !file.includes("/node_modules/"));
  const imports = new RegExp(`"(?:${Object.keys(sdks).join("|")})"`);
  const hints = own
    .filter((file) => file !== probe && imports.test(readFileSync(file, "utf8")))
    .flatMap((file) => program.getSuggestionDiagnostics(file))
    .filter(({ reportsDeprecated }) => reportsDeprecated);
  // A fact that is gone is an error in the probe, and reported as such. A specification may be TypeScript with errors of its own.
  const errors = own.filter((file) => file !== probe).flatMap((file) => program.getSemanticDiagnostics(file));
  return {
    misfits: errors.map((error) => `${placeOf(root, error)} ${error.text}`),
    deprecatedUses: [...new Set(hints.map(({ fileName = "", text }) => `${relative(root, fileName)} ${text}`))].sort(),
  };
}

function placeOf(root: string, { fileName, pos }: Diagnostic): string {
  if (fileName === undefined) return "";
  return `${relative(root, fileName)}:${readFileSync(fileName, "utf8").slice(0, pos).split("\n").length}`;
}
