/** Reads the words that say what a tool is doing and has done: `doing`, `done` and `many` in its block. */
import type { JsonObject } from "../../ports/message.ts";
import type { JsonSchema, ToolPhrases } from "../../ports/tool.ts";
import type { Notes } from "./diagnostics.ts";
import { withoutUnseen } from "./text.ts";

const maxPhraseLength = 80;
const keys = ["doing", "done", "many"] as const;

/** Undefined unless all three are there and valid, because a line mixes them. */
export function readPhrases(
  written: JsonObject,
  name: string,
  parameters: JsonSchema,
  line: number,
  notes: Notes,
): ToolPhrases | undefined {
  if (keys.every((key) => written[key] === undefined)) return undefined;
  const { properties = {} } = parameters as { properties?: object };
  const phrases: Partial<ToolPhrases> = {};
  for (const key of keys) {
    const known = new Set(key === "many" ? ["count"] : Object.keys(properties));
    const problem = problemOf(written[key], known);
    if (problem === undefined) phrases[key] = withoutUnseen(String(written[key])).trim();
    else notes.warn(line, "tool-phrase", `tool ${name}: doing, done and many were ignored: ${key} ${problem}`);
  }
  const { doing, done, many } = phrases;
  return doing === undefined || done === undefined || many === undefined ? undefined : { doing, done, many };
}

function problemOf(value: unknown, known: ReadonlySet<string>): string | undefined {
  if (typeof value !== "string" || value.trim() === "") return "is missing; write all three";
  if (value.length > maxPhraseLength || value.includes("\n"))
    return `must be one line of at most ${maxPhraseLength} characters`;
  const unknown = [...value.matchAll(/\{([^{}]*)\}/g)].map(([, key = ""]) => key).filter((key) => !known.has(key));
  const [first] = unknown;
  return first === undefined
    ? undefined
    : `names {${first}}; it can name ${[...known].map((key) => `{${key}}`).join(", ") || "nothing"}`;
}
