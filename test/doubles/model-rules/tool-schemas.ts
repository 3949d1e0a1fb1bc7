/** What services refuse in the definition of a tool, each with the public page that says so. Read on 2026-11-28. */
import type { ModelCall, ModelRule, Refusal } from "./rule.ts";

type Schema = Record<string, unknown>;

interface Part {
  schema: Schema;
  /** The names and numbers on the way to it. */
  path: (string | number)[];
}

export interface SentTool {
  name: string;
  parameters: Schema;
}

const read = "2026-11-28";

/** A schema and all that are in it. */
function partsOf(schema: unknown, path: (string | number)[] = []): Part[] {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return [];
  const part = schema as Schema;
  const maps = ["properties", "$defs", "definitions"].flatMap((word) =>
    Object.entries(Object(part[word])).flatMap(([name, inner]) => partsOf(inner, [...path, word, name])),
  );
  const lists = ["anyOf", "oneOf", "allOf", "prefixItems"].flatMap((word) =>
    [part[word] ?? []].flat().flatMap((inner, index) => partsOf(inner, [...path, word, index])),
  );
  return [{ schema: part, path }, ...maps, ...lists, ...partsOf(part.items, [...path, "items"])];
}

function isList({ type }: Schema): boolean {
  return [type].flat().includes("array");
}

type Find = (tool: SentTool, part: Part) => string | undefined;
type Refuse = (text: string, tool: SentTool, index: number) => Refusal;

function rule(
  says: string,
  source: string,
  toolsOf: (call: ModelCall) => SentTool[],
  refuse: Refuse,
  find: Find,
): ModelRule {
  return {
    ...{ says, source, read },
    refuse(call) {
      for (const [index, tool] of toolsOf(call).entries()) {
        for (const part of partsOf(tool.parameters)) {
          const text = find(tool, part);
          if (text !== undefined) return refuse(text, tool, index);
        }
      }
      return undefined;
    },
  };
}

export function openAiSchemaRules(toolsOf: (call: ModelCall) => SentTool[], refuse: Refuse): ModelRule[] {
  return [
    rule(
      "a list in a tool's schema says what is in it",
      "https://github.com/Automattic/wordpress-mcp/issues/103",
      toolsOf,
      refuse,
      ({ name }, { schema, path }) =>
        isList(schema) && schema.items === undefined
          ? `Invalid schema for function '${name}': In context=(${path.map((one) => `'${one}'`).join(", ")}), array schema missing items.`
          : undefined,
    ),
    rule(
      "alternatives do not stand at the top of a tool's schema",
      "https://github.com/anthropics/claude-code/issues/40075",
      toolsOf,
      refuse,
      ({ name }, { schema, path }) =>
        path.length === 0 && ["anyOf", "oneOf", "allOf", "enum", "not"].some((word) => word in schema)
          ? `Invalid schema for function '${name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`
          : undefined,
    ),
  ];
}

export function anthropicSchemaRules(toolsOf: (call: ModelCall) => SentTool[], refuse: Refuse): ModelRule[] {
  return [
    rule(
      "the names of a tool's arguments have up to 64 letters, digits, dots and dashes",
      "https://github.com/beautyfree/appstore-connect-mcp/issues/2",
      toolsOf,
      refuse,
      (_tool, { schema }) =>
        Object.keys(Object(schema.properties)).some((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
          ? "input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
          : undefined,
    ),
  ];
}

const googleWords = new Set([
  ...["type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties"],
  ...["required", "anyOf", "minimum", "maximum", "minLength", "maxLength", "pattern", "example", "default"],
  ...["propertyOrdering", "minProperties", "maxProperties"],
]);

export function googleSchemaRules(toolsOf: (call: ModelCall) => SentTool[], refuse: Refuse): ModelRule[] {
  const google = (says: string, source: string, find: Find) => rule(says, source, toolsOf, refuse, find);
  return [
    google("Gemini's schemas have one type", "https://github.com/aoci-spec/aoci-code/issues/61", (_tool, { schema }) =>
      Array.isArray(schema.type) ? `Unknown name "type": Proto field is not repeating, cannot start list.` : undefined,
    ),
    google(
      "a list in Gemini's schemas says what is in it",
      "https://github.com/NousResearch/hermes-agent/issues/77617",
      (_tool, { schema, path }) =>
        isList(schema) && schema.items === undefined ? `parameters.${path.join(".")}.items: missing field.` : undefined,
    ),
    google(
      "Gemini's enums are of words, and none is empty",
      "https://github.com/router-for-me/CLIProxyAPI/pull/4688",
      (_tool, { schema }) => {
        if (!Array.isArray(schema.enum)) return undefined;
        if (schema.type !== "string") return "enum: only allowed for STRING type";
        const at = schema.enum.findIndex((value) => typeof value !== "string" || value === "");
        return at === -1 ? undefined : `enum[${at}]: cannot be empty`;
      },
    ),
    google(
      "Gemini's schemas know few words",
      "https://github.com/taylorwilsdon/google_workspace_mcp/issues/1099",
      (_tool, { schema }) => {
        const odd = Object.keys(schema).find((word) => !googleWords.has(word));
        return odd === undefined ? undefined : `Unknown name "${odd}": Cannot find field.`;
      },
    ),
  ];
}

export function llamaSchemaRules(toolsOf: (call: ModelCall) => SentTool[], refuse: Refuse): ModelRule[] {
  return [
    rule(
      "a pattern in llama.cpp begins with ^ and ends with $",
      "https://github.com/ggml-org/llama.cpp/issues/26930",
      toolsOf,
      refuse,
      (_tool, { schema }) =>
        typeof schema.pattern === "string" && !/^\^.*\$$/s.test(schema.pattern)
          ? "JSON schema conversion failed:\nPattern must start with '^' and end with '$'"
          : undefined,
    ),
    rule(
      "limits in llama.cpp are small",
      "https://github.com/unslothai/unsloth/pull/7512",
      toolsOf,
      refuse,
      (_tool, { schema }) =>
        [schema.maxLength, schema.maxItems, schema.minLength, schema.minItems].some((limit) => Number(limit) > 2_000)
          ? "failed to parse grammar: number of repetitions exceeds sane defaults"
          : undefined,
    ),
    rule(
      "references of a tool's schema can be followed",
      "https://github.com/CommandCodeAI/command-code/issues/566",
      toolsOf,
      refuse,
      (_tool, { schema }) =>
        schema.$ref === undefined ? undefined : `JSON schema conversion failed:\nUnresolved $ref ${schema.$ref}`,
    ),
  ];
}

export function ollamaSchemaRules(toolsOf: (call: ModelCall) => SentTool[], refuse: Refuse): ModelRule[] {
  return [
    rule(
      "older Ollama reads one type",
      "https://github.com/ollama/ollama/issues/10328",
      toolsOf,
      refuse,
      (_tool, { schema }) =>
        Array.isArray(schema.type)
          ? "json: cannot unmarshal array into Go struct field .tools.function.parameters.properties.type of type string"
          : undefined,
    ),
    rule(
      "Ollama reads what is required as a list, and properties as a map",
      "https://github.com/leonardcser/smelt/issues/26",
      toolsOf,
      refuse,
      (_tool, { schema }) =>
        Array.isArray(schema.properties) || (schema.required !== undefined && !Array.isArray(schema.required))
          ? "json: cannot unmarshal object into Go struct field ToolFunctionParameters.tools.function.parameters.required of type []string"
          : undefined,
    ),
  ];
}
