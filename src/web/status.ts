/** The state of each part, as the dashboard and Slack's home page show it. */
import { checkText, type HealthCheck, type StatusLine } from "../ports/health.ts";
import type { Platform } from "../ports/platform.ts";
import type { SandboxReport } from "../ports/sandbox.ts";

/** More waiting calls than these mean that people notice the delay. */
const manyWaitingJobs = 20;

export interface StatusSources {
  platforms: readonly Platform[];
  models: readonly { model: string; isReady: boolean; hint: string }[];
  /** Why a model failed the last time it was asked. */
  problemOf(model: string): string | undefined;
  sandbox: SandboxReport;
  /** Undefined if Redis is not used. */
  redis: { isConnected: boolean; detail: string } | undefined;
  jobs: { waiting: number; running: number };
  checks: readonly HealthCheck[];
  /** Empty if the settings in force are those of the files. */
  settings: readonly StatusLine[];
}

const states = { ok: "ok", warning: "warning", broken: "error" } as const;

export function statusLines({
  platforms,
  models,
  problemOf,
  sandbox,
  redis,
  jobs,
  checks,
  settings,
}: StatusSources): StatusLine[] {
  return [
    ...platforms.map((platform): StatusLine => {
      const { isConnected, detail } = platform.health();
      return { name: `platform ${platform.name}`, state: isConnected ? "ok" : "error", detail };
    }),
    ...models.map(({ model, isReady, hint }): StatusLine => {
      const problem = isReady ? problemOf(model) : undefined;
      const name = `model ${model}`;
      if (problem === undefined) return { name, state: isReady ? "ok" : "off", detail: hint };
      // Broken if no other model can answer either.
      const state = checks.find((check) => check.name === name)?.state ?? "warning";
      return { name, state: states[state], detail: `did not answer: ${problem}` };
    }),
    { name: "sandbox", state: sandbox.holds ? "ok" : "warning", detail: sandbox.detail },
    ...(redis === undefined
      ? []
      : [{ name: "redis", state: redis.isConnected ? ("ok" as const) : ("error" as const), detail: redis.detail }]),
    // Models are above, with what is known about those that are not set up.
    ...checks
      .filter(({ name }) => !name.startsWith("model "))
      .map((check): StatusLine => ({ name: check.name, state: states[check.state], detail: checkText(check) })),
    {
      name: "queue",
      state: jobs.waiting > manyWaitingJobs ? "warning" : "ok",
      detail: `${jobs.running} ${jobs.running === 1 ? "call" : "calls"} running, ${jobs.waiting} waiting`,
    },
    ...settings,
  ];
}
