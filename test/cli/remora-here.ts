/**
 * `remora …` within the test's process, with the arguments, variables and output of a process of its own
 * (remora-command.ts), and without its start, which costs most of the processor time.
 */
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { Command } from "commander";
import { vi } from "vitest";
import { addDataCommands } from "../../src/cli/program/data.ts";
import { addOperationsCommands } from "../../src/cli/program/operations.ts";
import { addPeopleCommands } from "../../src/cli/program/people.ts";
import { addSkillCommands } from "../../src/cli/program/skills.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import { type Ended, environmentOf } from "./remora-command.ts";

const project = resolve(import.meta.dirname, "../..");

export function remoraHere(home: string, ...given: string[]): Promise<Ended> {
  return commandHere(environmentOf(home), given);
}

export async function commandHere(env: Record<string, string>, given: string[], input = ""): Promise<Ended> {
  const program = new Command("remora");
  for (const add of [addSkillCommands, addPeopleCommands, addDataCommands, addOperationsCommands])
    add(program, project);
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const before = process.exitCode;
  process.exitCode = undefined;
  const [stdout, stderr] = [collect(process.stdout), collect(process.stderr)];
  const stdin = vi.spyOn(process, "stdin", "get").mockReturnValue(Readable.from([input]) as typeof process.stdin);
  let refused = "";
  try {
    await program.parseAsync(given, { from: "user" });
  } catch (thrown) {
    // As main.ts does.
    if (!(thrown instanceof RemoraError)) throw thrown;
    refused = `${thrown.message}\n`;
    process.exitCode = 1;
  } finally {
    stdout.stop();
    stderr.stop();
    stdin.mockRestore();
    vi.unstubAllEnvs();
  }
  const code = Number(process.exitCode ?? 0);
  process.exitCode = before;
  return { code, stdout: stdout.text(), stderr: stderr.text() + refused };
}

function collect(stream: NodeJS.WriteStream): { text(): string; stop(): void } {
  let text = "";
  const spy = vi.spyOn(stream, "write").mockImplementation((piece) => {
    text += String(piece);
    return true;
  });
  return { text: () => text, stop: () => spy.mockRestore() };
}
