/**
 * `remora gate test 'rm -rf x'` classifies a command exactly like the agent. Without one, each JSON line `{tool,args}` on standard input gets one
 * result line, in the same order. An invalid line gets `verdict: "error"` and sets exit code 1.
 */
import { resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { z } from "zod";
import type { Environment } from "../config/environment.ts";
import { createGate } from "../gate/gate.ts";
import { RemoraError } from "../lib/errors.ts";
import type { Gate, Verdict } from "../ports/gate.ts";
import type { SkillDiagnostic } from "../ports/skill.ts";
import { gateRules } from "../skill-runtime/library/library.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { coloured } from "./coloured.ts";
import { type InputLine, readJsonLines } from "./json-lines.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";

interface GateTestOptions {
  tool?: string;
  skills?: string[];
  matching?: "exact" | "extended";
  json?: boolean;
}

interface GateAnswer {
  verdict: Verdict["class"] | "error";
  matches: Pick<Verdict["matches"][number], "skill" | "kind" | "pattern" | "form" | "line">[];
  ms: number;
  error?: string;
}

const words = { safe: "is safe", confirm: "asks", block: "is blocked" };

const callSchema = z.object({ tool: z.string(), args: z.unknown() });

export async function gateTestCommand(
  env: Environment,
  root: string,
  words: string[],
  options: GateTestOptions,
): Promise<void> {
  if (words.length === 0 && process.stdin.isTTY) {
    const message = "give a command, such as: gate test 'rm -rf x'. Or send JSON lines on standard input";
    throw new RemoraError({ code: "cli.no-call", place: "gate test", message });
  }
  const settings = settingsFor(env, root);
  const roots = options.skills?.map((folder) => resolve(folder)) ?? skillRootsOf(settings);
  const { skills, diagnostics } = await loadSkills(roots);
  refuseMissing(options.skills, diagnostics);
  for (const { path, line, severity, message } of diagnostics) {
    if (severity === "error") process.stderr.write(`${path}:${line} ${message}\n`);
  }
  const matching = options.matching ?? settings.config.safety.matching;
  const gate = createGate({ rules: gateRules({ skills, diagnostics }), matching });
  const command = { tool: options.tool ?? "shell_exec", args: { command: words.join(" ") } };
  const lines = words.length > 0 ? [{ number: 1, value: command }] : readJsonLines(process.stdin);
  for await (const line of lines) {
    const { tool, ...answer } = answerTo(gate, line);
    if (answer.verdict === "error") process.exitCode = 1;
    process.stdout.write(options.json ? `${JSON.stringify(answer)}\n` : describe(tool, answer));
  }
}

/** Refuses a missing folder, because without its patterns every call would look safe. */
function refuseMissing(asked: string[] | undefined, diagnostics: SkillDiagnostic[]): void {
  const missing = diagnostics.find(({ code }) => code === "skill.no-folder");
  if (asked === undefined || missing === undefined) return;
  throw new RemoraError({ code: "cli.no-folder", place: missing.path, message: "there is no such skills folder" });
}

function answerTo(gate: Gate, line: InputLine): GateAnswer & { tool: string } {
  if ("problem" in line) return { tool: "", verdict: "error", matches: [], ms: 0, error: line.problem };
  const call = callSchema.safeParse(line.value);
  if (!call.success) {
    const error = `line ${line.number} is not a call: it must be an object {"tool": "name", "args": {…}}`;
    return { tool: "", verdict: "error", matches: [], ms: 0, error };
  }
  const began = performance.now();
  const verdict = gate.classify(call.data.tool, call.data.args);
  const ms = Math.round((performance.now() - began) * 1_000) / 1_000;
  const matches = verdict.matches.map(({ skill, kind, pattern, form, line: at }) => ({
    skill,
    kind,
    pattern,
    form,
    line: at,
  }));
  return { tool: call.data.tool, verdict: verdict.class, matches, ms };
}

function describe(tool: string, { verdict, matches, ms, error }: GateAnswer): string {
  if (verdict === "error") return `${coloured(verdict)}: ${error}\n`;
  const why = matches.map(({ skill, pattern, form, line }) => `${skill}:${line} ${pattern} (${form})`);
  const reason = why.length === 0 ? "no pattern matches" : why.join("; ");
  return `${tool} ${coloured(verdict, words[verdict])}: ${reason}. Checked in ${ms.toFixed(1)} ms\n`;
}
