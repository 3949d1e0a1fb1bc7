/** The state of a part: a platform, a model, the sandbox, Redis, the queue. */

/** `warning` means that it works but needs attention; `off`, that it is not set up. */
export type HealthState = "ok" | "warning" | "error" | "off";

export interface StatusLine {
  name: string;
  state: HealthState;
  detail: string;
}

/** Noted when a part's state changes in a process. */
export interface HealthChange extends StatusLine {
  /** What the process does: `all`, `platforms` or `worker`. */
  role: string;
  at: number;
}
