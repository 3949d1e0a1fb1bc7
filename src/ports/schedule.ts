/** Schedules: reminders and tasks that a person wants later, once or repeatedly. */
import type { Author, Scope } from "./message.ts";

/** Once, or by a cron expression (five or six fields) in an IANA time zone. */
export type ScheduleTime = { type: "once"; at: number } | { type: "cron"; expression: string; timeZone: string };

/** `remind` sends the text to the person. `do` runs the text as a task, as if the person had written it at that time. */
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
  /** Rejects with `schedule.invalid` if the time has passed or never comes, or if the person has too many schedules. */
  add(schedule: NewSchedule): Promise<ShownSchedule>;
  /** Lists the active schedules of one person in one scope, soonest first. */
  list(owner: Pick<Author, "id">, scope: Scope): Promise<ShownSchedule[]>;
  remove(id: string, owner: Pick<Author, "id">, scope: Scope): Promise<boolean>;
  sweep(now: number): Promise<void>;
}
