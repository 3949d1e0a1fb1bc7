/** Whether this installation runs, what it says about itself, and whether its port is free. */

import { createServer } from "node:net";
import type { Settings } from "../config/settings.ts";
import { isAlive, type Run, readRuns } from "../health/last-run.ts";
import { codeOf } from "../lib/errors.ts";
import { fetchDirectly } from "../lib/fetch-directly.ts";
import type { HealthCheck } from "../ports/health.ts";

const name = "service";
const answerMs = 5_000;

export async function checkService({ data, config }: Settings): Promise<HealthCheck[]> {
  const runs = await readRuns(data);
  if (runs.length === 0)
    return [{ name, state: "ok", what: "does not run at the moment" }, ...(await checkPort(config.web))];
  // With Redis, other processes may have taken over from one that was killed.
  const isRunning = runs.some(isAlive);
  return await Promise.all(runs.map((run) => checkRun(run, isRunning)));
}

async function checkRun(run: Run, isAnotherRunning: boolean): Promise<HealthCheck> {
  const since = new Date(run.startedAt).toISOString();
  if (!isAlive(run)) {
    const what = `does not run: the process ${run.pid}, started at ${since}, did not shut down`;
    const why = "It was killed, crashed, or lost its power";
    const todo = "Start it again. Unfinished work continues";
    return { name, state: isAnotherRunning ? "warning" : "broken", what, why, todo };
  }
  const what = `has been running as process ${run.pid} since ${since}`;
  try {
    const response = await fetchDirectly(new URL("/readyz", run.url), { signal: AbortSignal.timeout(answerMs) });
    const lines = (await response.text()).trim().split("\n");
    if (response.ok) return { name, state: "ok", what: `${what} and is ready` };
    return { name, state: "broken", what: `${what}, but is not ready: ${lines.join("; ")}` };
  } catch {
    const todo = "See its log. If it does not recover, stop it and start it again";
    return { name, state: "broken", what: `${what}, but does not answer at ${run.url}`, todo };
  }
}

/** Resolves to why nothing can listen there, such as EADDRINUSE. */
export async function listenProblem({ host, port }: { host: string; port: number }): Promise<string | undefined> {
  const server = createServer();
  return await new Promise<string | undefined>((resolve) => {
    server.once("error", (thrown) => resolve(codeOf(thrown) ?? thrown.message));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

async function checkPort({ host, port }: Settings["config"]["web"]): Promise<HealthCheck[]> {
  const code = await listenProblem({ host, port });
  if (code === undefined) return [];
  const todo = `Stop what uses it, or use another port: REMORA_PORT=${port + 1}`;
  const isTaken = code === "EADDRINUSE";
  const what = isTaken ? `port ${port} is taken by another process` : `can't listen on ${host}:${port} (${code})`;
  return [{ name: "port", state: "broken", what, todo: isTaken ? todo : "Use a port above 1023 (REMORA_PORT)" }];
}
