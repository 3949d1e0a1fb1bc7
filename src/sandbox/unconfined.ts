/**
 * Commands without a sandbox, for machines that have none. Each was approved by an owner before it runs: it has the rights
 * of this process, and it changes the real folder at once.
 */
import { homedir } from "node:os";
import { delimiter } from "node:path";
import { execa } from "execa";
import type { RunningCommand } from "../ports/sandbox.ts";
import { findProgram } from "./find-program.ts";

const systemPath = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/** Both streams into one pipe, so that the order is kept; `$0` is the shell, `$1` the command as it was written. */
const joinStreams = 'exec "$0" -c "$1" 2>&1';

export async function startUnconfined(text: string, folder: string): Promise<RunningCommand> {
  const shell = (await findProgram("bash")) ?? "/bin/sh";
  const env = { PATH: process.env.PATH ?? systemPath.join(delimiter), HOME: homedir(), LANG: "C.UTF-8" };
  const started = execa(shell, ["-c", joinStreams, shell, text], {
    ...{ cwd: folder, env, extendEnv: false, reject: false, buffer: false, all: true, stdin: "ignore" },
    ...{ killDescendants: true, killSignal: "SIGKILL" },
  } as const);
  const kill = () => {
    started.kill("SIGKILL");
  };
  // What a command leaves running would keep its output open for ever.
  started.nodeChildProcess.once("exit", kill);
  const ended = started.then(({ exitCode, signal, shortMessage = "" }) => ({
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(signal === undefined ? {} : { signal }),
    message: exitCode === 0 ? "" : shortMessage,
  }));
  return { output: started.all, ended, kill };
}
