import type { Author, Scope } from "./message.ts";

/** The expression has five or six fields; the time zone is an IANA name. */
export type ScheduleTime = { type: "once"; at: number } | { type: "cron"; expression: string; timeZone: string };

/** `remind` sends the text to the person. `do` runs it as a task, as if the person had written it at that time. */
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
  nextAt: number;
  createdAt: number;
}

export interface ShownSchedule extends ScheduleRecord {
  id: string;
}

export type NewSchedule = Omit<ScheduleRecord, "nextAt" | "createdAt">;

export interface Schedules {
  /** Rejects with `schedule.invalid` if the time is past or never comes, or if the person has too many schedules. */
  add(schedule: NewSchedule): Promise<ShownSchedule>;
  list(owner: Pick<Author, "id">, scope: Scope): Promise<ShownSchedule[]>;
  /** Active schedules of everybody, soonest first, for the operator. */
  all(): Promise<ShownSchedule[]>;
  /** Ends anybody's schedule. Resolves to false if it has already ended. */
  end(id: string): Promise<boolean>;
  remove(id: string, owner: Pick<Author, "id">, scope: Scope): Promise<boolean>;
  sweep(now: number): Promise<void>;
}
