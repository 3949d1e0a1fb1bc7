/** Schemas of tools from public reports (README.md), each with a call that its tool takes, in the words that the model gets. */
import type { JsonObject } from "../../src/ports/message.ts";

export interface SchemaShape {
  what: string;
  source: string;
  schema: JsonObject;
  /** As the model writes it, and as the tool gets it. */
  call: JsonObject;
  gets?: JsonObject;
}

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });
const long = "settings__approved__or__denied__countries__or__regions__approved__list";
const ticket = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };

export const schemaShapes: SchemaShape[] = [
  {
    what: "a list without items",
    source: "https://github.com/agentscope-ai/ReMe/issues/84",
    schema: object({ texts: { type: "array", description: "What to save" } }, { required: ["texts"] }),
    call: { texts: ["a"] },
  },
  {
    what: "a list without items deep in a list of types",
    source: "https://github.com/Automattic/wordpress-mcp/issues/103",
    schema: object({
      meta: { type: "array", items: object({ value: { type: ["string", "number", "array", "null"] } }) },
    }),
    call: { meta: [{ value: "x" }] },
  },
  {
    what: "a type with null beside it",
    source: "https://github.com/n8n-io/n8n/issues/15553",
    schema: object({ title: { type: ["string", "null"] }, rows: { type: ["array", "null"] } }),
    call: { title: "x", rows: null },
  },
  {
    what: "alternatives with null",
    source: "https://github.com/taylorwilsdon/google_workspace_mcp/issues/1099",
    schema: object({
      kind: { const: "insert_text" },
      at: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
    }),
    call: { kind: "insert_text", at: null },
  },
  {
    what: "`nullable` of OpenAPI",
    source: "https://github.com/WordPress/ai-provider-for-google/issues/33",
    schema: object({ value: { type: "number", nullable: true } }),
    call: { value: 3 },
  },
  {
    what: "an empty value among the allowed ones",
    source: "https://github.com/anomalyco/opencode/pull/46676",
    schema: object({ kind: { type: "string", enum: ["", "shell", "prompt", "shell"] } }),
    call: { kind: "shell" },
  },
  {
    what: "allowed values with null, numbers and no type",
    source: "https://github.com/decolua/9router/pull/380",
    schema: object({
      status: { enum: ["open", null] },
      level: { type: "integer", enum: [1, 2] },
      any: { enum: [1, "one"] },
    }),
    call: { status: "open", level: 2, any: "one" },
  },
  {
    what: "names of arguments with brackets, dollars and spaces",
    source: "https://github.com/ComposioHQ/composio/issues/3500",
    schema: object(
      {
        "filter[id]": { type: "string" },
        $top: { type: "integer" },
        "user name": ticket,
        user_name: { type: "string" },
      },
      { required: ["filter[id]"] },
    ),
    call: { filter_id: "7", top: 5, user_name_2: { id: "a" }, user_name: "b" },
    gets: { "filter[id]": "7", $top: 5, "user name": { id: "a" }, user_name: "b" },
  },
  {
    what: "a name of an argument with more than 64 characters, deep inside",
    source: "https://github.com/ComposioHQ/composio/issues/2330",
    schema: object({ rules: { type: "array", items: object({ [long]: { type: "string" } }) } }),
    call: { rules: [{ [long.slice(0, 64)]: "de" }] },
    gets: { rules: [{ [long]: "de" }] },
  },
  {
    what: "a reference to a definition",
    source: "https://github.com/github/copilot-cli/issues/1876",
    schema: object(
      { query_model: { $ref: "#/$defs/Query", description: "What to list" } },
      { required: ["query_model"], $defs: { Query: object({ team_ids: { type: "array", default: null } }) } },
    ),
    call: { query_model: { team_ids: ["a"] } },
  },
  {
    what: "a reference that has itself in it",
    source: "https://github.com/wso2/api-manager/issues/5189",
    schema: object(
      { node: { $ref: "#/definitions/node" } },
      {
        definitions: {
          node: object({
            name: { type: "string" },
            children: { type: "array", items: { $ref: "#/definitions/node" } },
          }),
        },
      },
    ),
    call: { node: { name: "a", children: [{ name: "b" }] } },
  },
  {
    what: "a reference to nowhere",
    source: "https://github.com/gemini-cli-extensions/stitch/issues/13",
    schema: object({ screen: { type: "string", description: "Which" }, other: { $ref: "#/$defs/Gone" } }),
    call: { screen: "a" },
  },
  {
    what: "alternatives at the top",
    source: "https://github.com/anthropics/claude-code/issues/40075",
    schema: {
      oneOf: [
        object({ action: { const: "open" }, path: { type: "string" } }, { required: ["action", "path"] }),
        object({ action: { const: "close" } }, { required: ["action"] }),
      ],
    },
    call: { action: "open", path: "a" },
  },
  {
    what: "parts that all count, at the top",
    source: "https://github.com/anthropics/claude-code/issues/40075",
    schema: {
      allOf: [ticket, object({ note: { type: "string" } })],
      not: { required: ["x"] },
      if: {},
      minProperties: 1,
    },
    call: { id: "a", note: "b" },
  },
  {
    what: "a pattern without ends",
    source: "https://github.com/openclaw/openclaw/issues/113562",
    schema: object({ path: { type: "string", pattern: "\\S", description: "A path" } }),
    call: { path: "a" },
  },
  {
    what: "limits of tens of thousands",
    source: "https://github.com/unslothai/unsloth/pull/7512",
    schema: object({
      text: { type: "string", maxLength: 65_536 },
      list: { type: "array", maxItems: 10_000, items: {} },
    }),
    call: { text: "a", list: [] },
  },
  {
    what: "words that count only for checks",
    source: "https://github.com/fazer-ai/agents/pull/67",
    schema: object(
      {
        n: { type: "number", exclusiveMinimum: 0, multipleOf: 0.5 },
        map: { type: "object", patternProperties: { "^a": {} }, propertyNames: {} },
      },
      {
        additionalProperties: { type: "string" },
        dependentRequired: { n: ["map"] },
        $schema: "http://json-schema.org/draft-07/schema#",
        $id: "x",
      },
    ),
    call: { n: 1.5, map: { a: 1 } },
  },
  {
    what: "a list of kinds by place",
    source: "https://github.com/fazer-ai/agents/pull/67",
    schema: object({
      range: { type: "array", items: [{ type: "string" }, { type: "number" }] },
      pair: { prefixItems: [{ type: "string" }] },
    }),
    call: { range: ["a", 1], pair: ["x"] },
  },
  {
    what: "true and false in place of schemas, and what is required as an object",
    source: "https://github.com/leonardcser/smelt/issues/26",
    schema: object({ any: true, never: false, list: { type: "array", items: true } }, { required: {} }),
    call: { any: "1", list: ["1"] },
  },
  {
    what: "properties that are a list, as PHP writes none",
    source: "https://github.com/ollama/ollama/issues/10328",
    schema: { type: "object", properties: [], required: [] },
    call: {},
  },
  {
    what: "no type anywhere, and a name that is required and not there",
    source: "https://github.com/0xPlaygrounds/rig/pull/1763",
    schema: {
      properties: { place: { description: "Where" }, inner: { properties: { a: { items: {} } } } },
      required: ["place", "gone"],
    },
    call: { place: "here" },
  },
  {
    what: "thirty levels",
    source: "https://github.com/voocel/litellm/issues/9",
    schema: Array.from({ length: 30 }).reduce<JsonObject>((inner) => object({ down: inner }), { type: "string" }),
    call: {},
  },
];
