/** The state of each part, as the dashboard and Slack's home page show it. */
import type { StatusLine } from "../ports/health.ts";
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
}

export function statusLines({ platforms, models, problemOf, sandbox, redis, jobs }: StatusSources): StatusLine[] {
  return [
    ...platforms.map((platform): StatusLine => {
      const { isConnected, detail } = platform.health();
      return { name: `platform ${platform.name}`, state: isConnected ? "ok" : "error", detail };
    }),
    ...models.map(({ model, isReady, hint }): StatusLine => {
      const problem = isReady ? problemOf(model) : undefined;
      if (problem !== undefined)
        return { name: `model ${model}`, state: "warning", detail: `did not answer: ${problem}` };
      return { name: `model ${model}`, state: isReady ? "ok" : "off", detail: hint };
    }),
    { name: "sandbox", state: sandbox.holds ? "ok" : "warning", detail: sandbox.detail },
    ...(redis === undefined
      ? []
      : [{ name: "redis", state: redis.isConnected ? ("ok" as const) : ("error" as const), detail: redis.detail }]),
    {
      name: "queue",
      state: jobs.waiting > manyWaitingJobs ? "warning" : "ok",
      detail: `${jobs.running} calls running, ${jobs.waiting} waiting`,
    },
  ];
}
