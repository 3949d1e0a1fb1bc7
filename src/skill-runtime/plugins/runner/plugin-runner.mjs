/**
 * Runs inside a plugin's process. Must not import other files of Remora, because the process sees only this file.
 *
 *   1. connect to the given socket and receive the plugin's place
 *   2. load the plugin, run its `init`, and report that it is ready
 *   3. run calls, several at the same time; calls reach Remora through the socket
 *   4. when told to end, await `destroy` and exit
 *
 * Messages are JSON, one per line. The other side checks everything that this side sends (isolated/channel.ts).
 */
import { spawn } from "node:child_process";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

const socket = connect(process.argv[2]);
const maxCauses = 4;
const unabridged = {
  depth: 10,
  maxArrayLength: 10_000,
  maxStringLength: 100_000,
  customInspect: false,
  getters: false,
};

/** By id: running calls, and questions that wait for an answer. */
const calls = new Map();
const waiting = new Map();
let lastId = 0;
let plugin;
let home;

function send(message) {
  socket.write(`${JSON.stringify(message)}\n`);
}

/** Resolves with the other side's answer. `call`: the call that asks. */
function ask(call, service, method, args) {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    send({ type: "ask", id, call, service, method, args });
  });
}

async function receive(message) {
  switch (message.type) {
    case "init":
      return await start(message);
    case "call":
      return await run(message);
    case "abort":
      return calls.get(message.id)?.abort(new DOMException(message.reason, "AbortError"));
    case "ping":
      return send({ type: "pong" });
    case "reply":
      return settle(message);
    case "end":
      return await end();
  }
}

function settle({ id, value, error }) {
  const question = waiting.get(id);
  waiting.delete(id);
  if (error === undefined) question?.resolve(value);
  else question?.reject(Object.assign(new Error(error.message), error));
}

async function start({ path, providesTools, ...given }) {
  try {
    home = { ...given.home, log: createLog() };
    if (providesTools) home.offer = (source, offer) => send({ type: "offer", source, offer });
    const { default: exported } = await import(pathToFileURL(path).href);
    plugin = asPlugin(exported, path);
    await plugin.init?.(home);
    send({ type: "ready" });
  } catch (thrown) {
    send({ type: "failed", error: describeError(thrown, 0) });
  }
}

/** The two shapes of a plugin, as in plugin-shape.ts. */
function asPlugin(exported, path) {
  const found = hasExecute(exported) ? exported : exported?.default;
  if (!hasExecute(found))
    throw new Error(`${path} has no default export with a function execute(tool, input, context): add one`);
  if (!("tools" in found) || !("name" in found)) return found;
  return {
    init: (given) => found.init?.(given),
    execute: (tool, input, context) => found.execute(tool, input, context.signal),
    destroy: () => found.destroy?.(),
  };
}

function hasExecute(exported) {
  return typeof exported === "object" && exported !== null && typeof exported.execute === "function";
}

