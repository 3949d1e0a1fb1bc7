/** Says in plain words what a tool does, from its SKILL.md: "Reading notes.md", "Read 3 files". */
import { oneLine } from "../../lib/text/sanitize.ts";
import type { JsonObject } from "../../ports/message.ts";
import type { ToolSpec } from "../../ports/tool.ts";

const maxNameCharacters = 64;
const maxValueCharacters = 60;

export function toolPhrase(
  name: string,
  input: JsonObject,
  spec: ToolSpec | undefined,
  tense: "running" | "done",
  shown: (value: string) => string = (value) => value,
): string {
  const phrase = tense === "running" ? spec?.phrases?.doing : spec?.phrases?.done;
  if (phrase === undefined) return `${tense === "running" ? "Running" : "Ran"} ${plainValue(name, maxNameCharacters)}`;
  return phrase.replace(/\{([^{}]*)\}/g, (_whole, key: string) => shown(valueText(input, key)));
}

export function manyText(name: string, spec: ToolSpec | undefined, count: number): string {
  return (
    spec?.phrases?.many.replaceAll("{count}", `${count}`) ?? `Ran ${plainValue(name, maxNameCharacters)} ${count} times`
  );
}

/** Untrusted text as part of a progress line. It can't look like another part of the line. */
export function plainValue(text: string, maxCharacters: number): string {
  return oneLine(text.replace(/[·•‧∙⋅・]/gu, "-"), maxCharacters);
}

function valueText(input: JsonObject, key: string): string {
  const value = Object.hasOwn(input, key) ? input[key] : undefined;
  const text = typeof value === "string" ? plainValue(value, maxValueCharacters) : "";
  if (typeof value === "number") return `${value}`;
  return text === "" ? "…" : text;
}
