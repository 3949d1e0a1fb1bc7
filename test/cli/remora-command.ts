/** `remora …` as a real process, with its own workspace and data. */
import { spawn } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";

const project = resolve(import.meta.dirname, "../..");

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** An empty folder that is gone when the test is over. */
export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "remora-cli-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export function environmentOf(home: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    HOME: home,
    REMORA_WORKSPACE: join(home, "workspace"),
    REMORA_DATA: join(home, "data"),
    REMORA_ENV_FILE: "/dev/null",
  };
}

export function remora(home: string, ...given: string[]): Promise<Ended> {
  return runCommand(project, environmentOf(home), ...given);
}

/** Runs the code of `checkout`. */
export async function runCommand(checkout: string, env: Record<string, string>, ...given: string[]): Promise<Ended> {
  const child = spawn(process.execPath, ["src/remora.mjs", ...given], {
    cwd: checkout,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended: Ended = { code: null, stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (ended.stdout += chunk));
  child.stderr.on("data", (chunk) => (ended.stderr += chunk));
  ended.code = await new Promise((done) => child.once("close", done));
  return ended;
}
