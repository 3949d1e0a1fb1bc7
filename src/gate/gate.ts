/**
 * The safety gate: judges a tool call by the patterns of all skills, in this order:
 *
 *   1. serialise the arguments; what can't be, is too large, too deep or no object is blocked
 *   2. the exact match string, `tool + " " + JSON.stringify(args)`; its verdict is the floor
 *   3. unless matching is `exact`: derived forms, the reading of shell commands, and tags; they can only raise it
 *   4. the strictest of all matches, each with its pattern, skill, file, line and form
 *
 * Everything is bounded by a deadline; what could not be tried by then is blocked, because nobody has judged it.
 * Brain name: amygdala.
 */
import type { Gate, GateMatch, GateRules, Verdict, VerdictClass } from "../core/gate.ts";
import type { JsonObject } from "../core/message.ts";
import { readArguments } from "./arguments.ts";
import { type CompiledRules, compileRules, type GateDiagnostic } from "./compile.ts";
import { type Form, formsOf } from "./forms.ts";
import type { PatternHits } from "./pattern-set.ts";
import { readShell } from "./shell.ts";

export interface GateOptions {
  rules: GateRules;
  /** `exact`: the exact match string alone, as the specification has it, without forms and tags. */
  matching: "exact" | "extended";
}

export interface RuleGate extends Gate {
  /** Calls judged from now on see the new rules. */
  replace(rules: GateRules): void;
  /** What is wrong with the patterns in force. */
  diagnostics(): GateDiagnostic[];
  /** Compiles the rules now, if that is not done yet, instead of with the next call. */
  warmUp(): void;
}

/** Milliseconds for one call. */
const timeLimit = 180;

const failClosedReasons = {
  "unserialisable-args": "the arguments can't be written as JSON",
  "args-too-large": "the arguments are larger than 1 MiB",
  "args-too-deep": "the arguments are nested deeper than 1,000 levels",
  "args-not-an-object": "the arguments are no JSON object",
  "not-judged-in-time": "the patterns could not all be tried on these arguments in time",
  "gate-failed": "the gate itself failed on this call",
};

export function createGate(options: GateOptions): RuleGate {
  let rules = copyOf(options.rules);
  let compiled: CompiledRules | undefined;

  /** When they are needed: hundreds of patterns take longer to compile than a process to start. */
  function compiledRules(): CompiledRules {
    compiled ??= compileRules(rules);
    return compiled;
  }

  return {
    classify(tool, args, extraTags = []) {
      const read = readArguments(args);
      if (read.type === "refused") {
        return { class: "block", matches: [failClosed(read.why)], tags: [], argsJson: read.text };
      }
      const { text: argsJson, input } = read;
      try {
        return { ...judge(compiledRules(), options.matching, { tool, argsJson, input, extraTags }), input, argsJson };
      } catch {
        return { class: "block", matches: [failClosed("gate-failed")], tags: [], input, argsJson };
      }
    },
    replace(newRules) {
      rules = copyOf(newRules);
      compiled = undefined;
    },
    diagnostics: () => [...compiledRules().diagnostics],
    warmUp() {
      compiledRules();
    },
  };
}

/** Lists that are changed later change nothing here. */
function copyOf({ rules, shellParameters }: GateRules): GateRules {
  return { rules: [...rules], shellParameters: new Map(shellParameters) };
}

interface CallToJudge {
  tool: string;
  argsJson: string;
  input: JsonObject;
  extraTags: string[];
}

function judge(
  compiled: CompiledRules,
  matching: GateOptions["matching"],
  call: CallToJudge,
): Pick<Verdict, "class" | "matches" | "tags"> {
  const deadline = performance.now() + timeLimit;
  const exact: Form = { text: `${call.tool} ${call.argsJson}`, name: "exact" };
  const forms = [exact];
  const tags: string[] = [];
  const failures: GateMatch[] = [];
  if (matching === "extended") {
    const derived = formsOf(call.tool, exact.text, call.input);
    if (derived === undefined) failures.push(failClosed("args-too-large"));
    const shell = shellForms(compiled, call);
    tags.push(...new Set([...shell.tags, ...call.extraTags]));
    const tagForms = tags.map((tag): Form => ({ text: `${call.tool} ${tag}`, name: "tag" }));
    forms.push(...(derived ?? []), ...shell.forms, ...tagForms);
  }
  const texts = forms.map(({ text }) => text);
  const hits = compiled.patterns.match(texts, deadline);
  if (!hits.isComplete) failures.push(failClosed("not-judged-in-time"));
  const matches = [...failures, ...matchesOf(compiled, hits, forms)];
  return { class: strictest(matches), matches, tags };
}

/** The forms and tags of the parameters that hold shell commands. */
function shellForms(compiled: CompiledRules, { tool, input }: CallToJudge): { forms: Form[]; tags: string[] } {
  const names = compiled.shellParameters.get(tool) ?? [];
  const texts = new Set<string>();
  const tags = new Set<string>();
  for (const name of names) {
    if (!Object.hasOwn(input, name)) continue;
    const reading = readShell(input[name]);
    for (const form of reading.forms) texts.add(`${tool} ${form}`);
    for (const tag of reading.tags) tags.add(tag);
  }
  return { forms: [...texts].map((text) => ({ text, name: "shell" })), tags: [...tags] };
}

/** Danger first; in each kind in the order of the rules. */
function matchesOf({ rules }: CompiledRules, { first }: PatternHits, forms: readonly Form[]): GateMatch[] {
  const found = [...first].sort(([one], [other]) => one - other);
  const matches = found.flatMap(([ruleIndex, formIndex]): GateMatch[] => {
    const rule = rules[ruleIndex];
    return rule === undefined ? [] : [{ ...rule, form: forms[formIndex]?.name ?? "exact" }];
  });
  return [...matches.filter(({ kind }) => kind === "danger"), ...matches.filter(({ kind }) => kind === "confirm")];
}

function strictest(matches: readonly GateMatch[]): VerdictClass {
  if (matches.some(({ kind }) => kind === "danger")) return "block";
  return matches.length > 0 ? "confirm" : "safe";
}

/** The gate's own refusals: no skill can switch them off. */
function failClosed(why: keyof typeof failClosedReasons): GateMatch {
  const reason = failClosedReasons[why];
  return { kind: "danger", skill: "remora", file: "", line: 0, pattern: why, reason, form: "fail-closed" };
}
