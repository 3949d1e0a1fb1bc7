/** Runs a foreground command. None of its processes outlives it. Non-zero exit codes are answers, not failures. */
import type {
  CommandEnd,
  JsonObject,
  PluginCommands,
  PluginContext,
  PluginResult,
} from "../../src/plugin-sdk/plugin.ts";
import { createOutputKeeper } from "./output.ts";

/** Below the tool's own limit of 120 s so that a slow command's output is not lost. */
const maxSeconds = 115;
/** A command with more output is stopped. */
const maxOutputBytes = 64 * 1024 * 1024;

type Ending = "by itself" | "out of time" | "too much output" | "stopped";

export async function runToEnd(
  command: string,
  commands: PluginCommands,
  { config, signal }: Pick<PluginContext, "config" | "signal">,
): Promise<PluginResult> {
  const seconds = secondsIn(config);
  const started = await commands.run(command, signal);
  const output = createOutputKeeper();
  let ending: Ending = "by itself";
  const stop = (why: Ending) => {
    if (ending === "by itself") ending = why;
    started.kill();
  };
  const onAbort = () => stop("stopped");
  const timer = setTimeout(() => stop("out of time"), seconds * 1_000);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  started.output.on("data", (chunk: Uint8Array) => {
    output.add(chunk);
    if (output.size() > maxOutputBytes) stop("too much output");
  });
  try {
    return resultOf(await started.ended, output.text().trimEnd(), ending, seconds);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

function resultOf(end: CommandEnd, text: string, ending: Ending, seconds: number): PluginResult {
  const { exitCode, signal, limit, message, hint } = end;
  if (ending !== "by itself") return failure(endingText(ending, seconds), text);
  if (exitCode === 0) return text === "" ? "(exit code 0, no output)" : `${text}\n\n(exit code 0)`;
  if (limit !== undefined) return failure("stopped at a limit", text, `${message} None of its changes were kept.`);
  if (exitCode !== undefined) return failure(`exit code ${exitCode}`, text, hint);
  return failure(signal === undefined ? `it could not be started: ${message}` : `ended by ${signal}`, text);
}

function secondsIn({ seconds }: JsonObject): number {
  return typeof seconds === "number" && seconds > 0 ? Math.min(seconds, maxSeconds) : maxSeconds;
}

function endingText(ending: Exclude<Ending, "by itself">, seconds: number): string {
  switch (ending) {
    case "out of time":
      return `stopped after ${seconds} s, and its changes were discarded; for longer commands use background: true`;
    case "too much output":
      return "stopped because it wrote more than 64 MiB; none of its changes were kept. Write to a file, or reduce the output";
    case "stopped":
      return "stopped before it finished; none of its changes were kept";
    default:
      return ending satisfies never;
  }
}

function failure(what: string, text: string, hint = ""): PluginResult {
  const said = text === "" ? `(${what}, no output)` : `${text}\n\n(${what})`;
  return { success: false, output: "", error: hint === "" ? said : `${hint}\n\n${said}` };
}
