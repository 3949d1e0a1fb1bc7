/**
 * Reads one call of a model: finds the tool, and checks the arguments against its schema, as they are or as they are meant
 * (as-meant.ts). Whatever follows, from the gate to the audit log, sees only the call that this returns.
 *
 * A call without arguments, or with `null`, runs with `{}` only if the tool requires none.
 */
import { isJsonObject, parseJson } from "../lib/json.ts";
import { type NumberTexts, parseLooseJson } from "../lib/loose-json.ts";
import { describeTool } from "../lib/text/describe-tool.ts";
import type { JsonObject } from "../ports/message.ts";
import type { ModelToolCall } from "../ports/provider.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { offerOf, useToolName } from "../ports/tool-offer.ts";
import type { ParsedCall } from "../ports/turn.ts";
import { createSchemaChecker } from "./schema-check.ts";
import { meantTool, shownName, unknownToolProblem } from "./tool-names.ts";
import { type WantedCall, wantedCall } from "./wanted-call.ts";

/** Shared by all turns, because each entry depends only on its schema. */
const checker = createSchemaChecker();

/** No tool needs more than a few. */
const maxNesting = 200;

const useToolProblem = `Not run: ${useToolName} needs {"name": the tool, "input": {what the tool takes}}. Call it again like that.`;

/** The last call of a truncated answer never runs, because a service may have closed its unfinished arguments. */
export function cutCall(written: ModelToolCall, tools: readonly ToolSpec[]): ParsedCall {
  const raw = rawOf(written, wantedCall(written, tools, new WeakMap()));
  const problem = `Not run: your answer reached the output limit while you wrote the arguments of ${shownName(raw.name)}. Call it again with shorter arguments, in several steps if necessary.`;
  return { raw, problem };
}

/** What is kept instead of a call of `use_tool`, so that nothing else sees it. */
function rawOf(written: ModelToolCall, wanted: WantedCall | undefined): ModelToolCall {
  if (wanted === undefined) return written;
  const { name, given } = wanted;
  return { ...written, name, inputJson: "text" in given ? given.text : JSON.stringify(given.value) };
}

export async function readCall(written: ModelToolCall, tools: readonly ToolSpec[]): Promise<ParsedCall> {
  if (isTooDeep({ text: written.inputJson })) return tooDeep(written);
  const numbers: NumberTexts = new WeakMap();
  const wanted = wantedCall(written, tools, numbers);
  if (wanted === undefined) return { raw: written, problem: useToolProblem };
  if (isTooDeep(wanted.given)) return tooDeep(written);
  const meant = meantTool(wanted.name, tools);
  if (meant === undefined) return { raw: rawOf(written, wanted), problem: unknownToolProblem(wanted.name, tools) };
  const { tool, isAlias } = meant;
  const { name } = tool;
  const raw = rawOf(written, { ...wanted, name });
  const read = await readInput(tool, wanted.given, numbers);
  if (read.type === "fits") {
    const { input } = read;
    return {
      raw: read.isAsWritten ? raw : { ...raw, inputJson: JSON.stringify(input) },
      call: { id: raw.id, name, input },
    };
  }
  const problem = `Not run: ${isAlias ? `there is no tool ${shownName(wanted.name)}; ${name} does the same, but ` : ""}${read.problem}`;
  // The model may not have seen what the tool takes.
  const isUnseen = isAlias || offerOf(tools).named.includes(tool);
  return { raw, problem: isUnseen ? `${problem}\n\n${describeTool(tool)}` : problem };
}

/** Without the arguments, which nothing that reads or writes JSON can take. */
function tooDeep(written: ModelToolCall): ParsedCall {
  const problem = `Not run: the arguments of ${shownName(written.name)} are objects or lists within each other, more than ${maxNesting} deep. Call it again with simple arguments.`;
  return { raw: { ...written, inputJson: "{}" }, problem };
}

/** Brackets in a text that is no whole JSON count, too. */
function isTooDeep(given: WantedCall["given"]): boolean {
  if ("value" in given) {
    let level: unknown[] = [given.value];
    for (let depth = 0; level.length > 0; depth += 1) {
      if (depth > maxNesting) return true;
      level = level.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []));
    }
    return false;
  }
  let depth = 0;
  for (const [mark] of given.text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]/g)) {
    if (mark === "{" || mark === "[") depth += 1;
    else if (mark === "}" || mark === "]") depth -= 1;
    if (depth > maxNesting) return true;
  }
  return false;
}

type ReadInput = { type: "fits"; input: JsonObject; isAsWritten: boolean } | { type: "breaks"; problem: string };

async function readInput(tool: ToolSpec, given: WantedCall["given"], numbers: NumberTexts): Promise<ReadInput> {
  const written = givenValue(given, (text) => parseJson(text));
  if (isJsonObject(written)) {
    const check = await checker.check(tool.parameters, written);
    if (check.type === "fits") return { type: "fits", input: written, isAsWritten: true };
    if (check.type === "bad-schema") return breaks(schemaProblem(tool, check.reason));
  }
  const value = givenValue(given, (text) => parseLooseJson(text, numbers));
  const [first, ...others] = Array.isArray(value) ? value : [value];
  if (!isJsonObject(first) || others.length > 0) return breaks(jsonProblem(tool, given, value));
  // Only calls that break their schema need it.
  const { fitAsMeant } = await import("./as-meant.ts");
  const fitted = await fitAsMeant(tool, first, numbers, checker);
  if (fitted.type === "fits") return { type: "fits", input: fitted.input, isAsWritten: false };
  return breaks(
    `the arguments of ${tool.name} don't fit its schema: ${fitted.reasons.join("; ")}. Call it again with arguments that fit.`,
  );
}

function breaks(problem: string): ReadInput {
  return { type: "breaks", problem };
}

function givenValue(given: WantedCall["given"], parse: (text: string) => unknown): unknown {
  if ("value" in given) return given.value ?? {};
  const text = given.text.trim();
  return ["", "null", "None"].includes(text) ? {} : parse(text);
}

function schemaProblem({ name, skill }: ToolSpec, reason: string): string {
  return `${name} can't be used, because the skill ${skill} has no valid JSON Schema for its arguments (${reason}). Tell the person that this skill needs fixing, and don't call ${name} again.`;
}

function jsonProblem({ name }: ToolSpec, given: WantedCall["given"], value: unknown): string {
  const why = value === undefined && "text" in given ? jsonErrorOf(given.text) : undefined;
  if (why !== undefined)
    return `the arguments of ${name} are not valid JSON (${why}). Call it again with one complete JSON object.`;
  return `the arguments of ${name} must be one JSON object, not ${kindOf(value)}. Call it again with an object.`;
}

/** Undefined for a JSON string, whose text is no JSON. */
function jsonErrorOf(text: string): string | undefined {
  try {
    JSON.parse(text.trim());
    return undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : "it can't be parsed";
  }
}

function kindOf(value: unknown): string {
  if (value === undefined) return "a string";
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}
