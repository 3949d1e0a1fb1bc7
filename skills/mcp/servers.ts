/** The configured servers, each with its connection. Loaded only if at least one server is configured. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { failure } from "../../src/plugin-sdk/failure.ts";
import type { JsonObject, PluginContext, PluginHome, PluginResult } from "../../src/plugin-sdk/plugin.ts";
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
const loggedLines = 20;

export function createServers(
  settings: ReadonlyMap<string, ServerSettings>,
  home: PluginHome,
  times: ConnectionOptions["times"] = {},
): Servers {
  const connections = new Map<string, Connection>();
  for (const [name, server] of settings) {
    const log = home.log;
    const lines = createLines(name, log);
    const transports =
      "command" in server ? [() => programTransport(name, server, home, lines.add)] : addressTransports(server);
    const onOffer: ConnectionOptions["onOffer"] = (offer) => home.offer?.(name, offer);
    const about = { name, server, transports, lastLines: lines.last, onOffer, log, times };
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

function createLines(server: string, log: PluginHome["log"]) {
  let last: string[] = [];
  let began = 0;
  let logged = 0;
  return {
    last: () => [...new Set(last)],
    add(line: string) {
      last = [...last, line].slice(-maxKeptLines);
      if (Date.now() - began > 60_000) [began, logged] = [Date.now(), 0];
      logged += 1;
      if (logged <= loggedLines) log.info({ server, line }, "a tool server wrote to standard error");
      if (logged === loggedLines) log.info({ server }, "dropping its output for the rest of this minute");
    },
  };
}
