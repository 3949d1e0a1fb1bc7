import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { describeTool } from "../../src/lib/text/describe-tool.ts";
import { definingAll, offerOf } from "../../src/ports/tool-offer.ts";
import { toolSpec } from "../doubles/records.ts";

const sized = (name: string, bytes: number, isAlwaysDefined = false) =>
  toolSpec(name, { description: "x".repeat(bytes), isAlwaysDefined });
const namesOf = (tools: readonly { name: string }[]) => tools.map(({ name }) => name);

describe("the offer of a request", () => {
  test("defines all tools if they are few", () => {
    const tools = [sized("a", 1_000), sized("b", 1_000, true)];
    expect(offerOf(tools)).toEqual({ defined: tools, named: [] });
  });

  test("otherwise defines those that are marked, and names the others", () => {
    const { defined, named } = offerOf([sized("a", 6_000), sized("b", 2_000, true), sized("c", 1_000)]);
    expect(namesOf(defined)).toEqual(["b", "use_tool"]);
    expect(namesOf(named)).toEqual(["a", "c"]);
  });

  test("stays small, however many tools are marked", () => {
    const tools = Array.from({ length: 50 }, (_, index) => sized(`tool_${index}`, 900, true));
    const defined = namesOf(offerOf(tools).defined);
    expect(defined.at(-1)).toBe("use_tool");
    expect(defined.length).toBeLessThan(10);
  });

  test("defines every tool if the settings choose so, except those of other programs, and within a limit", () => {
    const tools = [sized("a", 6_000), sized("b", 5_000), toolSpec("c", { offeredBy: "server" })];
    const { defined, named } = offerOf(definingAll(tools, 12_000));
    expect(namesOf(defined)).toEqual(["a", "b", "use_tool"]);
    expect(namesOf(named)).toEqual(["c"]);
    expect(namesOf(offerOf(definingAll(tools, 10_000)).defined)).toEqual(["use_tool"]);
    expect(namesOf(offerOf(definingAll(tools.slice(0, 2), 12_000)).defined)).toEqual(["a", "b"]);
  });

  test("leaves out what tells a model nothing, and keeps every limit that it could break by accident", () => {
    const text = { type: "string", minLength: 1, maxLength: 20_000, description: "Words" };
    const title = { type: "string", minLength: 2, maxLength: 60 };
    const hosts = { type: "array", items: { type: "string", minLength: 1, maxLength: 260 }, minItems: 1, maxItems: 20 };
    const either = { anyOf: [{ type: "string", maxLength: 500 }, { type: "null" }] };
    const pair = { type: "array", items: { type: "number" }, minItems: 2, maxItems: 2 };
    // Arguments may be called what limits are called.
    const properties = { text, title, hosts, either, pair, maxLength: { type: "integer", minimum: 0, maximum: 500 } };
    const open = { type: "object", additionalProperties: { type: "string", maxLength: 500 } };
    const parameters = {
      ...{ type: "object", properties: { ...properties, open }, required: ["text"] },
      additionalProperties: false,
    };
    const tool = toolSpec("act", { parameters });
    const [defined] = offerOf([tool]).defined;
    expect(defined?.parameters).toEqual({
      type: "object",
      properties: {
        ...properties,
        text: { type: "string", description: "Words" },
        hosts: { type: "array", items: { type: "string" } },
        open,
      },
      required: ["text"],
    });
    expect(tool.parameters).toBe(parameters);
    expect(offerOf([tool]).defined[0]).toBe(defined);
  });

  test("loses no tool, and is the same for the same tools", () => {
    const tool = fc.tuple(fc.nat(3_000), fc.boolean());
    fc.assert(
      fc.property(fc.array(tool, { maxLength: 20 }), (sizes) => {
        const tools = sizes.map(([bytes, isMarked], index) => sized(`tool_${index}`, bytes, isMarked));
        const { defined, named } = offerOf(tools);
        const all = [...defined, ...named].filter(({ name }) => name !== "use_tool");
        expect(new Set(all)).toEqual(new Set(tools));
        expect(offerOf(structuredClone(tools))).toEqual({ defined, named });
      }),
    );
  });
});

describe("a tool's description", () => {
  const describeArgument = (schema: object) =>
    describeTool(toolSpec("act", { parameters: { type: "object", properties: { it: schema }, required: ["it"] } }))
      .split("\n")
      .at(-1);

  test.each([
    [{ type: "string", description: "What", maxLength: 9 }, "- it: string. What"],
    [{ type: "integer", minimum: 1 }, "- it: integer 1.."],
    [{ type: "number", minimum: 0, maximum: 2 }, "- it: number 0..2"],
    [{ type: "string", enum: ["a", "b"] }, '- it: "a" | "b"'],
    [{ type: "array", items: { type: "string", minLength: 1 } }, "- it: list of string"],
    [{ type: "string", pattern: "^a" }, '- it: {"type":"string","pattern":"^a"}'],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, '- it: {"anyOf":[{"type":"string"},{"type":"null"}]}'],
    [{ type: "object", properties: { a: {} } }, '- it: {"type":"object","properties":{"a":{}}}'],
  ])("says %j in short", (schema, line) => {
    expect(describeArgument(schema)).toBe(line);
  });

  test("marks what may be left out, and gives a schema that needs more as it is", () => {
    const parameters = { type: "object", properties: { a: { type: "string" } } };
    expect(describeTool(toolSpec("act", { parameters }))).toBe("### act\nact\n- a?: string");
    expect(describeTool(toolSpec("act", { parameters: { type: "object" } }))).toBe("### act\nact\nInput: {}");
    const shared = { ...parameters, $defs: { b: {} } };
    expect(describeTool(toolSpec("act", { parameters: shared }))).toBe(
      `### act\nact\nInput: ${JSON.stringify(shared)}`,
    );
  });
});
