/** Runs a program of the machine, such as systemctl, and collects what it says. */
import { spawn } from "node:child_process";
import { serviceError } from "./service-error.ts";

export interface Ran {
  /** Null if the program does not exist or was killed. */
  code: number | null;
  output: string;
}

export type RunProgram = (name: string, args: readonly string[], show?: "show") => Promise<Ran>;

/** With `show`, the program uses this terminal. */
export const runProgram: RunProgram = (name, args, show) =>
  new Promise((done) => {
    const child = spawn(name, args, { stdio: show === undefined ? ["ignore", "pipe", "pipe"] : "inherit" });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += chunk));
    child.once("error", (thrown) => done({ code: null, output: thrown.message }));
    child.once("close", (code) => done({ code, output: output.trim() }));
  });

export async function must(run: RunProgram, name: string, args: readonly string[], hint = ""): Promise<void> {
  const { code, output } = await run(name, args);
  if (code !== 0) throw serviceError(`\`${name} ${args.join(" ")}\` failed: ${output}${hint}`);
}
