/** Runs commands without a sandbox, on the real folder with this process's rights. An owner must have approved them. */
import { homedir } from "node:os";
import { delimiter } from "node:path";
import { PassThrough, pipeline } from "node:stream";
import type { RunningCommand } from "../ports/sandbox.ts";
import { findProgram, programFolders } from "./find-program.ts";

/** Joins stdout and stderr in one pipe, to keep their order. `$0` is the shell, and `$1` the command. */
const joinStreams = 'exec "$0" -c "$1" 2>&1';

export async function startUnconfined(text: string, folder: string): Promise<RunningCommand> {
  // Loaded only here: its 140 modules would slow down every start, and most installations have a sandbox.
  const [{ execa }, { markProgram }] = await Promise.all([import("execa"), import("../lib/marked-programs.ts")]);
  const shell = (await findProgram("bash")) ?? "/bin/sh";
  const marked = markProgram();
  const base = { PATH: process.env.PATH ?? programFolders.join(delimiter), HOME: homedir(), LANG: "C.UTF-8" };
  const env = { ...base, ...marked.variables };
  const started = execa(shell, ["-c", joinStreams, shell, text], {
    ...{ cwd: folder, env, extendEnv: false, reject: false, buffer: false, all: true, stdin: "ignore" },
    ...{ killDescendants: true, killSignal: "SIGKILL" },
  } as const);
  // Execa drops output that nobody has begun to read by the next round of the event loop.
  const output = pipeline(started.all, new PassThrough(), () => {});
  const kill = () => {
    started.kill("SIGKILL");
    void marked.end();
  };
  // Kill processes that the command leaves behind, because they would keep its output open.
  started.nodeChildProcess.once("exit", kill);
  const ended = started.then(({ exitCode, signal, shortMessage = "" }) => ({
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(signal === undefined ? {} : { signal }),
    message: exitCode === 0 ? "" : shortMessage,
  }));
  return { output, ended, kill };
}
