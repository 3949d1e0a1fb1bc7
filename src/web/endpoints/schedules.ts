/** Reminders and scheduled tasks of all people, soonest first. The operator can delete one. */
import type { Hono } from "hono";
import { z } from "zod";
import { asPlain, oneLine } from "../../lib/text/sanitize.ts";
import type { Schedules, ShownSchedule } from "../../ports/schedule.ts";
import type { Operate } from "./operate.ts";
import { acting, reading } from "./respond.ts";

export interface ScheduleRow {
  id: string;
  purpose: "remind" | "do";
  text: string;
  owner: string;
  conversationId: string;
  nextAt: number;
  /** The expression and the time zone; null for a schedule that runs once. */
  repeats: string | null;
}

const pageSize = 50;
const maxTextCharacters = 1_000;
const pageNumber = z.coerce.number().int().min(1).max(10_000).default(1);

export function mountSchedules(
  app: Hono,
  { schedules, operate }: { schedules: Pick<Schedules, "all" | "end">; operate: Operate },
): void {
  reading(app, "/dashboard/data/schedules", z.object({ page: pageNumber }), async ({ page }) => {
    const all = await schedules.all();
    const start = (page - 1) * pageSize;
    return { schedules: all.slice(start, start + pageSize).map(rowOf), count: all.length, pageSize };
  });
  acting(app, "/dashboard/schedules/end", {
    schema: z.strictObject({ id: z.string().min(1).max(200) }),
    invalid: "To delete a schedule, send its id.",
    act: ({ id }) =>
      operate({ action: "schedule.end", subject: id }, async () =>
        (await schedules.end(id))
          ? { accepted: true, text: "Deleted. It does not run any more." }
          : { accepted: false, text: "This schedule has already ended." },
      ),
  });
}

function rowOf({ id, purpose, text, owner, conversationId, nextAt, time }: ShownSchedule): ScheduleRow {
  return {
    ...{ id, purpose, conversationId, nextAt },
    text: asPlain(text).slice(0, maxTextCharacters),
    owner: oneLine(owner.name, maxTextCharacters),
    repeats: time.type === "once" ? null : `${time.expression} (${time.timeZone})`,
  };
}
