/** The data skill as it is shipped: SKILL.md, gate, and the plugin through the toolbox. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createInference } from "../../skills/data/inference.ts";
import { columnNames, quoted, tableName } from "../../skills/data/names.ts";
import { createGate } from "../../src/gate/gate.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { createSkillLibrary, gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { runs } from "../faults/share.ts";
import { makePlace, skillsFolder } from "./place.ts";

const root = join(skillsFolder, "data");
const set = await loadSkills([root]);
const gate = createGate({ rules: gateRules(set), matching: "extended" });
const exactGate = createGate({ rules: gateRules(set), matching: "exact" });
const gateTests = set.skills.flatMap((skill) => skill.gateTests);

test("it loads without a word to say about it, and is short in every prompt", () => {
  expect(set.diagnostics).toEqual([]);
  expect(gate.diagnostics()).toEqual([]);
  const [skill] = set.skills;
  expect(skill?.tools.map(({ name, isReadOnly, isIdempotent }) => [name, isReadOnly, isIdempotent])).toEqual([
    ["data_describe", true, true],
    ["data_query", false, true],
    ["data_chart", false, true],
  ]);
  expect(skill?.description.length).toBeLessThanOrEqual(100);
  expect(JSON.stringify(skill?.tools.map(({ parameters }) => parameters))).not.toContain(":null");
});

describe.each([
  ["extended", gate],
  ["exact", exactGate],
] as const)("with %s matching", (_name, one) => {
  test.each(gateTests)("$tool $args is $want", ({ tool, args, want }) => {
    expect(one.classify(tool, args).class).toBe(want);
  });
});

test("through the toolbox a file is described, asked and drawn, and others are out of reach", async () => {
  const place = await makePlace();
  const library = createSkillLibrary({ roots: [root], log: silentLog, events: createEvents() });
  await library.reload();
  const toolbox = createToolbox({
    library,
    log: silentLog,
    workspace: place.workspace,
    filesRoot: join(place.workspace, "files"),
    dataFolder: join(place.root, "data", "skills"),
    config: { settings: { data: { fonts: [] } } },
  });
  onTestFinished(async () => {
    await toolbox.close();
    await library.close();
    await place.remove();
  });
  const { conversationId, scope, turnId, requester, workingFolder } = place.context("data");
  const at = { conversationId, scope, turnId, requester, workingFolder };
  const run = (name: string, input: JsonObject) =>
    toolbox.run({ id: "c1", name, input }, at, new AbortController().signal);
  await writeFile(join(workingFolder, "sales.csv"), "region;amount\nNorth;12.5\nSouth;7\n");
  await mkdir(join(place.workspace, "files", "dm-bob"));
  await writeFile(join(place.workspace, "files", "dm-bob", "secret.csv"), "canary\n1\n");
  expect((await run("data_describe", { files: ["sales.csv"] })).text).toContain(
    "2 rows, 2 columns, CSV with semicolons",
  );
  expect((await run("data_query", { files: ["sales.csv"], sql: "SELECT sum(amount) FROM sales" })).text).toContain(
    "| 19.5 |",
  );
  const chart = await run("data_chart", { files: ["sales.csv"], type: "pie", title: "Shares" });
  expect(chart).toMatchObject({
    isOk: true,
    files: [{ name: "shares.png", path: join(place.workspace, "outbox", "t1-c1", "1"), mimeType: "image/png" }],
  });
  expect((await readFile(chart.files[0]?.path ?? "")).subarray(1, 4).toString()).toBe("PNG");
  const outside = await run("data_describe", { files: ["../dm-bob/secret.csv"] });
  expect(outside).toMatchObject({ isOk: false, isRetryable: false, isAnswer: true });
  expect(outside.text).not.toContain("canary");
});

test("a number is one only when nothing of what is written is lost", () => {
  const written = fc.oneof(
    fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }).map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc
      .tuple(
        fc.constantFrom("", "-", "+", "0", "00"),
        fc.nat().map(String),
        fc.constantFrom("", ".0", ".50", ",5", "e5", "%"),
      )
      .map((parts) => parts.join("")),
    fc.string({ unit: fc.constantFrom("0", "1", "9", ".", "-", "e", "E", "+", ","), minLength: 1, maxLength: 25 }),
  );
  fc.assert(
    fc.property(written, (value) => {
      const inference = createInference();
      inference.add(value);
      const { type } = inference.result();
      if (type === "INTEGER") expect(BigInt.asIntN(64, BigInt(value)).toString()).toBe(value);
      if (type !== "REAL") return;
      // What programs write for a double is read back as the very same, though it has more digits than a double holds.
      if (String(Number(value)) === value || Number(value).toFixed((value.split(".")[1] ?? "").length) === value)
        return;
      const [mantissa = "", exponent = "0"] = value.toLowerCase().split("e");
      const [, whole = "", decimals = ""] = /^-?(\d*)\.?(\d*)$/.exec(mantissa) ?? [];
      const digits = (whole + decimals).replace(/^0+/, "").replace(/0+$/, "");
      const kept = Number(value).toExponential(Math.min(100, Math.max(0, digits.length - 1)));
      expect([value, kept.split("e")[0]?.replace(/[-.]/g, "")]).toEqual([value, digits === "" ? "0" : digits]);
      expect(Number.isFinite(Number(value)) && Math.abs(Number(exponent)) < 1_000).toBe(true);
    }),
    { numRuns: runs(3_000) },
  );
});

test("names of columns and tables are unique for SQL and can always be quoted", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: anyCharacter, maxLength: 8 }), { maxLength: 12 }), (headers) => {
      const names = columnNames(headers);
      expect(names).toHaveLength(headers.length);
      expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
      expect(names.every((name) => name !== "" && name.isWellFormed())).toBe(true);
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 20 }), (name) => {
      expect(tableName(`${name}.csv`, new Set(["data"]))).toMatch(/^[\p{L}_][\p{L}\p{N}_]*$/u);
    }),
  );
  expect(quoted('a"b')).toBe('"a""b"');
});
