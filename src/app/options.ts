/** The options that the composition root is built from. */
import type { Settings } from "../config/settings.ts";
import type { Log } from "../lib/log.ts";
import type { Redact } from "../lib/redact.ts";
import type { PortWrappers } from "../ports/port-wrappers.ts";
import type { Provider } from "../ports/provider.ts";

/** `platforms` receives messages, and `worker` works on them and answers. A single process does both (`all`). */
export type Role = "all" | "platforms" | "worker";

export interface AppOptions {
  settings: Settings;
  role: Role;
  /** The page's link, its cookie and API clients must contain it. */
  token: string;
  log: Log;
  redact: Redact;
  /** Aborts a start that is still waiting. */
  signal: AbortSignal;
  /** For tests and benchmarks: used instead of the providers that the settings select. */
  providers?: Provider[];
  /** For tests: wraps the ports to inject faults (ports/port-wrappers.ts). */
  wrappers?: PortWrappers;
}

export function takesMessages(role: Role): boolean {
  return role !== "worker";
}

export function takesTurns(role: Role): boolean {
  return role !== "platforms";
}
