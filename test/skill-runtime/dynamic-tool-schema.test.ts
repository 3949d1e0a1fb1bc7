import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSchemaProbe, fitSchema } from "../../src/skill-runtime/plugins/dynamic-tool-schema.ts";
import { validateTools } from "../../src/skill-runtime/plugins/validate-tools.ts";

const probe = await createSchemaProbe();
const fitted = (written: unknown) => fitSchema(written, probe);

describe("the parameters of an offered tool", () => {
  test("are kept as they are where they are plain", () => {
    const schema = {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, description: "What to look for" },
        kind: { enum: ["a", "b"], default: "a" },
        tags: { type: "array", items: { type: "string" }, maxItems: 5 },
        at: { $ref: "#/$defs/place" },
      },
      required: ["query"],
      additionalProperties: false,
      $defs: { place: { type: "object", properties: { x: { type: "number" } } } },
    };
    expect(fitted(schema)).toEqual({ schema });
  });

  test("nothing, or what is no JSON, is an object without arguments", () => {
    expect(fitted(undefined)).toEqual({ schema: { type: "object", properties: {} } });
    expect(fitted(null)).toEqual({ schema: { type: "object", properties: {} } });
    const circle: { self?: unknown } = {};
    circle.self = circle;
    for (const written of [circle, "text", 7, [], { a: 1n }])
      expect(fitted(written)).toMatchObject({
        schema: { type: "object" },
        problem: expect.stringContaining("not JSON"),
      });
  });

  test("regular expressions, dialects and ids are left out, arguments that are called so are not", () => {
    const property = { type: "string", pattern: "^(a+)+$" };
    const written = {
      $schema: "http://json-schema.org/draft-04/schema#",
      $id: "https://example.com/x",
      type: "object",
      properties: { pattern: property, patternProperties: { type: "string" } },
      patternProperties: { "^(a+)+$": {} },
    };
    expect(fitted(written)).toEqual({
      schema: { type: "object", properties: { pattern: { type: "string" }, patternProperties: { type: "string" } } },
    });
  });

  test("alternatives at the top stay, so that calls are checked against them", () => {
    const properties = { a: { anyOf: [{ type: "string" }, { type: "number" }] }, b: { type: "string" } };
    const written = { type: ["object"], properties, anyOf: [{ required: ["a"] }, { required: ["b"] }] };
    expect(fitted(written)).toEqual({ schema: { ...written, type: "object" } });
  });

  test.each([
    ["an older dialect", { n: { type: "number", minimum: 1, exclusiveMinimum: true } }],
    ["a reference to nowhere", { n: { $ref: "https://example.com/schema.json", type: "number" } }],
    ["a type that does not exist", { n: { type: "number" }, m: { type: "integerish" } }],
  ])("%s: names, types and descriptions stay", (_what, properties) => {
    const outcome = fitted({ type: "object", properties, required: ["n", "gone", 7] });
    expect(outcome).toMatchObject({
      schema: { type: "object", required: ["n"] },
      problem: expect.stringMatching(/simplified/),
    });
    const names = "schema" in outcome ? Object.keys(outcome.schema.properties as object) : [];
    expect(names).toEqual(Object.keys(properties));
  });

  test("a huge one is simplified, and refused when that is not enough", () => {
    const huge = { type: "object", properties: { a: { type: "string", enum: Array(9_000).fill("word") } } };
    expect(fitted(huge)).toMatchObject({ schema: { properties: { a: { type: "string" } } } });
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`a${index}`, {}]));
    expect(fitted({ properties: many })).toMatchObject({ refused: expect.stringContaining("101 arguments") });
  });

  test("names of arguments that some services refuse stay, and what nobody can read is a reason to refuse", () => {
    const schema = { type: "object", properties: { "filter[id]": {}, ["x".repeat(65)]: {} } };
    expect(fitted(schema)).toEqual({ schema });
    for (const name of [" ", "x".repeat(201), "a\u200bb"])
      expect(fitted({ properties: { [name]: {} } })).toMatchObject({ refused: expect.stringContaining("can't read") });
  });

  test("nesting without end is cut", () => {
    let deep: object = { type: "string" };
    for (let level = 0; level < 3_000; level += 1)
      deep = level % 2 === 0 ? { items: [deep] } : { properties: { a: deep } };
    expect(fitted({ type: "object", properties: { deep } })).toMatchObject({ schema: { type: "object" } });
  });

  test("any JSON gives a schema that compiles, is short and has good names, or a reason", () => {
    const property = fc.record(
      { type: fc.constantFrom("string", "object", "x"), pattern: fc.string() },
      { requiredKeys: [] },
    );
    const likely = fc.record({
      type: fc.constant("object"),
      properties: fc.dictionary(fc.string(), fc.oneof(property, fc.jsonValue())),
    });
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), likely), (written) => {
        const outcome = fitted(written);
        if ("refused" in outcome) return outcome.refused !== "";
        const { schema } = outcome;
        const names = Object.keys(schema.properties as object);
        const isFine = names.every((name) => name.trim() !== "" && name.length <= 200);
        return (
          isFine && schema.type === "object" && JSON.stringify(schema).length <= 24_000 && probe(schema) === undefined
        );
      }),
    );
  });
});

describe("an offer", () => {
  test("garbage in it costs only itself, and is said", async () => {
    const good = { name: "a", description: "\u200bSee\u202e this", parameters: {}, timeoutMs: -1 };
    const bad = [
      null,
      7,
      {},
      { name: "" },
      { name: "x\u0000y" },
      { name: "b", parameters: { properties: { " ": {} } } },
      good,
    ];
    const { tools, problems } = await validateTools("hub", { tools: [good, ...bad] as never });
    expect(tools).toMatchObject([{ written: "a", description: "See this", timeoutMs: 120_000, isTrusted: false }]);
    expect(problems).toHaveLength(7);
    expect(problems?.at(-1)).toEqual({ message: "hub: the tool a is offered twice" });
  });

  test("a flood of findings is shortened, and more than a thousand tools are not looked at", async () => {
    const tools = Array.from({ length: 1_200 }, (_, index) => ({ name: index < 50 ? "" : `t${index}` }));
    const { tools: taken, problems } = await validateTools("hub", { tools: tools as never });
    expect([taken?.length, problems?.length]).toEqual([950, 11]);
    expect(problems?.at(-1)?.message).toMatch(/^and \d+ more/);
  });

  test("any values make no more than findings", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ tools: fc.anything(), problems: fc.anything() }, { requiredKeys: [] }),
        async (offer) => {
          const { tools = [], problems = [] } = await validateTools("hub", offer as never);
          expect(
            tools.every(({ written }) => written !== "") && problems.every((one) => typeof one.message === "string"),
          ).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
  });
});
