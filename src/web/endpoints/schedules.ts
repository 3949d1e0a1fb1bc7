/** Reminders and scheduled tasks of all people, soonest first. The operator can delete one. */
import type { Hono } from "hono";
import { z } from "zod";
import { asPlain, oneLine } from "../../lib/text/sanitize.ts";
import { createTimedCache } from "../../lib/timed-cache.ts";
import type { Schedules, ShownSchedule } from "../../ports/schedule.ts";
import { identityOf, isOperator, type SignedInPerson, type Visitor } from "../../ports/visitor.ts";
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

/** Whether the person can read the conversation now. If in doubt, false. */
export type MayRead = (conversationId: string, person: SignedInPerson) => Promise<boolean>;

const pageSize = 50;
/** Each conversation is several questions to the service. Schedules beyond these stay hidden. */
const maxChecked = 50;
/** The page asks every few seconds. */
const keepMs = 5 * 60_000;
const maxKept = 5_000;
const maxTextCharacters = 1_000;
const pageNumber = z.coerce.number().int().min(1).max(10_000).default(1);

export function mountSchedules(
  app: Hono,
  { schedules, operate, mayRead }: { schedules: Pick<Schedules, "all" | "end">; operate: Operate; mayRead: MayRead },
): void {
  const kept = createTimedCache<boolean>({ keepMs, maxEntries: maxKept });
  const mayReadNow: MayRead = (id, person) => kept(`${identityOf(person)} ${id}`, () => mayRead(id, person));
  reading(app, "/dashboard/data/schedules", z.object({ page: pageNumber }), async ({ page }, visitor) => {
    const stored = await schedules.all();
    const all = isOperator(visitor) ? stored : await readable(stored, visitor, mayReadNow);
    const start = (page - 1) * pageSize;
    const hidden = stored.length - all.length;
    return { schedules: all.slice(start, start + pageSize).map(rowOf), count: all.length, hidden, pageSize };
  });
  acting(app, "/dashboard/schedules/end", {
    schema: z.strictObject({ id: z.string().min(1).max(200) }),
    invalid: "To delete a schedule, send its id.",
    act: ({ id }, visitor) =>
      operate(visitor, { action: "schedule.end", subject: id }, async () =>
        (await schedules.end(id))
          ? { accepted: true, text: "Deleted. It does not run any more." }
          : { accepted: false, text: "This schedule has already ended." },
      ),
  });
}

/** Those of conversations that the person can read. */
async function readable(all: ShownSchedule[], visitor: Visitor, mayRead: MayRead): Promise<ShownSchedule[]> {
  if (visitor.type !== "person") return all;
  const { person } = visitor;
  const ids = [...new Set(all.map(({ conversationId }) => conversationId))].slice(0, maxChecked);
  const checked = await Promise.all(ids.map(async (id) => [id, await mayRead(id, person)] as const));
  const open = new Set(checked.flatMap(([id, may]) => (may ? [id] : [])));
  return all.filter(({ conversationId }) => open.has(conversationId));
}

function rowOf({ id, purpose, text, owner, conversationId, nextAt, time }: ShownSchedule): ScheduleRow {
  return {
    ...{ id, purpose, conversationId, nextAt },
    text: asPlain(text).slice(0, maxTextCharacters),
    owner: oneLine(owner.name, maxTextCharacters),
    repeats: time.type === "once" ? null : `${time.expression} (${time.timeZone})`,
  };
}
