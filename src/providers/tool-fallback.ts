/**
 * Sends each tool in a form that services take (fit-schema.ts), and goes on without tools that a service refuses all the same:
 *
 *   1. leave out those that the refusal names, by name or by place
 *   2. if it names none, send all in their plainest form
 *   3. if that is refused, too, leave out those from MCP servers and other people's skills
 *
 * If only one of those left out is to blame, later steps let half of them in again, until it is found. The outcome is remembered for
 * the model for an hour. The model reads which tools it can't use; owners read it in the log, `doctor` and Health.
 */
import { createHash } from "node:crypto";
import type { RemoraError } from "../lib/errors.ts";
import type { ModelEvent, ModelRequest, ProviderAdvice } from "../ports/provider.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { serviceRefusalIn } from "./classify-failure.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import { type FittedSchema, fitSchema, plainSchema } from "./fit-schema.ts";

type Ask = (request: ModelRequest) => AsyncIterable<ModelEvent>;

export interface ToolFallback {
  stream(place: ProviderPlace, request: ModelRequest, ask: Ask): AsyncGenerator<ModelEvent>;
  /** `name`: the provider's. */
  advice(name: string): ProviderAdvice[];
}

/** A tool as it is sent. `key` changes with its definition, which may be better by then. */
interface Sent extends FittedSchema {
  spec: ToolSpec;
  key: string;
}

interface Plan {
  isPlain: boolean;
  /** Each of them has a tool in it that is refused; of one with a single tool, it is known which. */
  groups: readonly (readonly Sent[])[];
}

const everything: Plan = { isPlain: false, groups: [] };
/** Beside what other parts try. A step in which a half comes in again needs two. */
const maxRefusals = 6;
/** Then all tools are tried again, because the operator may have changed what serves the model. */
const learnedMs = 3_600_000;
const maxModels = 200;

export function createToolFallback(now: () => number = Date.now): ToolFallback {
  const learned = new Map<string, { plan: Plan; until: number }>();

  function planOf(model: string): Plan {
    const known = learned.get(model);
    return known !== undefined && known.until > now() ? known.plan : everything;
  }

  function learn(model: string, plan: Plan): void {
    if (plan === planOf(model)) return;
    if (learned.size >= maxModels) learned.clear();
    // What is narrowed down does not stay longer for that.
    const until = learned.get(model)?.until ?? 0;
    learned.set(model, { plan, until: until > now() ? until : now() + learnedMs });
  }

  return {
    async *stream(place, request, ask) {
      const all = sentTools(request, /gemini|gemma|googleapis/i.test(`${place.model} ${place.baseUrl}`));
      if (all.length === 0) return yield* ask(request);
      const { tries = { left: Number.POSITIVE_INFINITY } } = request;
      const known = planOf(place.model);
      const waiting = [...narrower(known), known];
      let first: ModelEvent | undefined;
      for (let refusals = 0; ; refusals += 1) {
        const plan = waiting.shift() ?? everything;
        const sent = all.filter(({ key }) => !plan.groups.flat().some((one) => one.key === key));
        let refused: ModelEvent | undefined;
        let hasBegun = false;
        for await (const event of ask(requestWith(request, all, sent, plan))) {
          const isRefused = !hasBegun && event.type === "error" && isAboutTools(event.error);
          if (isRefused) {
            refused = event;
            break;
          }
          if (!hasBegun && event.type !== "error" && event.type !== "notice") learn(place.model, plan);
          hasBegun ||= event.type !== "notice";
          yield event.type === "tool-call" ? restoredCall(event, sent) : event;
        }
        if (refused?.type !== "error") return;
        first ??= refused;
        const next = waiting.length > 0 ? undefined : planAfter(plan, refused.error, sent, all);
        if (next !== undefined) waiting.push(next);
        if (waiting.length === 0 || refusals >= maxRefusals || tries.left <= 0) {
          // Without any tools, it was refused too: it is about something else.
          yield first;
          return;
        }
      }
    },
    advice: (name) =>
      [...learned].flatMap(([model, { plan, until }]) => (until > now() ? adviceOn(`${name}/${model}`, plan) : [])),
  };
}

function adviceOn(model: string, { groups, isPlain }: Plan): ProviderAdvice[] {
  const todo = "Turn off the skill that has it (skills.deny), or use another model";
  const out = groups.map((group): ProviderAdvice => {
    const names = listOf(group);
    const what =
      group.length === 1
        ? `${model} refuses the definition of the tool ${names}, so it is left out`
        : `${model} refuses the definition of one of these tools, so they are left out: ${names}`;
    return { model, what, todo };
  });
  if (out.length > 0 || !isPlain) return out;
  const what = `${model} refuses the definition of one of the tools, so it gets all in a short form`;
  return [{ model, what, todo: "Use another model, or turn off the skill with the longest tools (skills.deny)" }];
}

function listOf(group: readonly Sent[]): string {
  const names = group.map(({ spec }) => spec.name);
  const more = names.length - maxNames;
  return more > 0 ? `${names.slice(0, maxNames).join(", ")} and ${more} more` : names.join(", ");
}

const maxNames = 10;
const known = new WeakMap<ToolSpec, { google?: Sent; usual?: Sent }>();

