import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/ports/message.ts";
import { toToolParameters } from "../../src/skill-runtime/parse/schema.ts";

const schemaOf = (written: Json | undefined) => toToolParameters(written).schema;

describe("parameters of a tool", () => {
  test("nothing and {} are an object without properties", () => {
    for (const written of [undefined, null, {}]) {
      expect(schemaOf(written)).toEqual({ type: "object", properties: {}, required: [] });
    }
  });

  test("a JSON Schema is taken as it is, with what it says besides", () => {
    const written = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    };
    expect(schemaOf(written)).toEqual(written);
    expect(schemaOf({ properties: { a: { type: "string" } } })).toEqual({
      type: "object",
      properties: { a: { type: "string" } },
    });
    expect(schemaOf({ anyOf: [{ required: ["a"] }] })).toMatchObject({ type: "object", anyOf: [{ required: ["a"] }] });
  });

  test("in a flat map an argument is required unless it says otherwise or has a default", () => {
    const { schema } = toToolParameters({
      a: { type: "string", description: "A" },
      b: { type: "number", required: false },
      c: { type: "number", default: 3 },
      d: { type: "boolean", required: true, default: true },
      e: { type: "string", optional: true },
    });
    expect(schema).toMatchObject({ type: "object", required: ["a", "d"] });
    expect(schema.properties).toMatchObject({
      a: { type: "string", description: "A" },
      c: { type: "number", default: 3 },
    });
    expect(JSON.stringify(schema.properties)).not.toMatch(/required|optional/);
  });

  test("arguments may be called type, properties and __proto__", () => {
    const written = JSON.parse(
      '{"type":{"type":"string"},"properties":{"type":"array","items":{"type":"string"}},"__proto__":{"type":"string"}}',
    );
    const { properties, required } = schemaOf(written);
    expect(required).toEqual(["type", "properties", "__proto__"]);
    expect(Object.keys(properties as object)).toEqual(["type", "properties", "__proto__"]);
  });

  test("shorthands and other languages' type names are understood; the latter are reported", () => {
    const { schema, problems } = toToolParameters({ a: "integer", b: "What to look for", c: { type: "str" }, d: null });
    expect(schema.properties).toEqual({
      a: { type: "integer" },
      b: { type: "string", description: "What to look for" },
      c: { type: "string" },
      d: { type: "string" },
    });
    expect(problems).toHaveLength(1);
  });

  test("a list of arguments is understood and reported", () => {
    const { schema, problems } = toToolParameters([{ name: "a", type: "string" }, "b"]);
    expect(schema).toEqual({ type: "object", properties: { a: { type: "string" } }, required: ["a"] });
    expect(problems).toHaveLength(1);
  });

  test("any flat map of typed arguments gives a schema that a validator takes and that accepts its own required arguments", () => {
    const validator = new Ajv({ strict: false });
    const property = fc.record(
      { type: fc.constantFrom("string", "str", "text"), description: fc.string() },
      { requiredKeys: ["type"] },
    );
    const flat = fc.dictionary(fc.string({ minLength: 1 }), fc.oneof(property, fc.constant("string"), fc.string()));
    fc.assert(
      fc.property(flat, (written) => {
        const { schema } = toToolParameters(written as Json);
        expect(schema.type).toBe("object");
        const call = Object.fromEntries((schema.required as string[]).map((name) => [name, "x"]));
        const isTyped = Object.values(schema.properties as object).every(({ type }) => type === "string");
        if (isTyped) expect(validator.validate(schema, call)).toBe(true);
      }),
    );
  });

  test("any JSON gives an object schema", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (written) => {
        const { schema } = toToolParameters(written as Json);
        expect(schema.type).toBe("object");
        expect(typeof schema.properties).toBe("object");
      }),
    );
  });
});
