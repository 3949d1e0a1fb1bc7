/**
 * Reads one model answer. Passes on its cleaned text while it arrives, each time all text so far. Uses no tool call
 * before the answer has ended properly; each call then gets an id unique in its turn and is checked against its tool's
 * schema.
 *
 * An unusable call becomes a problem, which the model reads instead of a result. Arguments are never guessed; a call
 * without arguments, or with `null`, runs with `{}` only if the tool requires none.
 * Brain name: wernicke.
 */
import { RemoraError } from "../lib/errors.ts";
import { isJsonObject, parseJson } from "../lib/json.ts";
import { describeTool } from "../lib/text/describe-tool.ts";
import type { JsonObject } from "../ports/message.ts";
import type { ModelEvent, ModelToolCall } from "../ports/provider.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { callToolName, nameInPrompts, offerOf } from "../ports/tool-offer.ts";
import type { BrokenText, ParsedCall, ReadAnswer } from "../ports/turn.ts";
import type { ReadModel } from "../ports/turn-deps.ts";
import { uniqueCallId } from "./call-ids.ts";
import { createTextCleaner } from "./clean-text.ts";
import { createSchemaChecker } from "./schema-check.ts";

/** Shared by all turns, because each entry depends only on its schema. */
const checker = createSchemaChecker();

export const readModel: ReadModel = async (events, tools, usedCallIds, { onText, onNotice }) => {
  const began = performance.now();
  const elapsed = () => Math.round(performance.now() - began);
  let cleaner = createTextCleaner();
  const raws: ModelToolCall[] = [];
  const broken: BrokenText[] = [];
  let hasRetracted = false;
  let firstTokenMs: number | undefined;
  for await (const event of events) {
    switch (event.type) {
      case "notice":
        onNotice?.(event.text);
        break;
      case "text-delta":
        firstTokenMs ??= elapsed();
        if (cleaner.add(event.text)) onText(cleaner.text());
        break;
      case "tool-call":
        firstTokenMs ??= elapsed();
        raws.push({ id: event.id, name: event.name, inputJson: event.inputJson });
        break;
      case "retract":
        hasRetracted = true;
        cleaner = createTextCleaner();
        break;
      case "restart":
        // People keep the old text until the new one replaces it.
        broken.push({
          ...{ model: event.model, text: cleaner.text() },
          ...(event.usage === undefined ? {} : { usage: event.usage }),
        });
        cleaner = createTextCleaner();
        raws.length = 0;
        break;
      case "end": {
        if (broken.length > 0 || hasRetracted) onText(cleaner.text());
        const calls = await parseAll(raws, tools, usedCallIds, event.stop === "max-tokens");
        return answered(event, { text: cleaner.text(), broken, calls, firstTokenMs: firstTokenMs ?? elapsed() });
      }
      case "error":
        return { type: "failed", text: cleaner.text(), broken, error: event.error };
      default:
        event satisfies never;
    }
  }
  return { type: "failed", text: cleaner.text(), broken, error: endless() };
};

function answered(
  { type: _end, ...end }: Extract<ModelEvent, { type: "end" }>,
  read: { text: string; broken: BrokenText[]; calls: ParsedCall[]; firstTokenMs: number },
): ReadAnswer {
  return { type: "answer", ...read, ...end };
}

function endless(): RemoraError {
  return new RemoraError({
    code: "provider.cut",
    place: "response",
    message: "the answer stopped before its end; try again",
    isRetryable: true,
  });
}

/** `isCut` means that the answer reached the output limit, perhaps in the middle of a call's arguments. */
async function parseAll(
  raws: ModelToolCall[],
  tools: ToolSpec[],
  usedCallIds: ReadonlySet<string>,
  isCut: boolean,
): Promise<ParsedCall[]> {
  const taken = new Set(usedCallIds);
  const parsed: ParsedCall[] = [];
  for (const [index, wanted] of raws.entries()) {
    const raw = { ...namedCall(wanted), id: uniqueCallId(wanted.id, taken) };
    taken.add(raw.id);
    const isLastOfCut = isCut && index === raws.length - 1;
    const input = isLastOfCut ? cutProblem(raw) : await inputOf(raw, tools);
    parsed.push(
      typeof input === "string" ? { raw, problem: input } : { raw, call: { id: raw.id, name: raw.name, input } },
    );
  }
  return parsed;
}

/** Replaces a call of `call_tool` by the call that it stands for, so that nothing else sees the wrapper. */
function namedCall(wanted: ModelToolCall): ModelToolCall {
  if (wanted.name !== callToolName) return wanted;
  const { name, input = {}, ...others } = objectIn(wanted.inputJson) ?? {};
  if (typeof name !== "string" || Object.keys(others).length > 0) return wanted;
  // Some models write the inner arguments as text.
  return { ...wanted, name, inputJson: typeof input === "string" ? input : JSON.stringify(input) };
}

function objectIn(json: string): JsonObject | undefined {
  const value = parseJson(json);
  return isJsonObject(value) ? value : undefined;
}

/** The last call of a truncated answer never runs, because a service may have closed its unfinished arguments. */
function cutProblem(raw: ModelToolCall): string {
  return `Not run: your answer reached the output limit while you wrote the arguments of ${shown(raw.name)}. Call it again with shorter arguments, in several steps if necessary.`;
}

async function inputOf(raw: ModelToolCall, tools: ToolSpec[]): Promise<JsonObject | string> {
  const tool = tools.find((known) => known.name === raw.name);
  if (tool === undefined) return raw.name === callToolName ? callToolProblem : unknownToolProblem(raw.name, tools);
  const input = await checkedInput(raw, tool);
  if (typeof input !== "string" || !offerOf(tools).named.includes(tool)) return input;
  // The model may not have seen what the tool takes.
  return `${input}\n\n${describeTool(tool)}`;
}

const callToolProblem = `Not run: ${callToolName} needs {"name": the tool, "input": {what the tool takes}}. Call it again like that.`;

async function checkedInput(raw: ModelToolCall, tool: ToolSpec): Promise<JsonObject | string> {
  let input: unknown;
  try {
    const text = raw.inputJson.trim();
    input = text === "" || text === "null" ? {} : JSON.parse(text);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : "it can't be parsed";
    return `Not run: the arguments of ${tool.name} are not valid JSON (${why}). Call it again with one complete JSON object.`;
  }
  if (!isJsonObject(input)) {
    return `Not run: the arguments of ${tool.name} must be one JSON object, not ${kindOf(input)}. Call it again with an object.`;
  }
  const check = await checker.check(tool.parameters, input);
  switch (check.type) {
    case "fits":
      return input;
    case "breaks":
      return `Not run: the arguments of ${tool.name} don't fit its schema: ${check.reasons.join("; ")}. Call it again with arguments that fit.`;
    case "bad-schema":
      return `Not run: ${tool.name} can't be used, because the skill ${tool.skill} has no valid JSON Schema for its arguments (${check.reason}). Tell the person that this skill needs fixing, and don't call ${tool.name} again.`;
    default:
      return check satisfies never;
  }
}

function unknownToolProblem(name: string, tools: ToolSpec[]): string {
  const names = [...new Set(tools.map(nameInPrompts))].join(", ");
  return `Not run: there is no tool ${shown(name)}. ${names === "" ? "No tools can be used now; answer in text." : `The tools are: ${names}.`}`;
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}
