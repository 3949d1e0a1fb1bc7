/** Validates what a plugin offers. Accepts any value, because plugins pass on what other programs wrote. */
import { setImmediate as nextRound } from "node:timers/promises";
import type { ToolOffer } from "../../ports/plugin.ts";
import { cleanLine, withoutUnseen } from "../parse/text.ts";
import { defaultTimeoutMs, maxTimeoutMs } from "../parse/tools.ts";
import { createSchemaProbe, fitSchema, type SchemaProbe } from "./dynamic-tool-schema.ts";
import type { ValidOffer, ValidTool } from "./dynamic-tools.ts";

const maxOfferedTools = 1_000;
const maxName = 200;
const maxDescription = 1_500;
const maxProblems = 10;

/** Yields to other work between schemas, because compiling hundreds of them takes a while. */
export async function validateTools(source: string, offer: ToolOffer): Promise<Partial<ValidOffer>> {
  const said = (Array.isArray(offer.problems) ? offer.problems : []).map((problem) => cleanLine(String(problem), 500));
  if (!Array.isArray(offer.tools)) return { problems: shortened(said) };
  const probe = offer.tools.length === 0 ? () => undefined : await createSchemaProbe();
  const problems = [...said];
  const tools = new Map<string, ValidTool>();
  for (const written of offer.tools.slice(0, maxOfferedTools) as unknown[]) {
    const fit = fitTool(written, probe);
    if (typeof fit === "string") problems.push(`${source}: ${fit}`);
    else if (tools.has(fit.tool.written)) problems.push(`${source}: the tool ${fit.tool.written} is offered twice`);
    else {
      tools.set(fit.tool.written, fit.tool);
      if (fit.problem !== undefined) problems.push(`${source}: the tool ${fit.tool.written}: ${fit.problem}`);
    }
    await nextRound();
  }
  if (offer.tools.length > maxOfferedTools) {
    problems.push(`${source} offers ${offer.tools.length} tools; only the first ${maxOfferedTools} were checked`);
  }
  return { tools: [...tools.values()], problems: shortened(problems) };
}

function fitTool(written: unknown, probe: SchemaProbe): { tool: ValidTool; problem?: string } | string {
  if (typeof written !== "object" || written === null) return "an entry that is not a tool was left out";
  const { name, description, parameters, timeoutMs, ...more } = written as { [key: string]: unknown };
  const clean = typeof name === "string" ? cleanLine(name, maxName) : "";
  if (clean === "" || clean !== name) return `a tool with the name ${shown(name)} was left out: the name is not valid`;
  const fit = fitSchema(parameters, probe);
  if ("refused" in fit) return `the tool ${clean} was left out: ${fit.refused}`;
  const isTime = typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs <= maxTimeoutMs;
  const tool: ValidTool = {
    written: clean,
    description: descriptionOf(description),
    parameters: fit.schema,
    timeoutMs: isTime ? Math.ceil(timeoutMs) : defaultTimeoutMs,
    isTrusted: more.isTrusted === true,
    isReadOnly: more.isReadOnly === true,
    isNamed: more.isNamed === true,
  };
  return fit.problem === undefined ? { tool } : { tool, problem: fit.problem };
}

function descriptionOf(written: unknown): string {
  const text = typeof written === "string" ? withoutUnseen(written).trim() : "";
  return text.length <= maxDescription ? text : `${text.slice(0, maxDescription - 1).toWellFormed()}…`;
}

function shown(name: unknown): string {
  return typeof name === "string" ? JSON.stringify(name.slice(0, 80)) : "(none)";
}

function shortened(problems: string[]): string[] {
  const more = problems.length - maxProblems;
  return more <= 0 ? problems : [...problems.slice(0, maxProblems), `and ${more} more of this kind`];
}
