/**
 * A double is a claim about a real service. Each rule that a double enforces is in the table of its service
 * (slack/rules.ts, discord/rules.ts), with the public page that it comes from and the day when somebody read that page.
 * The key of a refusal is what the service answers with; the types let a double refuse with nothing else. A behaviour has a
 * kebab-case key, and where the double enforces it a comment says `Rule: its-key`. A test finds what is missing on either side.
 */
export interface Rule {
  /** What the service does, in one sentence. */
  says: string;
  /** The address of the public page: a reference, a change log, or a report of somebody who measured it. */
  page: string;
  /** The day, as 2026-11-27. */
  read: string;
}

/** For several rules that were read on one day: `read("2026-11-28")(page, says)`. */
export function read(day: string): (page: string, says: string) => Rule {
  return (page, says) => ({ says, page, read: day });
}
