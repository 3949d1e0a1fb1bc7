import type { LoadResult } from "../config/load.ts";
import type { Settings } from "../config/settings.ts";
import type { Log } from "../lib/log.ts";
import type { Redact } from "../lib/redact.ts";
import type { PortWrappers } from "../ports/port-wrappers.ts";
import type { Provider } from "../ports/provider.ts";

/** `platforms` receives messages; `worker` runs turns and sends replies. A single process does both (`all`). */
export type Role = "all" | "platforms" | "worker";

export interface AppOptions {
  /** Some of them change while Remora runs (live-settings.ts). */
  settings: Settings;
  /** Reads the settings again. If absent, they never change. */
  reloadSettings?(): LoadResult;
  setLogLevel?(level: string): void;
  role: Role;
  /** The secret for the dashboard's link and cookie, and for API clients. */
  token: string;
  log: Log;
  redact: Redact;
  /** Aborts startup while it waits, for example for Redis. */
  signal: AbortSignal;
  /** For tests and benchmarks: replaces the configured providers. */
  providers?: Provider[];
  /** For tests: injects faults into ports (ports/port-wrappers.ts). */
  wrappers?: PortWrappers;
}

export function takesMessages(role: Role): boolean {
  return role !== "worker";
}

export function takesTurns(role: Role): boolean {
  return role !== "platforms";
}
