/** What public reports of other projects say that models and their services send, by kind (README.md, "Models"). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fitSchema } from "../../src/providers/fit-schema.ts";
import { createSchemaChecker } from "../../src/response/schema-check.ts";
import { refusalOf } from "../doubles/model-rules/rule.ts";
import { rulesOfServices } from "../doubles/model-rules/services.ts";
import type { FieldShape } from "../providers/field-shapes/shape.ts";
import { checkShape, startWire, type Wire } from "../providers/field-shapes/wire.ts";
import { callShapes, endShapes, refusedShapes, textShapes, thinkingShapes } from "./model-streams.ts";
import { schemaShapes } from "./tool-schemas.ts";

let wire: Wire;
beforeAll(async () => {
  wire = await startWire();
});
afterAll(() => wire.close());

const streams: Record<string, FieldShape[]> = { callShapes, textShapes, thinkingShapes, endShapes, refusedShapes };

describe.each(Object.keys(streams))("%s", (kind) => {
  for (const shape of streams[kind] ?? [])
    test(shape.title, async () => {
      await checkShape(shape, await wire.ask(shape));
    });
});

const services = {
  ...{ anthropic: "claude-sonnet-5-5", openai: "gpt-5.4-mini", ollama: "qwen3:8b", llamaCpp: "qwen3-8b" },
  gemini: "gemini-3.5-flash",
} as const;

/** The first thing that a service's rules have against the definition of a tool. */
function refusedBy(service: keyof typeof services, schema: object): string | undefined {
  const tool = { name: "odd", description: "Odd.", parameters: schema };
  const tools =
    service === "anthropic" ? [{ name: "odd", input_schema: schema }] : [{ type: "function", function: tool }];
  const rules = rulesOfServices[service].filter(({ says }) =>
    /tool's schema|tool's arguments|Gemini's|llama.cpp |Ollama reads/.test(says),
  );
  expect(rules.length).toBeGreaterThan(1);
  const call = { path: "/", headers: {}, body: { model: services[service], tools }, answers: [], asked: [] };
  const refusal = refusalOf(rules, call);
  return refusal === undefined ? undefined : JSON.stringify(refusal.body);
}

describe.each(Object.keys(services) as (keyof typeof services)[])("a tool's schema for %s", (service) => {
  test.each(schemaShapes)(
    "is taken with $what, and a call reaches the tool as it has it",
    async ({ schema, call, gets }) => {
      const fitted = fitSchema(schema, { isGoogle: service === "gemini" });
      expect(refusedBy(service, fitted.schema)).toBeUndefined();
      expect(JSON.parse(fitted.restore(JSON.stringify(call)))).toEqual(gets ?? call);
      const checked = await createSchemaChecker().check(fitted.schema, call);
      expect(checked, JSON.stringify([fitted.schema, checked])).toMatchObject({ type: "fits" });
    },
  );
});

test("each odd schema is refused by some service as its server writes it, or was", () => {
  const refused = schemaShapes.filter(({ schema }) =>
    (Object.keys(services) as (keyof typeof services)[]).some((service) => refusedBy(service, schema) !== undefined),
  );
  expect(refused.length).toBeGreaterThan(15);
});

test("a schema that every service takes is sent as it is", () => {
  const schema = {
    type: "object",
    properties: {
      path: { type: "string", description: "Where", minLength: 2 },
      kind: { type: "string", enum: ["a", "b"], default: "a" },
      list: { type: "array", items: { type: "integer", minimum: 1 } },
      more: { type: "object", properties: { at: { type: "string", format: "date-time" } }, required: ["at"] },
    },
    required: ["path"],
    additionalProperties: false,
  };
  expect(fitSchema(schema, { isGoogle: false }).schema).toEqual(schema);
});

test("every report of models names its public page", () => {
  const sources = [
    ...Object.values(streams).flat(),
    ...schemaShapes.map(({ what, source }) => ({ title: what, source })),
  ];
  for (const { title, source } of sources) expect(source, title).toMatch(/^https:\/\/\S+\/\S+$/);
});
