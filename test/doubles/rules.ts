/**
 * A double is a claim about a real service. Each rule that a double enforces is in the table of its service
 * (slack/rules.ts, discord/rules.ts), with the public page that it comes from and the day when somebody read that page.
 */
export interface Rule {
  /** What the service does, in one sentence. */
  says: string;
  /** The address of the public page: a reference, a change log, or a report of somebody who measured it. */
  page: string;
  /** The day, as 2026-11-27. */
  read: string;
}
