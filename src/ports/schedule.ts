/** Schedules: what a person wants to be said or done later, once or again and again. */
import type { Author, Scope } from "./message.ts";

/** Once, or by a cron expression (five or six fields) in an IANA time zone. */
export type ScheduleTime = { type: "once"; at: number } | { type: "cron"; expression: string; timeZone: string };

/** - `remind`: the text is said to the person.  - `do`: the text is a task, as if the person had written it then. */
export type SchedulePurpose = "remind" | "do";

export interface ScheduleRecord {
  platform: string;
  conversationId: string;
  scope: Scope;
  channelId?: string;
  spaceId?: string;
  owner: Author;
  purpose: SchedulePurpose;
  text: string;
  time: ScheduleTime;
  /** Milliseconds since the epoch. */
  nextAt: number;
  createdAt: number;
}

export interface ShownSchedule extends ScheduleRecord {
  id: string;
}

export type NewSchedule = Omit<ScheduleRecord, "nextAt" | "createdAt">;

export interface Schedules {
  /** Rejects with `schedule.invalid` for a time that has passed or never comes, and when the person has too many. */
  add(schedule: NewSchedule): Promise<ShownSchedule>;
  /** Those in force of one person in one scope, soonest first. */
  list(owner: Pick<Author, "id">, scope: Scope): Promise<ShownSchedule[]>;
  remove(id: string, owner: Pick<Author, "id">, scope: Scope): Promise<boolean>;
  sweep(now: number): Promise<void>;
}
