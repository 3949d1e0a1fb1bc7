/** The configured servers, each with its connection. Loaded only if at least one server is configured. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { failure } from "../../src/plugin-sdk/failure.ts";
import type { JsonObject, PluginContext, PluginHome, PluginResult } from "../../src/plugin-sdk/plugin.ts";
import { createOutputRedactor, isSecretName } from "../../src/plugin-sdk/redact-output.ts";
import { addressTransports } from "./address.ts";
import { type Connection, type ConnectionOptions, createConnection } from "./connection.ts";
import { createProgramTransport } from "./program.ts";
import { readResult } from "./result.ts";
import type { CallOutcome } from "./session.ts";
import type { ProgramServer, ServerSettings } from "./settings.ts";

export interface Servers {
  /** `name` is `server/tool`. */
  call(name: string, input: JsonObject, context: PluginContext): Promise<PluginResult>;
  close(): Promise<void>;
}

/** Limits for lines of standard error: how many are kept to explain a failure, and how many are logged per minute. */
const maxKeptLines = 5;
/** Earlier lines may hold the beginning of a secret. */
const maxRawLines = 25;
const maxLineLength = 500;
/** Lines that come together are redacted together, because a secret may be broken over them. */
const heldMs = 200;
const loggedLines = 20;

export function createServers(
  settings: ReadonlyMap<string, ServerSettings>,
  home: PluginHome,
  times: ConnectionOptions["times"] = {},
): Servers {
  const connections = new Map<string, Connection>();
  for (const [name, server] of settings) {
    const log = home.log;
    const redact = createOutputRedactor(hiddenIn(server));
    const lines = createLines(name, redact, log);
    const transports =
      "command" in server ? [() => programTransport(name, server, home, lines.add)] : addressTransports(server);
    const onOffer: ConnectionOptions["onOffer"] = (offer) => home.offer?.(name, offer);
    const about = { name, server, transports, lastLines: lines.last, redact, onOffer, log, times };
    connections.set(name, createConnection(about));
  }
  return {
    async call(name, input, context) {
      const [server = "", ...rest] = name.split("/");
      const tool = rest.join("/");
      const connection = connections.get(server);
      if (connection === undefined) return failure(`The server ${server} is not in the settings.`);
      const outcome = await connection.call(tool, input, context.signal);
      const fileName = `${server}-${tool.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 60)}`;
      return await toResult(outcome, server, { workingFolder: context.workingFolder, fileName });
    },
    async close() {
      await Promise.all([...connections.values()].map((connection) => connection.close()));
    },
  };
}

function toResult(outcome: CallOutcome, server: string, place: { workingFolder: string; fileName: string }) {
  switch (outcome.type) {
    case "answered":
      return readResult(outcome.result, place);
    case "refused":
      return failure(`The server ${server} refused: ${outcome.message}`);
    case "unsent":
      return { ...failure(`The server ${server} could not be reached: ${outcome.message}`), retryable: true };
    case "unknown":
      return failure(
        `The server ${server} gave no answer. The call may or may not have taken effect: ${outcome.message}`,
      );
    default:
      return outcome satisfies never;
  }
}

/** By default a program runs in its own folder, because Remora's folder contains Remora's settings. */
function programTransport(
  name: string,
  server: ProgramServer,
  { dataFolder }: PluginHome,
  onLine: (line: string) => void,
) {
  const own = join(dataFolder, name);
  if (server.cwd === undefined) mkdirSync(own, { recursive: true });
  const { command, args, env, cwd = own } = server;
  return createProgramTransport({ command, args, env, cwd, onLine });
}

/** Everything that the settings give the server may be a secret: variables, headers, and parts of addresses and arguments. */
function hiddenIn(server: ServerSettings): [name: string, value: string][] {
  if ("url" in server) return [["url password", server.url], ...Object.entries(server.headers)];
  const { args, env } = server;
  const ofArgs = args.map((arg, index): [string, string] => {
    const [, flag, value] = /^(-{0,2}[\w.-]+)=(.+)$/s.exec(arg) ?? [];
    return value === undefined ? [args[index - 1] ?? "", arg] : [flag ?? "", value];
  });
  // Other arguments are names of packages and files.
  return [
    ...ofArgs.filter(([name, value]) => isSecretName(name) || /^[a-z][a-z0-9+.-]*:\/\//i.test(value)),
    ...Object.entries(env),
  ];
}

function createLines(server: string, redact: (text: string) => string, log: PluginHome["log"]) {
  let kept: string[] = [];
  let fresh = 0;
  let began = 0;
  let logged = 0;
  let isWaiting = false;
  const clean = (count: number) =>
    redact(kept.join("\n"))
      .split("\n")
      .slice(-count)
      .map((line) => line.slice(0, maxLineLength));

  function write(): void {
    isWaiting = false;
    if (Date.now() - began > 60_000) [began, logged] = [Date.now(), 0];
    const lines = fresh === 0 ? [] : clean(Math.min(fresh, loggedLines));
    fresh = 0;
    for (const line of lines) {
      logged += 1;
      if (logged <= loggedLines) log.info({ server, line }, "a tool server wrote to standard error");
      if (logged === loggedLines) log.info({ server }, "dropping its output for the rest of this minute");
    }
  }

  return {
    last: () => [...new Set(kept.length === 0 ? [] : clean(maxKeptLines))].join(" | "),
    add(line: string) {
      kept = [...kept, line].slice(-maxRawLines);
      fresh += 1;
      if (!isWaiting) setTimeout(write, heldMs).unref();
      isWaiting = true;
    },
  };
}
