/** Reads a file of tasks, and reports all its problems together, each with file, line, key, value, and what to write instead. */
import { isAbsolute, normalize } from "node:path";
import { z } from "zod";
import type { ConfigProblem } from "../config/environment.ts";
import { formatProblem } from "../config/load.ts";
import { readSource, readYaml } from "../config/read-yaml.ts";
import { issueProblems, wordsFor } from "../config/schema-problems.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { counted } from "../lib/text/counted.ts";
import { patternOf } from "./judge.ts";
import { type Task, taskSchema } from "./task.ts";

const fileSchema = z.strictObject({ tasks: z.array(taskSchema).min(1) });

type Path = readonly (string | number)[];
type Report = (path: Path, message: string) => void;

export function readTasks(file: string): Task[] {
  const source = readSource(file, true);
  if (typeof source !== "string")
    throw invalid(file, [{ ...source, message: "can't be read. Check its name, or write one: docs/evals.md" }]);
  const yaml = readYaml(source, file);
  if ("problems" in yaml) throw invalid(file, yaml.problems);
  const { value, placeOf } = yaml;
  const raw = value ?? {};
  const parsed = fileSchema.safeParse(raw, { error: wordsFor });
  if (!parsed.success) {
    const problems = parsed.error.issues.flatMap((issue) => issueProblems(issue, raw, placeOf, fileSchema));
    throw invalid(file, problems);
  }
  const problems: ConfigProblem[] = [];
  const report: Report = (path, message) =>
    problems.push({ place: placeOf(["tasks", ...path]), key: ["tasks", ...path].join("."), message });
  const { tasks } = parsed.data;
  for (const [index, task] of tasks.entries()) {
    checkName(tasks, index, report);
    checkFiles(task, index, report);
    for (const [path, pattern] of patternsOf(task)) checkPattern([index, "expect", ...path], pattern, report);
  }
  if (problems.length > 0) throw invalid(file, problems);
  return tasks;
}

function checkName(tasks: readonly Task[], index: number, report: Report): void {
  const { name = "" } = tasks[index] ?? {};
  const first = tasks.findIndex((task) => task.name === name);
  if (first !== index) report([index, "name"], `"${name}" is the name of task ${first + 1} too. Choose another one.`);
}

function checkFiles({ files, turns, expect }: Task, index: number, report: Report): void {
  const checkPath = (path: Path, name: string) => {
    const isOutside = isAbsolute(name) || normalize(name).startsWith("..");
    if (isOutside) report(path, `"${name}" is outside of the working folder. Write it relative to it.`);
  };
  for (const name of Object.keys(files)) checkPath([index, "files", name], name);
  for (const name of Object.keys(expect.files)) checkPath([index, "expect", "files", name], name);
  for (const [turn, { attach }] of turns.entries())
    for (const [at, name] of attach.entries())
      if (!Object.hasOwn(files, name))
        report([index, "turns", turn, "attach", at], `"${name}" is not in the task's files. Add it there.`);
}

function patternsOf({ expect }: Task): [Path, string][] {
  const lists = (["answer", "notAnswer", "memory", "notMemory"] as const).flatMap((key) =>
    expect[key].map((pattern, at): [Path, string] => [[key, at], pattern]),
  );
  const files = Object.entries(expect.files).flatMap(([name, pattern]): [Path, string][] =>
    pattern === null ? [] : [[["files", name], pattern]],
  );
  const reminders = expect.reminders.map(({ text }, at): [Path, string] => [["reminders", at, "text"], text]);
  return [...lists, ...files, ...reminders];
}

function checkPattern(path: Path, pattern: string, report: Report): void {
  try {
    patternOf(pattern);
  } catch (thrown) {
    const why = messageOf(thrown).replace(/^Invalid regular expression: /, "");
    report(
      path,
      `"${pattern}" is not a regular expression (${why}). To search for a sign such as ( or +, write \\( or \\+.`,
    );
  }
}

function invalid(file: string, problems: readonly ConfigProblem[]): RemoraError {
  const lines = problems.map((problem) => `  ${formatProblem(problem)}`).join("\n");
  const message = `the file of tasks has ${counted(problems.length, "problem")}:\n${lines}`;
  return new RemoraError({ code: "eval.invalid-tasks", place: file, message });
}
