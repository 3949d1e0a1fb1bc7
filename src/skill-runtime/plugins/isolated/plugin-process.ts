/** Runs one process of a plugin. If the process ends for any reason, only its running calls fail. */
import { StringDecoder } from "node:string_decoder";
import { RemoraError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { outputRedactorOf } from "../../../lib/redact-output.ts";
import type { JsonObject } from "../../../ports/message.ts";
import type { PluginContext, PluginHome } from "../../../ports/plugin.ts";
import type { RunningPlugin } from "../../../ports/plugin-process.ts";
import type { Skill } from "../../../ports/skill.ts";
import { CallNotStarted } from "../failure.ts";
import { type Channel, type Listening, openChannel } from "./channel.ts";
import { type PluginMessage, thrownBy } from "./messages.ts";
import { answerQuestion, offeredServices, type UsedServices } from "./services.ts";

const maxStartMs = 30_000;
/** How long a plugin may take to end a stopped call. A process that does not answer in this time is ended as stuck. */
const maxStopMs = 2_000;
const maxEndMs = 2_000;
const maxLoggedOutput = 2_000;
const maxHeldOutput = 16_000;
/** Output that belongs together comes in several pieces. */
const heldMs = 100;
/** Limit per process for log messages and pieces of output together. */
const maxLogsPerSecond = 50;

export interface ProcessParts {
  skill: Skill;
  home: PluginHome;
  listening: Listening;
  running: RunningPlugin;
  shell: string;
  log: Log;
}

export interface PluginProcess {
  /** Rejects with the plugin's error, or with code `plugin.ended` if the process ended. */
  execute(tool: string, input: JsonObject, context: PluginContext, services: UsedServices): Promise<unknown>;
  /** After a stopped call, waits until the process answers, and rejects if it is stuck. */
  responsive(): Promise<void>;
  /** Resolves when the process and its children have ended. */
  gone: Promise<void>;
  end(): Promise<void>;
}

interface Pending {
  services: UsedServices;
  resolve(value: unknown): void;
  reject(thrown: unknown): void;
}

/** Starts a process and loads the plugin in it. If that fails, rejects and leaves no process running. */
export async function openPluginProcess(parts: ProcessParts, signal: AbortSignal): Promise<PluginProcess> {
  const { skill, home, listening, running, log } = parts;
  const pending = new Map<number, Pending>();
  let why = "its process ended";
  let lastId = 0;
  let isEnding = false;
  let proof: { done: Promise<void>; resolve(): void; reject(thrown: unknown): void } | undefined;
  const start = openPromise();
  const mayLog = createLogLimit(skill, log);
  logOutput(running, home, (output) => {
    if (mayLog()) log.info({ skill: skill.name, output }, "a plugin wrote to standard output");
  });

  const endedWith = (message: string) =>
    new RemoraError({ code: "plugin.ended", place: `skill ${skill.name}`, message });
  const endedError = () =>
    endedWith(
      `${why} before the call was done. It may or may not have taken effect. The next call starts the process again`,
    );
  const unstartedError = () => endedWith(`${why} before it was ready, so the call did not run`);
  const failAll = () => {
    isEnding = true;
    start.reject(unstartedError());
    proof?.reject(endedError());
    for (const { reject } of pending.values()) reject(endedError());
    pending.clear();
  };
  const gone = running.ended.then(() => {
    listening.close();
    failAll();
  });

  const receive = (message: PluginMessage): void => {
    switch (message.type) {
      case "ready":
        start.resolve();
        break;
      case "failed":
        start.reject(thrownBy(message.error));
        break;
      case "pong":
        proof?.resolve();
        proof = undefined;
        break;
      case "result":
        pending.get(message.id)?.resolve(message.value);
        break;
      case "thrown":
        pending.get(message.id)?.reject(thrownBy(message.error));
        break;
      case "ask":
        void answerQuestion(pending.get(message.call)?.services, message).then((reply) => channel?.send(reply));
        break;
      case "log":
        if (mayLog()) home.log[message.level](message.fields, message.message);
        break;
      case "offer":
        home.offer?.(message.source, message.offer);
        break;
      default:
        message satisfies never;
    }
  };

  let channel: Channel | undefined;
  const timer = setTimeout(() => {
    why = `its process was not ready after ${maxStartMs / 1000} s and was ended`;
    running.kill();
  }, maxStartMs);
  const stop = () => running.kill();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const socket = await Promise.race([listening.connected, gone.then(() => Promise.reject(unstartedError()))]);
    channel = openChannel(socket, receive, (problem) => {
      if (problem !== undefined) why = `its process was ended, because ${problem},`;
      failAll();
      running.kill();
    });
    const { log: _log, offer: _offer, ...plainHome } = home;
    channel.send({ type: "init", path: skill.plugin, providesTools: skill.providesTools, home: plainHome });
    await start.done;
  } catch (thrown) {
    running.kill();
    await gone;
    signal.throwIfAborted();
    throw thrown;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
  const open = channel;

  return {
    gone,
    async responsive() {
      if (isEnding) throw endedError();
      await proof?.done;
    },
    async execute(tool, input, context, services) {
      const id = ++lastId;
      const { signal: callSignal } = context;
      callSignal.throwIfAborted();
      if (isEnding) throw new CallNotStarted(unstartedError());
      let late: NodeJS.Timeout | undefined;
      const onAbort = () => {
        proof ??= openPromise();
        open.send({ type: "abort", id, reason: "the call was stopped" });
        open.send({ type: "ping" });
        late = setTimeout(() => {
          if (proof === undefined) {
            pending.get(id)?.reject(callSignal.reason);
            return;
          }
          why = "its process was ended, because it was stuck,";
          running.kill();
        }, maxStopMs);
      };
      try {
        return await new Promise((resolve, reject) => {
          pending.set(id, { services, resolve, reject });
          open.send({ type: "call", id, tool, input, ...callMessage(context, services, parts.shell) });
          callSignal.addEventListener("abort", onAbort, { once: true });
        });
      } finally {
        clearTimeout(late);
        callSignal.removeEventListener("abort", onAbort);
        pending.delete(id);
      }
    },
    async end() {
      isEnding = true;
      open.send({ type: "end" });
      const timeUp = setTimeout(running.kill, maxEndMs);
      await gone;
      clearTimeout(timeUp);
    },
  };
}

function openPromise() {
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  done.catch(() => {});
  return { done, resolve, reject };
}

function callMessage(context: PluginContext, services: UsedServices, shell: string) {
  const { workingFolder, outputsFolder, scope, conversationId, turnId, requester } = context;
  return {
    context: { workingFolder, outputsFolder, scope, conversationId, turnId, requester },
    services: offeredServices(services),
    ...(services.jobs === undefined ? {} : { jobs: services.jobs.list() }),
    ...(services.commands === undefined ? {} : { shell }),
  };
}

function createLogLimit({ name }: Skill, log: Log): () => boolean {
  let [second, count] = [0, 0];
  return () => {
    const now = Math.floor(Date.now() / 1_000);
    if (now !== second) {
      const leftOut = count - maxLogsPerSecond;
      if (leftOut > 0)
        log.warn({ skill: name, leftOut }, "a plugin wrote too much to the log; some lines were dropped");
      [second, count] = [now, 0];
    }
    count += 1;
    return count <= maxLogsPerSecond;
  };
}

/** Whole lines only, since pieces of output end anywhere, also in the middle of a secret. */
function logOutput({ output }: RunningPlugin, { config }: PluginHome, write: (text: string) => void): void {
  const redact = outputRedactorOf(config);
  const decoder = new StringDecoder();
  let rest = "";
  let isWaiting = false;
  const flush = (length: number) => {
    const text = redact(rest.slice(0, length)).trimEnd().slice(0, maxLoggedOutput);
    rest = rest.slice(length);
    if (text !== "") write(text);
  };
  output.on("data", (chunk: Buffer) => {
    rest = (rest + decoder.write(chunk)).slice(0, maxHeldOutput);
    if (rest.length === maxHeldOutput) rest = rest.replace(/\S*$/, "\n");
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      flush(rest.lastIndexOf("\n") + 1);
    }, heldMs).unref();
  });
  output.on("end", () => flush(rest.length));
  output.on("error", () => {});
}
