/**
 * Protects the process from plugins. `process.exit` and similar functions throw in a plugin, even if it imports them.
 * Plugin output goes to the log, because standard output belongs to Remora's commands. Exceptions outside of a call are
 * logged. The asynchronous context tells whose code is running, so other code is not affected. An endless loop in a
 * plugin can't be stopped from inside the process.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";
import { inspect } from "node:util";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";

export interface PluginGuard {
  /** Runs code of a skill. The first use installs the guard. */
  run<T>(skill: string, code: () => T): T;
  /** A log whose lines the guard does not mistake for the plugin's standard output. */
  logFor(skill: string): Log;
  close(): void;
}

export function createPluginGuard(log: Log): PluginGuard {
  const running = new AsyncLocalStorage<string | undefined>();
  let release: (() => void) | undefined;
  return {
    run(skill, code) {
      release ??= guardProcess(running, log);
      return running.run(skill, code);
    },
    logFor(skill) {
      const write = (level: keyof Log) => (fields: object, message: string) =>
        running.run(undefined, () => log[level]({ ...fields, skill }, message));
      return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
    },
    close() {
      release?.();
      release = undefined;
    },
  };
}

function guardProcess(running: AsyncLocalStorage<string | undefined>, log: Log): () => void {
  const { exit } = process;
  const { write } = process.stdout;
  const openExits = guardExits(running);
  const guardedWrite = ((chunk: unknown, ...rest: unknown[]) => {
    const skill = running.getStore();
    if (skill === undefined) return Reflect.apply(write, process.stdout, [chunk, ...rest]) as boolean;
    const output =
      typeof chunk === "string" ? chunk : chunk instanceof Uint8Array ? Buffer.from(chunk).toString() : String(chunk);
    running.run(undefined, () => log.info({ skill, output: output.trimEnd() }, "a plugin wrote to standard output"));
    const written = rest.at(-1);
    if (typeof written === "function") queueMicrotask(() => written());
    return true;
  }) as typeof write;
  const catchStray = (thrown: unknown) => {
    const skill = running.getStore();
    if (skill === undefined) return crash(thrown, exit);
    running.run(undefined, () => log.error({ skill, error: messageOf(thrown) }, "a plugin threw outside of its call"));
  };

  process.stdout.write = guardedWrite;
  const isCatching = !process.hasUncaughtExceptionCaptureCallback();
  if (isCatching) process.setUncaughtExceptionCaptureCallback(catchStray);
  return () => {
    openExits();
    if (process.stdout.write === guardedWrite) process.stdout.write = write;
    if (isCatching) process.setUncaughtExceptionCaptureCallback(null);
  };
}

function guardExits(running: AsyncLocalStorage<string | undefined>): () => void {
  const { exit, abort, kill } = process;
  const refuseToPlugins = () => {
    const skill = running.getStore();
    if (skill === undefined) return;
    throw new RemoraError({
      code: "skill.exit",
      place: `skill ${skill}`,
      message: "its plugin tried to end the process, which plugins must not do: throw an error instead",
    });
  };
  const guarded = {
    exit: ((code) => {
      refuseToPlugins();
      return exit.call(process, code);
    }) satisfies typeof exit as typeof exit,
    abort: (() => {
      refuseToPlugins();
      return abort.call(process);
    }) satisfies typeof abort as typeof abort,
    // Signal 0 only tests for existence. SIGKILL is allowed: nobody sends it to itself by accident, and tests use it.
    kill: ((pid, signal) => {
      const isOwn = [process.pid, -process.pid, 0, -1].includes(pid);
      if (isOwn && signal !== 0 && signal !== "SIGKILL") refuseToPlugins();
      return kill.call(process, pid, signal);
    }) satisfies typeof kill,
  };
  Object.assign(process, guarded);
  // Without this, `import { exit } from "node:process"` would return the original function.
  syncBuiltinESMExports();
  return () => {
    if (process.exit === guarded.exit) process.exit = exit;
    if (process.abort === guarded.abort) process.abort = abort;
    if (process.kill === guarded.kill) process.kill = kill;
    syncBuiltinESMExports();
  };
}

function crash(thrown: unknown, exit: typeof process.exit): void {
  if (process.listenerCount("uncaughtException") > 0) {
    (process as NodeJS.EventEmitter).emit("uncaughtException", thrown, "uncaughtException");
    return;
  }
  process.stderr.write(`Uncaught ${inspect(thrown)}\n`);
  exit.call(process, 1);
}
