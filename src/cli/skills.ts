/** `remora skills check` reports problems in SKILL.md files, runs their gate_tests, and lints their patterns. */
import { readFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import type { Environment } from "../config/environment.ts";
import { createGate } from "../gate/gate.ts";
import { lintRules } from "../gate/lint.ts";
import { lintArguments } from "../gate/lint-arguments.ts";
import type { Gate, GateRules } from "../ports/gate.ts";
import type { SkillDiagnostic, SkillSet } from "../ports/skill.ts";
import { gateRules } from "../skill-runtime/library/library.ts";
import { checkSkills, loadSkills, type SkillReport } from "../skill-runtime/library/load.ts";
import { lintKeys } from "../skill-runtime/parse/lint-keys.ts";
import { withStandIns } from "../skill-runtime/plugins/dynamic-tools.ts";
import { coloured } from "./coloured.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";

export async function checkSkillsCommand(
  env: Environment,
  root: string,
  folders: string[],
  options: { json?: boolean },
): Promise<void> {
  const roots = folders.length > 0 ? folders.map((folder) => resolve(folder)) : skillRootsOf(settingsFor(env, root));
  const [reports, loaded] = await Promise.all([checkSkills(roots), loadSkills(roots)]);
  const set = withStandIns(loaded);
  const rules = gateRules(set);
  const gate = createGate({ rules, matching: "extended" });
  const failures = set.skills.flatMap((skill) =>
    skill.gateTests.flatMap((wanted) => failedTest(gate, skill.path, wanted)),
  );
  const checked = reports.map((report) => withFailures(report, failures));
  process.stdout.write(options.json ? `${JSON.stringify(checked, null, 1)}\n` : describe(checked));
  const keyHints = await Promise.all(reports.map(({ path }) => keyHintsOf(path)));
  for (const { path, line, message } of [...hintsFor(set, rules), ...keyHints.flat()])
    process.stderr.write(`hint ${path}:${line} ${message}\n`);
  if (checked.some((report) => report.diagnostics.some((diagnostic) => diagnostic.severity === "error"))) {
    process.exitCode = 1;
  }
}

/** Finds patterns that are valid but probably a mistake. */
function hintsFor(set: SkillSet, rules: GateRules): { path: string; line: number; message: string }[] {
  const tools = set.skills.flatMap((skill) => skill.tools);
  const known = new Set(set.diagnostics.map(({ path, line }) => `${path}:${line}`));
  const names = tools.map(({ name }) => name);
  const hints = [...lintRules(rules, names), ...lintArguments(rules, tools)].map(({ path, line, message }) => ({
    ...{ path, line, message },
  }));
  return hints.filter(({ path, line }) => !known.has(`${path}:${line}`));
}

/** A report can be about a folder, which has no keys. */
async function keyHintsOf(path: string): Promise<{ path: string; line: number; message: string }[]> {
  const bytes = await readFile(path).catch(() => undefined);
  return bytes === undefined ? [] : lintKeys(bytes).map((hint) => ({ path, ...hint }));
}

function failedTest(
  gate: Gate,
  path: string,
  wanted: SkillSet["skills"][number]["gateTests"][number],
): SkillDiagnostic[] {
  const verdict = gate.classify(wanted.tool, wanted.args);
  if (verdict.class === wanted.want) return [];
  const because = verdict.matches.map((match) => `${match.skill} ${match.pattern} (${match.form})`).join(", ");
  return [
    {
      path,
      line: wanted.line,
      severity: "error",
      code: "skill.gate-test-failed",
      message: `${wanted.tool} ${verdict.argsJson} should be ${wanted.want}, but is ${verdict.class}${because === "" ? "" : `: ${because}`}`,
    },
  ];
}

function withFailures(report: SkillReport, failures: SkillDiagnostic[]): SkillReport {
  const own = failures.filter(({ path }) => path === report.path);
  if (own.length === 0) return report;
  const verdict = report.verdict === "accept" ? "warn" : report.verdict;
  return { ...report, verdict, diagnostics: [...report.diagnostics, ...own] };
}

const words = { accept: "ok", warn: "warning", skip: "unusable" };

function describe(reports: SkillReport[]): string {
  const lines = reports.flatMap((report) => {
    const what = [
      `tools: ${report.tools.length}`,
      `patterns that block: ${report.danger}`,
      `that ask: ${report.confirm}`,
    ].join(", ");
    const path = relative(process.cwd(), report.path);
    return [
      `${coloured(report.verdict, words[report.verdict].padEnd(8))} ${report.name ?? "(no name)"}  ${path}  ${what}`,
      ...report.diagnostics.map(
        ({ line, severity, message }) => `         ${coloured(severity)} ${path}:${line} ${message}`,
      ),
    ];
  });
  const count = (verdict: SkillReport["verdict"]) => reports.filter((report) => report.verdict === verdict).length;
  const [ok, problems, skipped] = [count("accept"), count("warn"), count("skip")];
  const all = reports.length === 1 ? "1 skill" : `${reports.length} skills`;
  const parts = [`${ok} without problems`, `${problems} with problems`, `${skipped} unusable`];
  return `${[...lines, `${all}: ${parts.join(", ")}`].join("\n")}\n`;
}
