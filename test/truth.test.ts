/** `npm run truth`: what it reads from an SDK's types, what it reports, and that its list of facts holds what we send. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { RESTJSONErrorCodes, Routes } from "discord.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { compare, fileOf, recordIn, reportOf, type TruthRecord } from "../scripts/truth/compare.ts";
import { facts, sdks, untyped } from "../scripts/truth/facts.ts";
import { type Reading, readFacts } from "../scripts/truth/read-facts.ts";
import { calls, notInManifestTypes, untypedCalls } from "../scripts/truth/slack-facts.ts";
import { refusals } from "../src/platforms/discord/api/api.ts";
import type { ModelRequest } from "../src/ports/provider.ts";
import { startModelDouble } from "./doubles/model.ts";
import { apis, asking, berlin, collect, scripted } from "./providers/apis.ts";

const root = resolve(import.meta.dirname, "..");
/** Of Discord: those whose members the code names. Permissions are keys of a table, and errors are numbers in one. */
const enumerations = facts.flatMap(({ type }) => {
  const [, name = ""] = /^typeof DiscordApi\.(\w+)$/.exec(type) ?? [];
  return ["", "PermissionFlagsBits", "RESTJSONErrorCodes"].includes(name) ? [] : [name];
});
const folder = mkdtempSync(join(tmpdir(), "remora-truth-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const sdk = "made-up-sdk";
const madeUpFacts = [
  { sdk, type: "Sdk.Model", at: "prices.ts", uses: ["small-2"] },
  { sdk, type: "Sdk.Request", at: "ask.ts", uses: ["model", "limit"] },
  { sdk, type: "Sdk.Event", at: "ask.ts", uses: ["done"] },
  { sdk, type: "Sdk.Legacy", at: "ask.ts", uses: ["text"] },
  { sdk, type: "Sdk.Extra", at: "ask.ts", uses: [] },
  { sdk, type: "Sdk.Either", at: "ask.ts", uses: [] },
  { sdk, type: "typeof Sdk.Code", at: "ask.ts", uses: [] },
];

/** Installs one version of an SDK with these types, beside code of ours that uses it. */
function install(version: string, types: string, code: string): Reading {
  const place = join(folder, version);
  const module = join(place, "node_modules", sdk);
  mkdirSync(join(module, "internal"), { recursive: true });
  mkdirSync(join(place, "src"));
  const manifest = { name: sdk, version, exports: { ".": { import: { types: "./index.d.mts" } } } };
  writeFileSync(join(module, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(module, "index.d.mts"), types);
  writeFileSync(
    join(module, "internal/models.js"),
    "exports.DEPRECATED_MODELS = {\n  'old-1': 'January 2nd, 2027',\n};",
  );
  writeFileSync(join(place, "src/ask.ts"), `import type * as Sdk from "${sdk}";\n${code}`);
  const compilerOptions = { strict: true, module: "nodenext", target: "es2024", types: [] };
  writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  const imports = { [sdk]: `import type * as Sdk from "${sdk}";` };
  return readFacts({ folder: place, root: place, sources: ["src"], sdks: imports, facts: madeUpFacts });
}

describe("the facts of an SDK's types", () => {
  const shapes = `export type Either = { one: string } | { two?: string };
    export declare enum Code {
      Fine = 1,
      /** @deprecated */
      Gone = 2,
    }`;
  let before: Reading;
  let record: TruthRecord;
  let now: Reading;
  beforeAll(() => {
    const code = "export const limitOf = (request: Sdk.Request): unknown => request.limit;\n";
    const rest = `export interface Extra { one?: string }\nexport type Legacy = { text: string };\n${shapes}`;
    before = install(
      "1.0.0",
      `export type Model = (string & {}) | "small-2" | "old-1";
       export interface Request { model: Model; limit?: number }
       export type Event = "start" | "done";\n${rest}`,
      code,
    );
    record = before;
    now = install(
      "2.0.0",
      `/**
        * Deprecated values:
        *
        * - "small-2", "small-2-2026-01-01": Announced shutdown
        *   date: 2027-04-01. See the list.
        * - "tiny-1": Not a supported model ID.
        */
       export type Model = (string & {}) | "small-2" | "small-3" | "tiny-1" | "old-1";
       export interface Request {
         model: Model;
         /** @deprecated Use maxTokens. */
         limit?: number;
         maxTokens?: number;
       }
       export type Event = "start" | "finished";
       export interface Extra { one?: string; two?: string }\n${shapes}`,
      `${code}export const textOf = (legacy: Sdk.Legacy): string => legacy.text;\n`,
    );
  });

  test("are the strings of a union and the fields of an object, with the dates at which models end", () => {
    expect(before.facts[sdk]).toMatchObject({
      "Sdk.Model": { "small-2": "", "old-1": "ends 2027-01-02" },
      "Sdk.Request": { model: "", limit: "" },
      "Sdk.Event": { start: "", done: "" },
    });
    expect(now.facts[sdk]?.["Sdk.Model"]).toEqual({
      ...{ "small-2": "ends 2027-04-01", "small-3": "", "tiny-1": "", "old-1": "ends 2027-01-02" },
    });
  });

  test("without a change give no finding", () => {
    expect(compare(record, before, madeUpFacts)).toEqual([]);
    expect(reportOf(record, before, [])).toBe("Compared: made-up-sdk 1.0.0\nNothing has changed.");
  });

  test("of a union of objects are the fields of each, and of an enumeration its names", () => {
    expect(before.facts[sdk]).toMatchObject({
      "Sdk.Either": { one: "", two: "" },
      "typeof Sdk.Code": { Fine: "", Gone: "deprecated" },
    });
  });

  test("that are gone or deprecated are named as ours where we use them", () => {
    const ours = compare(record, now, madeUpFacts).flatMap(({ isOurs, text }) => (isOurs ? [text] : []));
    expect(ours).toEqual([
      expect.stringMatching(/^our code does not fit: src\/ask\.ts:3 .*Legacy/),
      "our code uses what is deprecated: src/ask.ts 'limit' is deprecated.",
      "Sdk.Model, ends 2027-04-01: small-2 (prices.ts)",
      "Sdk.Request, deprecated: limit (ask.ts)",
      "Sdk.Event, gone: done (ask.ts)",
      "Sdk.Legacy is gone (ask.ts)",
    ]);
  });

  test("that are new are named with where they may be of use", () => {
    const others = compare(record, now, madeUpFacts).flatMap(({ isOurs, text }) => (isOurs ? [] : [text]));
    expect(others).toEqual([
      "Sdk.Model, new: small-3, tiny-1 (prices.ts)",
      "Sdk.Request, new: maxTokens (ask.ts)",
      "Sdk.Event, new: finished (ask.ts)",
      "Sdk.Extra, new: two (ask.ts)",
    ]);
  });

  test("that somebody has accepted are not reported again", () => {
    const accepted = compare(now, now, madeUpFacts).map(({ text }) => text);
    expect(accepted.filter((text) => !/is gone|gone: |does not fit/.test(text))).toEqual([]);
  });
});

describe("the list of facts", () => {
  const file = readFileSync(join(root, "scripts/truth/record.json"), "utf8");
  const record = recordIn(file);

  test("has nothing that the record lacks, and the record nothing that the list lacks", () => {
    const listed = facts.map(({ sdk, type }) => `${sdk} ${type}`).sort();
    const recorded = Object.entries(record.facts).flatMap(([sdk, types]) =>
      Object.keys(types).map((type) => `${sdk} ${type}`),
    );
    expect(recorded.sort()).toEqual(listed);
    expect(Object.keys(record.versions)).toEqual(Object.keys(sdks));
  });

  test("is recorded in a file that is written as it was read, and stays below 80 KB", () => {
    expect(fileOf(record)).toBe(file);
    expect(file.length).toBeLessThan(80_000);
  });

  test("uses nothing that the newest SDKs did not have when somebody last looked", () => {
    const gone = facts.flatMap(({ sdk, type, uses }) =>
      uses.filter((name) => record.facts[sdk]?.[type]?.[name] === undefined),
    );
    expect(gone).toEqual([]);
  });

  test("names the default models", () => {
    const { models } = parse(readFileSync(join(root, "config/remora.yaml"), "utf8"));
    const used = facts.flatMap(({ uses }) => uses);
    expect(used).toEqual(expect.arrayContaining([models.anthropic.model, models.openai.model]));
  });

  test("has the methods of Slack that the code calls, and no others", () => {
    const code = sourcesIn("src/platforms/slack").join("\n");
    const known = [...Object.keys(calls), ...untypedCalls];
    expect(namesIn(code, /\.call\(\s*"([^"]+)"/g).filter((method) => !known.includes(method))).toEqual([]);
    expect(known.filter((method) => !code.includes(`"${method}"`))).toEqual([]);
  });

  test("has the events and scopes of Slack's manifest, and no others", () => {
    const { oauth_config, settings } = parse(readFileSync(join(root, "slack/manifest.yaml"), "utf8"));
    const usesOf = (list: string) => facts.find(({ type }) => type.endsWith(`["${list}"]>[number]`))?.uses.toSorted();
    const typed = (names: string[]) => names.filter((name) => !notInManifestTypes.includes(name)).toSorted();
    expect(usesOf("bot")).toEqual(typed(oauth_config.scopes.bot));
    expect(usesOf("bot_events")).toEqual(typed(settings.event_subscriptions.bot_events));
  });

  test.each(enumerations)("has the names of Discord that the code takes from %s, and no others", (name) => {
    const code = sourcesIn("src/platforms/discord").join("\n");
    expect(usesOfDiscord(name).toSorted()).toEqual(namesIn(code, new RegExp(`\\b${name}\\.(\\w+)`, "g")).toSorted());
  });

  test("has the error codes of Discord that the code knows, and no others", () => {
    const codes = usesOfDiscord("RESTJSONErrorCodes").map(
      (name) => RESTJSONErrorCodes[name as keyof typeof RESTJSONErrorCodes],
    );
    expect(codes.toSorted()).toEqual(Object.values(refusals).toSorted());
  });

  test("has no path of Discord that the code does not ask", () => {
    const paths = facts.find(({ type }) => type === "keyof DiscordSpec.Paths")?.uses ?? [];
    const code = sourcesIn("src/platforms/discord").join("\n");
    const asked = usesOfDiscord("Routes").flatMap((name) => {
      const route = Routes[name as keyof typeof Routes] as (...ids: string[]) => string;
      return [0, 1, 2, 3].map((ids) => route(...Array<string>(ids).fill("*")));
    });
    const literal = namesIn(code, /`(\/[^`?]+)`/g).map((path) => path.replaceAll(/\$\{\w+\}/g, "*"));
    const idle = paths.filter((path) => ![...asked, ...literal].includes(path.replaceAll(/\{\w+\}/g, "*")));
    expect(idle).toEqual([]);
  });

  test("has nothing that neither the code nor a double names", () => {
    const settings = ["slack/manifest.yaml", "config/remora.yaml"].map((path) =>
      readFileSync(join(root, path), "utf8"),
    );
    const all = [...sourcesIn("src"), ...sourcesIn("test/doubles"), ...settings].join("\n");
    const words = new Set(all.split(/\W+/));
    const isNamed = (name: string) => (/^\w+$/.test(name) ? words.has(name) : all.includes(name));
    const byWord = facts.filter(({ type }) => !/RESTJSONErrorCodes|Paths/.test(type));
    const idle = byWord.flatMap(({ type, uses }) => uses.flatMap((name) => (isNamed(name) ? [] : `${type}: ${name}`)));
    expect(idle).toEqual([]);
  });

  test.each(apis)("has every field that goes to a service: $name", async ({ name, create }) => {
    const service = await startModelDouble();
    try {
      scripted(service);
      service.mock.on({ hasToolResult: true }, { content: "It rains." });
      await collect(create(service.url), asking("hello", everything));
      await collect(create(service.url), asking("hello", { ...everything, tools: [] }));
      const known = new Set([
        ...facts.flatMap((fact) => (fact.sdk === sdkOf(name) ? fact.uses : [])),
        ...(untyped[sdkOf(name)] ?? []),
      ]);
      const sent = new Set(service.requests.flatMap(({ body }) => keysIn(body)));
      expect([...sent].filter((key) => !known.has(key))).toEqual([]);
    } finally {
      await service.stop();
    }
  });
});

function namesIn(code: string, pattern: RegExp): string[] {
  return [...new Set(Array.from(code.matchAll(pattern), ([, name = ""]) => name))];
}

function usesOfDiscord(name: string): readonly string[] {
  return facts.find(({ type }) => type === `typeof DiscordApi.${name}`)?.uses ?? [];
}

/** The text of each file of a folder. */
function sourcesIn(place: string): string[] {
  const paths = readdirSync(join(root, place), { recursive: true, encoding: "utf8" });
  return paths.filter((path) => path.endsWith(".ts")).map((path) => readFileSync(join(root, place, path), "utf8"));
}

function sdkOf(api: string): string {
  if (api === "anthropic") return "@anthropic-ai/sdk";
  return api.startsWith("openai") ? "openai" : "ollama";
}

const picture = { mimeType: "image/png", base64: "iVBORw0KGgo=" };
/** A request in which everything occurs that a request can have. */
const everything: Partial<ModelRequest> = {
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "hello" },
        { type: "image", ...picture },
      ],
    },
    {
      role: "assistant",
      text: "I look.",
      toolCalls: [{ id: "call_a", name: "look_up", inputJson: JSON.stringify(berlin) }],
    },
    { role: "tool", callId: "call_a", name: "look_up", text: "Rain.", images: [picture], isError: false },
    { role: "user", content: [{ type: "text", text: "And now?" }] },
  ],
};

/** Names that we choose ourselves: a tool's parameters and the arguments of a call. */
const ownNames = ["parameters", "input_schema", "input", "arguments"];

function keysIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    key,
    ...(ownNames.includes(key) && !Array.isArray(inner) ? [] : keysIn(inner)),
  ]);
}
