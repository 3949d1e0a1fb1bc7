/**
 * Starts the agent as a child process, the same as `npm start`, and looks at it from outside: what it prints, `/readyz`,
 * and the newest turns on the dashboard. The child has a process group of its own, so that Ctrl+C reaches this process
 * only, which then stops the child once.
 */

import { spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { fetchDirectly } from "../lib/fetch-directly.ts";
import type { CheckResult } from "../ports/check.ts";

const agentTurn = z.object({
  id: z.string(),
  state: z.string(),
  conversationId: z.string(),
  who: z.string(),
  whoId: z.string(),
  startedAt: z.number(),
  endedAt: z.number().nullable(),
  failure: z.string().nullable(),
});
const turnsAnswer = z.object({ turns: z.array(agentTurn) });

export type AgentTurn = z.infer<typeof agentTurn>;

export interface Agent {
  /** Where the page is, with its token; undefined if it is turned off. */
  page: string | undefined;
  /** The first line is "ready" if it is. */
  readiness(): Promise<{ isReady: boolean; detail: string }>;
  newestTurns(): Promise<AgentTurn[]>;
  /** Resolves when the process has ended, with the last lines of its log. */
  ended: Promise<string>;
  stop(): Promise<void>;
}

export interface AgentOptions {
  program: string;
  args: string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** The token of the page, for when the agent does not print it. */
  readToken(): Promise<string>;
  /** What the agent logs from then on. */
  onLog(text: string): void;
}

const startTimeoutMs = 60_000;
const requestTimeoutMs = 5_000;
const maxKeptLog = 20_000;
const maxShownLines = 12;

/** Resolves once the agent listens. */
export async function startAgent(options: AgentOptions, signal: AbortSignal): Promise<CheckResult<{ agent: Agent }>> {
  const child = spawn(options.program, options.args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout = (stdout + text).slice(-maxKeptLog);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-maxKeptLog);
    options.onLog(text);
  });
  let isRunning = true;
  const ended = new Promise<string>((resolve) => {
    const settle = (text: string) => {
      isRunning = false;
      resolve(text);
    };
    child.once("error", (thrown) => settle(thrown.message));
    child.once("close", () => settle(lastLines(stderr)));
  });
  // If this process dies without stopping the child, the child must not stay.
  const killOnExit = () => void child.kill("SIGTERM");
  process.once("exit", killOnExit);
  void ended.then(() => process.removeListener("exit", killOnExit));
  const stop = async () => {
    if (isRunning) child.kill("SIGTERM");
    await ended;
  };

  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    const link = /^.*\bBrain\b/m.test(stdout) ? /http:\/\/\S+(?:token=\S+|\/readyz)/.exec(stdout)?.[0] : undefined;
    if (link !== undefined) return { ok: true, agent: await agentAt(new URL(link), options, { ended, stop }) };
    if (!isRunning) return { ok: false, code: "setup.start", problem: "The agent could not start.", fix: await ended };
    if (signal.aborted || Date.now() > deadline) {
      await stop();
      return { ok: false, code: "setup.start", problem: "The agent did not start in time.", fix: lastLines(stderr) };
    }
    await Promise.race([pause(100, undefined, { signal }).catch(() => {}), ended]);
  }
}

async function agentAt(
  link: URL,
  options: AgentOptions,
  { ended, stop }: Pick<Agent, "ended" | "stop">,
): Promise<Agent> {
  const inLink = link.searchParams.get("token");
  const token = inLink ?? (await options.readToken());
  const get = (path: string) =>
    fetchDirectly(new URL(path, link.origin), {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(requestTimeoutMs),
    });
  return {
    page: inLink === null ? undefined : link.href,
    ended,
    stop,
    async readiness() {
      try {
        const response = await get("/readyz");
        return { isReady: response.ok, detail: (await response.text()).trim() };
      } catch {
        return { isReady: false, detail: "no answer yet" };
      }
    },
    async newestTurns() {
      try {
        const response = await get("/dashboard/data/turns");
        return turnsAnswer.parse(await response.json()).turns;
      } catch {
        return [];
      }
    },
  };
}

function lastLines(text: string): string {
  return text.trimEnd().split("\n").slice(-maxShownLines).join("\n");
}
