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

/** One fact that startup, `doctor` and `/readyz` share. */
export interface HealthCheck {
  /** One or two words, such as `disk data` or `model anthropic/claude`. */
  name: string;
  /** `broken` means that messages can't be answered; `warning`, that something needs attention. */
  state: "ok" | "warning" | "broken";
  what: string;
  /** The same with the words of a service, which can repeat what a person has written. */
  forOwners?: string;
  why?: string;
  todo?: string;
  /** Owners get a message about it also if it is only a warning, because nobody else can solve it. */
  tellsOwners?: boolean;
  /** Repairs it. Resolves to what was done. Only `doctor --fix` calls it. */
  fix?: { question: string; run(): Promise<string> };
}

/** What only owners may read is left out. */
export function checkText({ what, why, todo }: Pick<HealthCheck, "what" | "why" | "todo">): string {
  return [what, why, todo]
    .flatMap((part) => (part === undefined || part === "" ? [] : [part.replace(/[.\s]+$/, "")]))
    .join(". ");
}

export function ownerText({ what, forOwners = what, ...rest }: HealthCheck): string {
  return checkText({ ...rest, what: forOwners });
}