/** The same object each time, so that a prompt of unchanged tools stays the same. */
function sentTool(tool: ToolSpec, isGoogle: boolean): Sent {
  const forms = known.get(tool) ?? {};
  known.set(tool, forms);
  const form = isGoogle ? "google" : "usual";
  const before = forms[form];
  if (before !== undefined) return before;
  const { schema, restore } = fitSchema(tool.parameters, { isGoogle });
  const digest = createHash("sha256")
    .update(JSON.stringify([tool.description, schema]))
    .digest("base64url");
  const sent = { schema, restore, spec: { ...tool, parameters: schema }, key: `${tool.name} ${digest}` };
  forms[form] = sent;
  return sent;
}

/** No service takes two tools of one name. */
function sentTools({ tools }: ModelRequest, isGoogle: boolean): Sent[] {
  return [...new Map(tools.map((tool) => [tool.name, sentTool(tool, isGoogle)])).values()];
}

function requestWith(
  request: ModelRequest,
  all: readonly Sent[],
  sent: readonly Sent[],
  { isPlain }: Plan,
): ModelRequest {
  const tools = sent.map(({ spec, schema }) => (isPlain ? { ...spec, parameters: plainSchema(schema) } : spec));
  const out = all.filter((one) => !sent.includes(one));
  if (out.length === 0) return { ...request, tools };
  const text = `These tools can't be used now, because the model's service refuses their definitions: ${listOf(out)}. Say so if one of them is needed.`;
  return { ...request, tools, system: [...request.system, { text, isCacheable: false }] };
}

function restoredCall(event: Extract<ModelEvent, { type: "tool-call" }>, sent: readonly Sent[]): ModelEvent {
  const tool = sent.find(({ spec }) => spec.name === event.name);
  return tool === undefined ? event : { ...event, inputJson: tool.restore(event.inputJson) };
}

/** As services say that they don't take the definition of a tool. Those of calls and results in messages mean something else. */
const aboutTools = new RegExp(
  [
    "\\btools?(?:\\.|\\[)\\d+|function_declarations|input_schema|invalid schema|json schema|\\bparameters\\b",
    "\\btool (?:names?|definitions?|schemas?|parameters)\\b|tools\\.function|'tools'|\\bfunctions? (?:definitions?|schemas?|parameters|names?)\\b",
    "schema[^.]{0,40}(?:tool|function)|(?:tool|function)[^.]{0,40}schema|failed to (?:parse|initialize)[^.]{0,40}(?:grammar|samplers)",
  ].join("|"),
  "i",
);
const aboutMessages = /\b(?:messages|input|contents)(?:\.|\[)\d|tool_(?:use|result|call)(?:s|_id)?\b|tool_choice/i;

function isAboutTools(error: RemoraError): boolean {
  const refusal = serviceRefusalIn(error);
  const isBroken = error.code === "provider.server-error" && /schema|grammar/i.test(error.message);
  if (error.code !== "provider.bad-request" && !isBroken) return false;
  const text = refusal === undefined ? error.message : `${refusal.param} ${refusal.message}`;
  return aboutTools.test(text) && !aboutMessages.test(text);
}

/** Undefined if nothing is left to try. */
function planAfter(plan: Plan, error: RemoraError, sent: readonly Sent[], all: readonly Sent[]): Plan | undefined {
  if (sent.length === 0) return undefined;
  const named = namedIn(error, sent);
  if (named.length > 0) return { ...plan, groups: [...plan.groups, ...named.map((one) => [one])] };
  if (!plan.isPlain) return { ...plan, isPlain: true };
  const installed = sent.filter(({ spec }) => spec.isInstalled === true || spec.offeredBy !== undefined);
  const isSome = installed.length > 0 && installed.length < sent.length;
  return isSome ? { ...plan, groups: [...plan.groups, installed] } : { ...plan, groups: [all] };
}

function namedIn(error: RemoraError, sent: readonly Sent[]): Sent[] {
  const refusal = serviceRefusalIn(error);
  const text = refusal === undefined ? error.message : `${refusal.message} ${refusal.param}`;
  const byName = sent.filter(({ spec }) =>
    new RegExp(`(?:['"\`]|\\b(?:function|tool)s?[ :]+)${spec.name}(?![\\w-])`, "i").test(text),
  );
  if (byName.length > 0 && byName.length < sent.length) return byName;
  const places = [...text.matchAll(/function_declarations(?:\.|\[)(\d+)/g)];
  const indexes = places.length > 0 ? places : [...text.matchAll(/\btools(?:\.|\[)(\d+)/g)];
  const all = [...new Set(indexes.map(([, index]) => sent[Number(index)]))];
  return all.flatMap((one) => one ?? []);
}

/** Plans that let a half of the first large group in again, the more likely one first. */
function narrower({ groups, isPlain }: Plan): Plan[] {
  const large = groups.find((group) => group.length > 1);
  if (large === undefined) return [];
  const others = groups.filter((group) => group !== large);
  const half = Math.ceil(large.length / 2);
  const [one, other] = [large.slice(0, half), large.slice(half)];
  return [
    { isPlain, groups: [...others, other] },
    { isPlain, groups: [...others, one] },
    { isPlain, groups: [...others, one, other] },
  ];
}
