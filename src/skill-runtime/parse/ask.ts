/** Reads `ask:` of a tool: how a card says what a call will do. */
import { isJsonObject } from "../../lib/json.ts";
import { parseAskTemplate } from "../../lib/text/ask-template.ts";
import type { Json } from "../../ports/message.ts";
import type { JsonSchema, ToolSpec } from "../../ports/tool.ts";
import type { Notes } from "./diagnostics.ts";

/** A template that would say something wrong is left out: the card then says `Use` and the tool's name. */
export function askOf(
  written: Json | undefined,
  schema: JsonSchema,
  tool: string,
  line: number,
  notes: Notes,
): Pick<ToolSpec, "ask"> {
  if (written === undefined) return {};
  const problem = problemWith(written, schema);
  if (problem === undefined) return { ask: String(written).trim().replace(/\s+/g, " ") };
  notes.warn(line, "tool-ask", `tool ${tool}: ask was ignored: it ${problem}`);
  return {};
}

function problemWith(written: Json, schema: JsonSchema): string | undefined {
  if (typeof written !== "string") return 'must be a text, such as "Post to {channel}: {text}"';
  const template = parseAskTemplate(written);
  if (template.type === "problem") return template.problem;
  for (const piece of template.pieces) {
    if (piece.type === "value" && !hasArgument(schema, piece.path))
      return `names an unknown argument: {${piece.path.join(".")}}`;
  }
  return undefined;
}

/** A schema that does not list its properties may have any, unless it describes a plain value. */
function hasArgument(schema: JsonSchema, [key, ...rest]: readonly string[]): boolean {
  const { properties, type } = schema;
  if (key === undefined) return true;
  if (!isJsonObject(properties)) return typeof type !== "string" || type === "object" || type === "array";
  const inner = Object.hasOwn(properties, key) ? properties[key] : undefined;
  return inner === true || (isJsonObject(inner) && hasArgument(inner, rest));
}
