/** `remora doctor` says what to do about each problem, and `--fix` repairs what it can. Exit code 1: something is broken. */
import { confirm, isCancel } from "@clack/prompts";
import type { Environment } from "../config/environment.ts";
import { runFix } from "../health/repairs.ts";
import { checkText, type HealthCheck } from "../ports/health.ts";
import { runChecks } from "./doctor-checks.ts";

export interface DoctorOptions {
  json?: boolean;
  fix?: boolean;
  /** Repairs without asking. */
  yes?: boolean;
}

const stateWidth = 8;
const nameWidth = 15;

export async function doctorCommand(env: Environment, root: string, options: DoctorOptions): Promise<void> {
  const found = await runChecks(env, root);
  const repairs = options.fix === true ? await repair(found, options) : [];
  const checks = repairs.some(({ isFixed }) => isFixed) ? await runChecks(env, root) : found;
  const isHealthy = checks.every((check) => check.state !== "broken");
  if (!isHealthy) process.exitCode = 1;
  const shown = checks.map(({ fix, ...check }) => ({ ...check, canBeFixed: fix !== undefined }));
  const repaired = repairs.map(({ text }) => text);
  process.stdout.write(
    options.json === true
      ? `${JSON.stringify({ isHealthy, checks: shown, repaired }, null, 1)}\n`
      : `${[...repairs.map(repairLine), ...checks.map(lineOf), ...hintOf(checks, options)].join("\n")}\n`,
  );
}

async function repair(checks: HealthCheck[], { yes }: DoctorOptions): Promise<{ isFixed: boolean; text: string }[]> {
  const done: { isFixed: boolean; text: string }[] = [];
  for (const check of checks.filter(({ fix }) => fix !== undefined)) {
    if (yes === true || (await isAgreed(check.fix?.question ?? ""))) done.push(await runFix(check));
    else done.push({ isFixed: false, text: `${check.name}: left as it is` });
  }
  return done;
}

/** Without a terminal, nobody can agree. */
async function isAgreed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const answer = await confirm({ message: question });
  return !isCancel(answer) && answer;
}

function repairLine({ isFixed, text }: { isFixed: boolean; text: string }): string {
  return `${(isFixed ? "fixed" : "not").padEnd(stateWidth)} ${text}`;
}

function lineOf(check: HealthCheck): string {
  return `${check.state.padEnd(stateWidth)} ${check.name.padEnd(nameWidth)} ${checkText(check)}`;
}

function hintOf(checks: HealthCheck[], { fix, yes }: DoctorOptions): string[] {
  const count = checks.filter((check) => check.fix !== undefined).length;
  if (count === 0) return [];
  const again = fix === true && yes !== true && !process.stdin.isTTY;
  const command = `npm run -s remora -- doctor --fix${again ? " --yes" : ""}`;
  return ["", `${count === 1 ? "1 problem" : `${count} problems`} can be repaired: ${command}`];
}
