/**
 * Keeps the connection to one MCP server for the lifetime of the process. Retries with growing pauses, and offers the
 * tools again when the server reports a change. After the connection is lost, the tools stay listed for a while so that
 * a server restart goes unnoticed. Only calls to this server's tools wait for the connection, and only briefly.
 */
import { messageOf } from "../../src/plugin-sdk/errors.ts";
import { pause } from "../../src/plugin-sdk/pause.ts";
import type { JsonObject, Log, OfferedTool, ToolOffer } from "../../src/plugin-sdk/plugin.ts";
import { onlyReads } from "./only-reads.ts";
import { type CallOutcome, type ListedTool, openSession, type Session, type SessionOptions } from "./session.ts";
import type { ServerSettings } from "./settings.ts";

export interface ConnectionOptions {
  name: string;
  server: ServerSettings;
  transports: SessionOptions["transports"];
  lastLines(): string[];
  onOffer(offer: ToolOffer): void;
  log: Log;
  times?: Partial<ConnectionTimes>;
}

/** All times are in milliseconds. */
export interface ConnectionTimes {
  firstWait: number;
  maxWaitMs: number;
  /** After a connection this long, retries start again with the shortest pause. */
  stable: number;
  forgetAfter: number;
  callWaits: number;
  betweenLists: number;
}

export interface Connection {
  call(tool: string, input: JsonObject, signal: AbortSignal): Promise<CallOutcome>;
  close(): Promise<void>;
}

const defaultTimes: ConnectionTimes = {
  firstWait: 1_000,
  maxWaitMs: 60_000,
  stable: 30_000,
  forgetAfter: 10 * 60_000,
  callWaits: 10_000,
  betweenLists: 1_000,
};

export function createConnection(options: ConnectionOptions): Connection {
  const { name, server, log } = options;
  const times = { ...defaultTimes, ...options.times };
  const closed = new AbortController();
  const waiting = new Set<() => void>();
  let session: Session | undefined;
  let tools = new Map<string, ListedTool>();
  let whyNot = "it has not connected yet";
  let nudge = new AbortController();
  let isStale = false;

  async function attempt(): Promise<Session> {
    isStale = false;
    const opened = await openSession(
      {
        transports: options.transports,
        connectMs: server.connectSeconds * 1_000,
        onChanged: () => void changed(),
        onError: (message) => log.debug({ server: name, error: message }, "unexpected behaviour of a tool server"),
      },
      closed.signal,
    );
    try {
      await look(opened);
    } catch (thrown) {
      await opened.close();
      throw thrown;
    }
    return opened;
  }

  const isAllowed = (tool: ListedTool) => server.allow === undefined || server.allow.includes(tool.name);

  async function look(from: Session): Promise<void> {
    const listed = await from.list(closed.signal);
    tools = new Map(listed.tools.filter(isAllowed).map((tool) => [tool.name, tool]));
    options.onOffer(offerOf(name, server, listed));
  }

  let looking: Promise<void> | undefined;
  async function changed(): Promise<void> {
    isStale = true;
    looking ??= lookAgain().finally(() => {
      looking = undefined;
    });
    await looking;
  }

  /** Requests one list at a time, at growing intervals, because each change rebuilds the gate's rules. */
  async function lookAgain(): Promise<void> {
    for (let wait = times.betweenLists; isStale && session !== undefined; wait *= 2) {
      isStale = false;
      const from = session;
      try {
        await look(from);
      } catch (thrown) {
        if (session === from)
          options.onOffer({ problems: [`${name}: its tools can't be listed: ${messageOf(thrown)}`] });
      }
      await pause(Math.min(wait, times.maxWaitMs), closed.signal);
    }
  }

  function settled(): void {
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  async function keepConnected(): Promise<void> {
    let failures = 0;
    let downSince = Date.now();
    while (!closed.signal.aborted) {
      nudge = new AbortController();
      const began = Date.now();
      try {
        session = await attempt();
        log.info({ server: name, tools: tools.size }, "a tool server is connected");
        settled();
        if (isStale) void changed();
        whyNot = await session.lost;
        downSince = Date.now();
        if (downSince - began >= times.stable) failures = 0;
      } catch (thrown) {
        whyNot = withLines(messageOf(thrown), options.lastLines());
      }
      const gone = session;
      session = undefined;
      await gone?.close().catch(() => {});
      if (closed.signal.aborted) break;
      failures += 1;
      const isLongGone = Date.now() - downSince > times.forgetAfter;
      options.onOffer({ problems: [`${name} is not connected: ${whyNot}`], ...(isLongGone ? { tools: [] } : {}) });
      settled();
      const wait = Math.min(times.firstWait * 2 ** Math.min(failures - 1, 16), times.maxWaitMs);
      await pause(wait, AbortSignal.any([closed.signal, nudge.signal]));
    }
    settled();
  }

  const kept = keepConnected();

  async function connected(signal: AbortSignal): Promise<Session | undefined> {
    if (session !== undefined) return session;
    nudge.abort();
    const outcome = new Promise<void>((resolve) => waiting.add(resolve));
    await Promise.race([outcome, pause(times.callWaits, signal)]);
    signal.throwIfAborted();
    return session;
  }

  return {
    async call(tool, input, signal) {
      const open = await connected(signal);
      if (open === undefined) return { type: "refused", message: `it is not connected: ${whyNot}` };
      const known = tools.get(tool);
      if (known === undefined) return { type: "refused", message: `it has no tool ${tool}, or no longer has it` };
      return await open.call(known, input, server.seconds * 1_000, signal);
    },
    async close() {
      closed.abort();
      nudge.abort();
      await session?.close().catch(() => {});
      await kept;
    },
  };
}

function offerOf(
  name: string,
  { allow, trust = [], readOnly = [], seconds }: ServerSettings,
  { tools, nameless, isCut }: Awaited<ReturnType<Session["list"]>>,
): ToolOffer {
  const has = new Set(tools.map((tool) => tool.name));
  const written = new Set([...(allow ?? []), ...trust, ...readOnly]);
  const missing = [...written].filter((tool) => !has.has(tool));
  const problems = [
    ...(missing.length === 0 ? [] : [`${name} has no tool ${missing.join(", ")}, although its settings name it`]),
    ...(nameless === 0 ? [] : [`${name}: ${nameless} invalid entries of its list were left out`]),
    ...(isCut ? [`${name}: its list of tools does not end; the first ${tools.length} were read`] : []),
  ];
  const offered = tools
    .filter((tool) => allow === undefined || allow.includes(tool.name))
    .map(
      (tool): OfferedTool => ({
        name: `${name}/${tool.name}`,
        description: typeof tool.description === "string" ? tool.description : "",
        parameters: tool.inputSchema,
        timeoutMs: seconds * 1_000,
        isTrusted: trust.includes(tool.name),
        isReadOnly: readOnly.includes(tool.name) || onlyReads(tool),
        isNamed: written.has(tool.name),
      }),
    );
  return { tools: offered, problems };
}

function withLines(why: string, lines: string[]): string {
  return lines.length === 0 ? why : `${why}. It wrote: ${lines.join(" | ")}`;
}
