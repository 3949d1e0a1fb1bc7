/** The state of each part, as the dashboard and Slack's home page show it. */
import type { Platform } from "../ports/platform.ts";
import type { SandboxReport } from "../ports/sandbox.ts";

/** `warning` means that it works but needs attention; `off`, that it is not set up. */
export type StatusState = "ok" | "warning" | "error" | "off";

export interface StatusLine {
  name: string;
  state: StatusState;
  detail: string;
}

export interface StatusSources {
  platforms: readonly Platform[];
  models: readonly { model: string; isReady: boolean; hint: string }[];
  sandbox: SandboxReport;
  /** Undefined if Redis is not used. */
  redis: { isConnected: boolean; detail: string } | undefined;
}

export function statusLines({ platforms, models, sandbox, redis }: StatusSources): StatusLine[] {
  return [
    ...platforms.map((platform): StatusLine => {
      const { isConnected, detail } = platform.health();
      return { name: `platform ${platform.name}`, state: isConnected ? "ok" : "error", detail };
    }),
    ...models.map(({ model, isReady, hint }): StatusLine => {
      return { name: `model ${model}`, state: isReady ? "ok" : "off", detail: hint };
    }),
    { name: "sandbox", state: sandbox.holds ? "ok" : "warning", detail: sandbox.detail },
    ...(redis === undefined
      ? []
      : [{ name: "redis", state: redis.isConnected ? ("ok" as const) : ("error" as const), detail: redis.detail }]),
  ];
}
