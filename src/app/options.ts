/** What the composition is built from. */
import type { Settings } from "../config/settings.ts";
import type { Log } from "../lib/log.ts";
import type { Redact } from "../lib/redact.ts";
import type { PortWrappers } from "../ports/port-wrappers.ts";
import type { Provider } from "../ports/provider.ts";

/** `platforms` takes messages in, `worker` works on them and answers; one process alone does both. */
export type Role = "all" | "platforms" | "worker";

export interface AppOptions {
  settings: Settings;
  role: Role;
  /** The page's link, its cookie and API clients must carry it. */
  token: string;
  log: Log;
  redact: Redact;
  /** Ends a start that waits. */
  signal: AbortSignal;
  /** Instead of those that the settings select; for tests and benchmarks. */
  providers?: Provider[];
  /** For tests: puts faults around the ports (ports/port-wrappers.ts). */
  wrappers?: PortWrappers;
}

export function takesMessages(role: Role): boolean {
  return role !== "worker";
}

export function takesTurns(role: Role): boolean {
  return role !== "platforms";
}
