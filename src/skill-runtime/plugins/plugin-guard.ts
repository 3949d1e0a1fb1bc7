/**
 * Keeps what plugins do to the process from being done to the bot:
 *
 *   - `process.exit` of a plugin, or another way to end the process, throws in the plugin instead, also as an import of its own
 *   - what it writes to standard output goes to the log, because standard output belongs to the commands
 *   - what it throws outside of its call (in a timer, in a promise nobody waits for) is logged
 *
 * Whose code is running is known from the asynchronous context, so that all other code is left alone.
 * What a plugin does without ever giving way, an endless loop, can't be stopped from inside the process.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";
import { inspect } from "node:util";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";

export interface PluginGuard {
  /** Runs code of a skill. The process is guarded from the first time on. */
  run<T>(skill: string, code: () => T): T;
  /** The log as it may be handed to a plugin: what it writes is never taken for the plugin's own output. */
  logFor(skill: string): Log;
  /** The process is as it was. */
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

/** The ways to end the process that code comes upon by accident; returns the way to put them back. */
function guardExits(running: AsyncLocalStorage<string | undefined>): () => void {
  const { exit, abort, kill } = process;
  const refuseToPlugins = () => {
    const skill = running.getStore();
    if (skill === undefined) return;
    throw new RemoraError({
      code: "skill.exit",
      place: `skill ${skill}`,
      message: "its plugin tried to end the process, which is not for a plugin to do: throw an error instead",
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
    // Signal 0 only asks whether a process is there; SIGKILL to oneself is no accident, and how the bot is made to die in tests.
    kill: ((pid, signal) => {
      const isOwn = [process.pid, -process.pid, 0, -1].includes(pid);
      if (isOwn && signal !== 0 && signal !== "SIGKILL") refuseToPlugins();
      return kill.call(process, pid, signal);
    }) satisfies typeof kill,
  };
  Object.assign(process, guarded);
  // `import { exit } from "node:process"` has the function as it was when somebody first imported from there.
  syncBuiltinESMExports();
  return () => {
    if (process.exit === guarded.exit) process.exit = exit;
    if (process.abort === guarded.abort) process.abort = abort;
    if (process.kill === guarded.kill) process.kill = kill;
    syncBuiltinESMExports();
  };
}

/** What Node does with an uncaught exception when nobody captures it. */
function crash(thrown: unknown, exit: typeof process.exit): void {
  if (process.listenerCount("uncaughtException") > 0) {
    (process as NodeJS.EventEmitter).emit("uncaughtException", thrown, "uncaughtException");
    return;
  }
  process.stderr.write(`Uncaught ${inspect(thrown)}\n`);
  exit.call(process, 1);
}
