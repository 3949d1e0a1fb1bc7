/**
 * The gate: classification of 300 patterns × 1 KB against a plain loop of regular expressions in the same run, all derived
 * forms on the table of shell commands, the slowest 1 MB input, and files of prose. Prints one JSON line.
 */
import { fileURLToPath } from "node:url";
import { createGate } from "../src/gate/gate.ts";
import { gateRules } from "../src/skill-runtime/library/library.ts";
import { loadSkills } from "../src/skill-runtime/library/load.ts";
import { dangerous } from "../test/gate/tables/dangerous.ts";
import { askedByTag, looking, working } from "../test/gate/tables/harmless.ts";
import { prose } from "../test/gate/tables/prose.ts";
import { referenceRules, shellTool } from "../test/gate/tables/reference-rules.ts";
import { largeInputs, manyPatterns, rulesOf, slowPatterns } from "../test/gate/tables/slow.ts";
import { percentile } from "./statistics.ts";

const rounds = 400;

function timesOf(count: number, work: (round: number) => void): number[] {
  const times: number[] = [];
  for (let round = 0; round < count; round += 1) {
    const began = performance.now();
    work(round);
    times.push(performance.now() - began);
  }
  return times;
}

function mean(times: number[]): number {
  return times.reduce((sum, time) => sum + time, 0) / times.length;
}

function rounded(value: number): number {
  return Number(value.toFixed(4));
}

function againstLoop() {
  const patterns = manyPatterns(300);
  const gate = createGate({ rules: rulesOf(patterns), matching: "exact" });
  const expressions = patterns.map((pattern) => new RegExp(pattern, "i"));
  const texts = Array.from({ length: 50 }, (_, index) => `${"some words of an ordinary file ".repeat(32)}${index}`);
  const judge = (round: number) => void gate.classify("write_file", { content: texts[round % texts.length] });
  const loop = (round: number) => {
    const text = `write_file ${JSON.stringify({ content: texts[round % texts.length] })}`;
    for (const expression of expressions) expression.test(text);
  };
  timesOf(rounds, judge);
  timesOf(rounds, loop);
  const [gateMean, loopMean] = [mean(timesOf(rounds, judge)), mean(timesOf(rounds, loop))];
  return { gateMs: rounded(gateMean), loopMs: rounded(loopMean), ratio: rounded(gateMean / loopMean) };
}

function shellCommands() {
  const gate = createGate({ rules: referenceRules(), matching: "extended" });
  const commands = [...dangerous.flatMap((group) => group.commands), ...looking, ...working, ...askedByTag];
  const judge = (round: number) => {
    const command = commands[round % commands.length];
    gate.classify(shellTool, Array.isArray(command) ? { argv: command } : { command });
  };
  timesOf(commands.length * 20, judge);
  const times = timesOf(commands.length * 20, judge);
  // The median of 20 runs excludes noise from other processes.
  const medians = commands.map((_, index) =>
    percentile(
      times.filter((_time, round) => round % commands.length === index),
      0.5,
    ),
  );
  return {
    commands: commands.length,
    p50Ms: rounded(percentile(times, 0.5)),
    p99Ms: rounded(percentile(times, 0.99)),
    slowestMedianMs: rounded(Math.max(...medians)),
  };
}

function largest() {
  const rules = { ...rulesOf(slowPatterns), shellParameters: new Map([[shellTool, ["command"]]]) };
  const results = (["exact", "extended"] as const).flatMap((matching) => {
    const gates = [createGate({ rules, matching }), createGate({ rules: referenceRules(), matching })];
    return gates.flatMap((gate) =>
      largeInputs().map((input) =>
        Math.max(...timesOf(2, () => void gate.classify(shellTool, { command: input.text }))),
      ),
    );
  });
  return { slowestMs: rounded(Math.max(...results)), medianMs: rounded(percentile(results, 0.5)) };
}

/** One 1 MB file of ordinary text per script, with the shipped skills. */
async function proseFiles() {
  const skills = await loadSkills([fileURLToPath(new URL("../skills", import.meta.url))]);
  const gate = createGate({ rules: gateRules(skills), matching: "extended" });
  gate.warmUp();
  const files = prose().map(({ name, text }) => {
    const args = { path: "notes.md", content: text };
    const times = timesOf(5, () => void gate.classify("write_file", args));
    return { name, ms: percentile(times, 0.5), isSafe: gate.classify("write_file", args).class === "safe" };
  });
  const slowest = files.reduce((one, other) => (other.ms > one.ms ? other : one));
  const notSafe = files.filter(({ isSafe }) => !isSafe).map(({ name }) => name);
  return { files: files.length, slowestMs: rounded(slowest.ms), slowest: slowest.name, notSafe };
}

console.log(
  JSON.stringify({
    bench: "gate",
    patterns300: againstLoop(),
    shell: shellCommands(),
    oneMegabyte: largest(),
    prose: await proseFiles(),
  }),
);