function createLog() {
  const write = (level) => (fields, message) =>
    send({ type: "log", level, fields: JSON.parse(toText(fields ?? {}) || "{}"), message: String(message) });
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

async function run({ id, tool, input, context, services, jobs, shell }) {
  const stopped = new AbortController();
  calls.set(id, stopped);
  try {
    const extra = { ...stubsOf(id, services), ...(jobs === undefined ? {} : { jobs: jobsOf(id, jobs) }) };
    if (shell !== undefined) extra.commands = commandsOf(id, shell, context.workingFolder);
    const result = await plugin.execute(tool, input, { ...home, ...context, ...extra, signal: stopped.signal });
    send({ type: "result", id, ...plain(result) });
  } catch (thrown) {
    send({ type: "thrown", id, error: describeError(thrown, 0) });
  } finally {
    calls.delete(id);
  }
}

/** Services by the names of their methods. `ask` is itself a function. */
function stubsOf(call, services) {
  return Object.fromEntries(
    Object.entries(services).map(([service, methods]) => [
      service,
      methods === true
        ? (...args) => ask(call, service, "", args)
        : Object.fromEntries(methods.map((method) => [method, (...args) => ask(call, service, method, args)])),
    ]),
  );
}

function jobsOf(call, jobs) {
  return {
    list: () => jobs,
    read: (id) => ask(call, "jobs", "read", [id]),
    stop: (id) => ask(call, "jobs", "stop", [id]),
  };
}

/** Runs commands directly, because this process is already in their sandbox. */
function commandsOf(call, shell, cwd) {
  return {
    startJob: (text) => ask(call, "commands", "startJob", [text]),
    async run(text, signal) {
      const child = spawn(shell, ["-c", text], { cwd, stdio: ["ignore", "pipe", "pipe"], detached: true });
      const output = new PassThrough();
      child.stdout.pipe(output, { end: false });
      child.stderr.pipe(output, { end: false });
      const kill = () => {
        try {
          process.kill(-child.pid, "SIGKILL");
        } catch {
          // It has already ended.
        }
      };
      signal?.addEventListener("abort", kill, { once: true });
      const ended = new Promise((resolve) => {
        child.once("error", (thrown) => resolve({ message: thrown.message }));
        child.once("close", (exitCode, killedBy) => {
          const how = killedBy === null ? `It ended with exit code ${exitCode}.` : `It was ended by ${killedBy}.`;
          resolve(
            killedBy === null ? { exitCode, message: exitCode === 0 ? "" : how } : { signal: killedBy, message: how },
          );
        });
      }).finally(() => output.end());
      return { output, ended, kill };
    },
  };
}

/** A result as JSON. Values that JSON lacks become text, as without a process in between. */
function plain(result) {
  if (result === undefined || result === null) return {};
  if (typeof result === "string") return { value: result };
  if (typeof result !== "object" || typeof result.success !== "boolean") return { value: [toText(result)] };
  const { success, output, error, retryable, files, images } = result;
  const value = { success, output: toText(output), error: toText(error), retryable };
  return { value: { ...value, ...listed({ files, images }) } };
}

function listed(lists) {
  const given = Object.entries(lists).filter(([, list]) => Array.isArray(list));
  return Object.fromEntries(given.map(([name, list]) => [name, JSON.parse(toText(list))]));
}

function toText(value) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return inspect(value, unabridged);
  }
}

/** The properties of an error that tell a transient failure from a final one. Accepts anything. */
function describeError(thrown, depth) {
  try {
    if (typeof thrown !== "object" || thrown === null) return { name: "Error", message: String(thrown) };
    const { name, message, code, status, statusCode, retryAfterMs, isRetryable, cause, errors } = thrown;
    const nested = (value) => (value === undefined || depth >= maxCauses ? undefined : describeError(value, depth + 1));
    return {
      name: String(name ?? "Error"),
      message: String(message ?? inspect(thrown)),
      ...(typeof code === "string" ? { code } : {}),
      ...(typeof status === "number" ? { status } : typeof statusCode === "number" ? { status: statusCode } : {}),
      ...(typeof retryAfterMs === "number" ? { retryAfterMs } : {}),
      ...(isRetryable === true ? { isRetryable } : {}),
      ...(cause === undefined ? {} : { cause: nested(cause) }),
      ...(Array.isArray(errors) ? { errors: errors.slice(0, 8).map(nested).filter(Boolean) } : {}),
    };
  } catch {
    return { name: "Error", message: "the error can't be read" };
  }
}

async function end() {
  try {
    await plugin?.destroy?.();
  } catch (thrown) {
    send({
      type: "log",
      level: "warn",
      fields: { error: String(thrown?.message ?? thrown) },
      message: "a plugin failed while it was being ended",
    });
  }
  socket.end(() => process.exit(0));
}

// An exception after one call has ended must not end the other calls.
process.on("uncaughtException", (thrown) => {
  const { message } = describeError(thrown, maxCauses);
  send({ type: "log", level: "error", fields: { error: message }, message: "a plugin threw outside of its call" });
});
process.on("unhandledRejection", (thrown) => {
  const { message } = describeError(thrown, maxCauses);
  send({ type: "log", level: "error", fields: { error: message }, message: "a plugin threw outside of its call" });
});

let rest = "";
socket.setEncoding("utf8");
socket.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) void receive(JSON.parse(line));
});
socket.on("error", () => process.exit(1));
// The parent is gone.
socket.on("close", () => process.exit(0));
