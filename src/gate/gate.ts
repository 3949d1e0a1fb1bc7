/**
 * The safety gate: judges a tool call by the patterns of all skills, in this order:
 *
 *   1. serialise the arguments; what can't be, is too large, too deep or no object is blocked
 *   2. the exact match string, `tool + " " + JSON.stringify(args)`; its verdict is the floor
 *   3. unless matching is `exact`: derived forms, the reading of shell commands, and tags; they can only raise it
 *   4. the strictest of all matches, each with its pattern, skill, file, line and form
 *
 * Everything is bounded by a deadline. What could not be tried by then asks, unless what was tried already blocks.
 * Brain name: amygdala.
 */
import type { Gate, GateMatch, GateRules, Verdict, VerdictClass } from "../ports/gate.ts";
import type { JsonObject } from "../ports/message.ts";
import { readArguments } from "./arguments.ts";
import { type Form, formsOf } from "./call-variants.ts";
import { type CompiledRules, compileRules, type GateDiagnostic } from "./compile.ts";
import { createDeadline, type Deadline } from "./deadline.ts";
import type { PatternHits } from "./pattern-set.ts";
import { readShell } from "./shell/shell.ts";

export interface GateOptions {
  rules: GateRules;
  /** `exact`: the exact match string alone, as the specification has it, without forms and tags. */
  matching: "exact" | "extended";
  /** Milliseconds for one call: the event loop stands still meanwhile. 90 when left out. */
  timeLimitMs?: number;
}

export interface RuleGate extends Gate {
  /** Calls judged from now on see the new rules. */
  replace(rules: GateRules): void;
  /** What is wrong with the patterns in force. */
  diagnostics(): GateDiagnostic[];
  /** Compiles the rules now, instead of with the next call. */
  warmUp(): void;
}

const defaultTimeLimitMs = 90;

/** Reaches most of what judges commands. */
const warmUpInput = {
  command: `cd /srv && npm install "x y" | tee -a log; rm -rf ./build $(git push) <<< 'ｃｕｒｌ' & sudo -u a sh -c 'ls'`,
};
const warmUpCall: CallToJudge = {
  tool: "shell_exec",
  argsJson: JSON.stringify(warmUpInput),
  input: warmUpInput,
  extraTags: [],
};
const warmUpLimitMs = 1_000;

const failClosedReasons = {
  "unserialisable-args": "the arguments can't be written as JSON",
  "args-too-large": "the arguments are larger than 1 MiB",
  "args-too-deep": "the arguments are nested deeper than 1,000 levels",
  "args-too-many": "the arguments hold more than 50,000 values",
  "args-not-an-object": "the arguments are no JSON object",
  "not-checked-in-time": "this call could not be checked in time",
  "gate-failed": "the gate itself failed on this call",
};

export function createGate(options: GateOptions): RuleGate {
  let rules = copyOf(options.rules);
  let compiled: CompiledRules | undefined;
  const timeLimitMs = options.timeLimitMs ?? defaultTimeLimitMs;

  /** When they are needed: hundreds of patterns take longer to compile than a process to start. */
  function compiledRules(): CompiledRules {
    if (compiled !== undefined) return compiled;
    const fresh = compileRules(rules);
    // The first call would be timed with code and patterns that are still being compiled.
    fresh.patterns.compileAll();
    judge(fresh, options.matching, warmUpCall, createDeadline(warmUpLimitMs));
    compiled = fresh;
    return fresh;
  }

  return {
    classify(tool, args, extraTags = []) {
      const wholeTime = createDeadline(timeLimitMs);
      const read = readArguments(args);
      if (read.type === "refused") {
        return { class: "block", matches: [failClosed(read.why)], tags: [], argsJson: read.text };
      }
      const { text: argsJson, input } = read;
      try {
        const left = wholeTime.left();
        const inForce = compiledRules();
        // Compiling happens once, and is not this call's fault.
        const deadline = createDeadline(left);
        const call = { tool, argsJson, input, extraTags };
        return { ...judge(inForce, options.matching, call, deadline), input, argsJson };
      } catch {
        return { class: "block", matches: [failClosed("gate-failed")], tags: [], input, argsJson };
      }
    },
    replace(newRules) {
      rules = copyOf(newRules);
      compiled = undefined;
    },
    diagnostics: () => [...compiledRules().diagnostics],
    warmUp: () => void compiledRules(),
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
  deadline: Deadline,
): Pick<Verdict, "class" | "matches" | "tags"> {
  const { tool, argsJson, extraTags } = call;
  const tagForms = (tags: Iterable<string>) => [...tags].map((tag): Form => ({ text: `${tool} ${tag}`, name: "tag" }));
  const tags = new Set(matching === "extended" ? extraTags : []);
  const forms: Form[] = [{ text: `${tool} ${argsJson}`, name: "exact" }, ...tagForms(tags)];
  // First and by itself: what it says holds, whatever becomes of the rest.
  let hits = compiled.patterns.match(textsOf(forms), deadline);
  let isComplete = hits.isComplete;
  if (matching === "extended") {
    const derived = formsOf(tool, forms[0]?.text ?? "", call.input, deadline);
    const shell = shellForms(compiled, call, deadline);
    const start = forms.length;
    forms.push(...derived.forms, ...shell.forms, ...tagForms(shell.tags));
    for (const tag of shell.tags) tags.add(tag);
    hits = compiled.patterns.match(textsOf(forms), deadline, { hits: hits.first, start });
    isComplete &&= derived.isComplete && hits.isComplete;
  }
  const matches = matchesOf(compiled, hits, forms);
  if (!isComplete) matches.push(failClosed("not-checked-in-time"));
  return { class: strictest(matches), matches, tags: [...tags] };
}

function textsOf(forms: readonly Form[]): string[] {
  return forms.map(({ text }) => text);
}

/** The forms and tags of the parameters that hold shell commands. */
function shellForms(
  compiled: CompiledRules,
  { tool, input }: CallToJudge,
  deadline: Deadline,
): { forms: Form[]; tags: Set<string> } {
  const names = compiled.shellParameters.get(tool) ?? [];
  const texts = new Set<string>();
  const tags = new Set<string>();
  for (const name of names) {
    if (!Object.hasOwn(input, name)) continue;
    const reading = readShell(input[name], deadline);
    for (const form of reading.forms) texts.add(`${tool} ${form}`);
    for (const tag of reading.tags) tags.add(tag);
  }
  return { forms: [...texts].map((text) => ({ text, name: "shell" })), tags };
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

/** The gate's own matches: no skill can switch them off. What was not checked may be harmless, so that a person decides. */
function failClosed(why: keyof typeof failClosedReasons): GateMatch {
  const kind = why === "not-checked-in-time" ? "confirm" : "danger";
  const reason = failClosedReasons[why];
  return { kind, skill: "remora", file: "", line: 0, pattern: why, reason, form: "fail-closed" };
}
