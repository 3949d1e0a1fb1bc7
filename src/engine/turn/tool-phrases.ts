/** Says in plain words what a tool does. Arguments come from the model, so they are shortened and put on one line. */
import { oneLine } from "../../lib/text/sanitize.ts";
import type { JsonObject } from "../../ports/message.ts";
import type { ToolSpec } from "../../ports/tool.ts";

const maxNameCharacters = 64;

export function toolPhrase(
  name: string,
  _input: JsonObject,
  _spec: ToolSpec | undefined,
  tense: "running" | "done",
): string {
  return `${tense === "running" ? "Running" : "Ran"} ${oneLine(name, maxNameCharacters)}`;
}

export function manyText(name: string, _spec: ToolSpec | undefined, count: number): string {
  return `Ran ${oneLine(name, maxNameCharacters)} ${count} times`;
}
