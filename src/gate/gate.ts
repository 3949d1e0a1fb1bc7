/**
 * Judges a tool call by the patterns of all skills. First matches the exact string, `tool + " " +
 * JSON.stringify(args)`. Then, unless `matching` is `exact`, matches variants of the call, the
 * commands that it parses out of shell text, and tags. These can only make the verdict stricter. Arguments that are not
 * a JSON object, too large or too deep are blocked. If the check exceeds its deadline, the call needs approval, unless
 * an earlier match already blocks it. Remora's own read-only tools are not matched: they change and send nothing.
 * Brain name: amygdala.
 */
import type { Gate, GateMatch, GateRules, Verdict, VerdictClass } from "../ports/gate.ts";
import type { JsonObject } from "../ports/message.ts";
import { readArguments } from "./arguments.ts";
import { type CallVariant, callVariants } from "./call-variants.ts";
import { type CompiledRules, compileRules, type GateDiagnostic } from "./compile.ts";
import { createDeadline, type Deadline } from "./deadline.ts";
import type { PatternHits } from "./pattern-set.ts";
import { readShell } from "./shell/shell.ts";

export interface GateOptions {
  rules: GateRules;
  /** `exact` matches only the exact string, as the specification defines it, without variants and tags. */
  matching: "exact" | "extended";
  /** Limit for one call, during which the event loop is blocked. Default 90. */
  timeLimitMs?: number;
}

export interface RuleGate extends Gate {
  replace(rules: GateRules): void;
  diagnostics(): GateDiagnostic[];
  warmUp(): void;
}

const defaultTimeLimitMs = 90;

/** Runs through most of the code that judges commands. */
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
  "args-not-an-object": "the arguments are not a JSON object",
  "not-checked-in-time": "this call could not be checked in time",
  "gate-failed": "the gate itself failed on this call",
};

export function createGate(options: GateOptions): RuleGate {
  let rules = copyOf(options.rules);
  let compiled: CompiledRules | undefined;
  const timeLimitMs = options.timeLimitMs ?? defaultTimeLimitMs;

  /** Compiles on first use, because compiling hundreds of patterns takes longer than starting a process. */
  function compiledRules(): CompiledRules {
    if (compiled !== undefined) return compiled;
    const fresh = compileRules(rules);
    // Compile and run everything now so that the first call's time limit does not include it.
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
      if (rules.builtInReaders?.has(tool) === true) return { class: "safe", matches: [], tags: [], input, argsJson };
      try {
        const left = wholeTime.left();
        const inForce = compiledRules();
        // The time for compiling does not count against this call.
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

/** Protects the rules from later changes to the caller's lists. */
function copyOf({ rules, shellParameters, builtInReaders = new Set() }: GateRules): GateRules {
  return {
    rules: [...rules],
    shellParameters: new Map(shellParameters),
    builtInReaders: new Set(builtInReaders),
  };
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
  const tagVariants = (tags: Iterable<string>) =>
    [...tags].map((tag): CallVariant => ({ text: `${tool} ${tag}`, name: "tag" }));
  const tags = new Set(matching === "extended" ? extraTags : []);
  const variants: CallVariant[] = [{ text: `${tool} ${argsJson}`, name: "exact" }, ...tagVariants(tags)];
  // Match the exact string first so that its verdict counts even if time runs out for the other texts.
  let hits = compiled.patterns.match(textsOf(variants), deadline);
  let isComplete = hits.isComplete;
  if (matching === "extended") {
    const derived = callVariants(tool, variants[0]?.text ?? "", call.input, deadline);
    const shell = shellVariants(compiled, call, deadline);
    const start = variants.length;
    variants.push(...derived.variants, ...shell.variants, ...tagVariants(shell.tags));
    for (const tag of shell.tags) tags.add(tag);
    hits = compiled.patterns.match(textsOf(variants), deadline, { hits: hits.first, start });
    isComplete &&= derived.isComplete && hits.isComplete;
  }
  const matches = matchesOf(compiled, hits, variants);
  if (!isComplete) matches.push(failClosed("not-checked-in-time"));
  return { class: strictest(matches), matches, tags: [...tags] };
}

function textsOf(variants: readonly CallVariant[]): string[] {
  return variants.map(({ text }) => text);
}

function shellVariants(
  compiled: CompiledRules,
  { tool, input }: CallToJudge,
  deadline: Deadline,
): { variants: CallVariant[]; tags: Set<string> } {
  const names = compiled.shellParameters.get(tool) ?? [];
  const texts = new Set<string>();
  const tags = new Set<string>();
  for (const name of names) {
    if (!Object.hasOwn(input, name)) continue;
    const reading = readShell(input[name], deadline);
    for (const text of reading.forms) texts.add(`${tool} ${text}`);
    for (const tag of reading.tags) tags.add(tag);
  }
  return { variants: [...texts].map((text) => ({ text, name: "shell" })), tags };
}

/** Sorts danger first, and then by the order of the rules. */
function matchesOf({ rules }: CompiledRules, { first }: PatternHits, variants: readonly CallVariant[]): GateMatch[] {
  const found = [...first].sort(([one], [other]) => one - other);
  const matches = found.flatMap(([ruleIndex, variantIndex]): GateMatch[] => {
    const rule = rules[ruleIndex];
    return rule === undefined ? [] : [{ ...rule, form: variants[variantIndex]?.name ?? "exact" }];
  });
  return [...matches.filter(({ kind }) => kind === "danger"), ...matches.filter(({ kind }) => kind === "confirm")];
}

function strictest(matches: readonly GateMatch[]): VerdictClass {
  if (matches.some(({ kind }) => kind === "danger")) return "block";
  return matches.length > 0 ? "confirm" : "safe";
}

/** No skill can switch these rules off. A call that was not checked in time may be harmless, so a person decides. */
function failClosed(why: keyof typeof failClosedReasons): GateMatch {
  const kind = why === "not-checked-in-time" ? "confirm" : "danger";
  const reason = failClosedReasons[why];
  return { kind, skill: "remora", file: "", line: 0, pattern: why, reason, form: "fail-closed" };
}
