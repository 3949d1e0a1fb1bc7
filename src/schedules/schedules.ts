/**
 * Schedules run a person's request later, once or repeatedly.
 *
 *   add     stores the schedule in the ledger with its next due time
 *   sweep   turns a due schedule into a message from its owner. The turn has the owner's current rights
 *
 * The message's id combines the schedule and its due time, so the message is handled once, even if several processes
 * sweep. If several runs were missed during downtime, the schedule runs once at the next start.
 */
import { randomBytes } from "node:crypto";
import { Cron } from "croner";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { createKeyedMutex } from "../lib/keyed-mutex.ts";
import type { Log } from "../lib/log.ts";
import { counted } from "../lib/text/counted.ts";
import type { Ledger, LedgerEntry } from "../ports/ledger.ts";
import type { Author, InboundMessage, Scope } from "../ports/message.ts";
import type { NewSchedule, ScheduleRecord, Schedules, ScheduleTime, ShownSchedule } from "../ports/schedule.ts";

export interface SchedulesOptions {
  ledger: Ledger;
  /** Resolves when the message is durably stored. Must ignore a message that is already known. */
  accept(message: InboundMessage): Promise<unknown>;
  /** Returns the owner with their current roles. Undefined if the owner has left. */
  ownerNow(schedule: Pick<ScheduleRecord, "platform" | "conversationId" | "owner">): Promise<Author | undefined>;
  /** Tells the owners that a schedule has ended, because its person has left. Must not reject. */
  onOwnerless?(id: string, schedule: ScheduleRecord): Promise<void>;
  log: Log;
  now?: () => number;
}

const maxSchedulesPerOwner = 50;
const maxTextCharacters = 4_000;
/** A service may go on refusing to say who the owner is. */
const retryMs = 30_000;
/** Limits the cost of repeated model turns. */
const minPeriodMs = 5 * 60_000;

export function createSchedules(options: SchedulesOptions): Schedules {
  const { ledger, accept, ownerNow, onOwnerless, log, now = Date.now } = options;
  const inOrder = createKeyedMutex();
  /** Until when schedules wait whose last try failed, by id. */
  const postponed = new Map<string, number>();

  async function active(scope: Scope, owner: Pick<Author, "id">): Promise<LedgerEntry<"schedule">[]> {
    const entries = await ledger.list("schedule", { states: ["active"], group: scope });
    return entries.filter((entry) => entry.body.owner.id === owner.id);
  }

  async function run({ id, body }: LedgerEntry<"schedule">, at: number): Promise<void> {
    const owner = await ownerNow(body);
    if (owner === undefined) return await end(id, body);
    await accept(messageFor(id, { ...body, owner }));
    // A schedule may be older than the check of its gaps, and a run may come late.
    const next = nextAfter(body.time, Math.max(at, body.nextAt + minPeriodMs - 1));
    // Another process may already have moved the due time.
    await ledger.transition("schedule", id, ["active"], next === undefined ? "ended" : "active", (stored) =>
      stored.nextAt === body.nextAt ? { ...stored, nextAt: next ?? stored.nextAt } : undefined,
    );
  }

  /** Ends the schedule of an owner who has left, because that person no longer has any rights. */
  async function end(id: string, body: ScheduleRecord): Promise<void> {
    const { conversationId, owner } = body;
    if ((await ledger.transition("schedule", id, ["active"], "ended")) === undefined) return;
    await onOwnerless?.(id, body);
    log.info({ schedule: id, conversationId, owner: owner.id }, "a schedule ended because its owner has left");
  }

  /** Counts again afterwards, because another process may have added one in between. */
  async function addWithinLimit(schedule: NewSchedule): Promise<ShownSchedule> {
    const { scope, owner } = schedule;
    const at = now();
    const nextAt = checkedNext(schedule, at);
    const full = () => invalid(`${owner.name} already has ${maxSchedulesPerOwner} schedules here; remove one first`);
    if ((await active(scope, owner)).length >= maxSchedulesPerOwner) throw full();
    const id = randomBytes(4).toString("hex");
    const body = { ...schedule, nextAt, createdAt: at };
    await ledger.create("schedule", id, { state: "active", body, group: scope });
    if ((await active(scope, owner)).length <= maxSchedulesPerOwner) return { id, ...body };
    await ledger.transition("schedule", id, ["active"], "ended");
    throw full();
  }

  return {
    add: (schedule) => inOrder(`${schedule.owner.id} ${schedule.scope}`, () => addWithinLimit(schedule)),
    async list(owner, scope) {
      const entries = await active(scope, owner);
      return entries.map(({ id, body }) => ({ id, ...body })).toSorted((one, other) => one.nextAt - other.nextAt);
    },
    async all() {
      const entries = await ledger.list("schedule", { states: ["active"] });
      return entries.map(({ id, body }) => ({ id, ...body })).toSorted((one, other) => one.nextAt - other.nextAt);
    },
    end: async (id) => (await ledger.transition("schedule", id, ["active"], "ended")) !== undefined,
    async remove(id, owner, scope) {
      const ended = await ledger.transition("schedule", id, ["active"], "ended", (stored) =>
        stored.owner.id === owner.id && stored.scope === scope ? stored : undefined,
      );
      return ended !== undefined;
    },
    async sweep(at) {
      for (const entry of await ledger.list("schedule", { dueBefore: at + 1 })) {
        if ((postponed.get(entry.id) ?? at) > at) continue;
        postponed.delete(entry.id);
        await run(entry, at).catch((thrown: unknown) => {
          postponed.set(entry.id, at + retryMs);
          log.error({ schedule: entry.id, error: messageOf(thrown) }, "could not run a due schedule; retrying soon");
        });
      }
    },
  };
}

function nextAfter(time: ScheduleTime, at: number): number | undefined {
  if (time.type === "once") return time.at > at ? time.at : undefined;
  return new Cron(time.expression, { timezone: time.timeZone }).nextRun(new Date(at))?.getTime();
}

/** More runs than a day has at the shortest interval, so its pattern repeats among them. */
const runsOfADay = 300;
const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
/** Clocks change twice a year. */
const checkedDays = 366;

/**
 * Of two runs in a row, in milliseconds. A whole day counts, as though the schedule ran on every day, so that midnight does,
 * too; then the hours around each change of the clocks in a year.
 */
function smallestGap({ expression, timeZone }: Extract<ScheduleTime, { type: "cron" }>, at: number): number {
  const fields = expression.trim().split(/\s+/);
  const ofDay = fields.length > 5 ? fields.slice(0, 3) : fields.slice(0, 2);
  const daily = fields.length < 5 ? expression : [...ofDay, "*", "*", "*"].join(" ");
  const gaps = [gapOf(new Cron(daily, { timezone: "UTC" }), at, Number.POSITIVE_INFINITY)];
  const offsetAt = offsetsOf(timeZone);
  const cron = new Cron(expression, { timezone: timeZone });
  for (let day = 0; day < checkedDays; day++) {
    const from = at + day * dayMs;
    if (offsetAt(from) !== offsetAt(from + dayMs)) gaps.push(gapOf(cron, from - hourMs, from + dayMs));
  }
  return Math.min(...gaps);
}

function gapOf(cron: Cron, from: number, until: number): number {
  let smallest = Number.POSITIVE_INFINITY;
  let run = cron.nextRun(new Date(from));
  for (let count = 0; run !== null && run.getTime() < until && count < runsOfADay; count++) {
    const next = cron.nextRun(run);
    if (next !== null) smallest = Math.min(smallest, next.getTime() - run.getTime());
    run = next;
  }
  return smallest;
}

function offsetsOf(timeZone: string): (at: number) => string | undefined {
  const format = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" });
  return (at) => format.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value;
}

function gapText(ms: number): string {
  return ms < 60_000 ? `${Math.round(ms / 1000)} s` : counted(Math.round(ms / 60_000), "minute");
}

function checkedNext({ time, text }: NewSchedule, at: number): number {
  if (text.trim() === "" || text.length > maxTextCharacters)
    throw invalid(`the text must have 1 to ${maxTextCharacters} characters, and has ${text.length}`);
  try {
    const next = nextAfter(time, at);
    if (next === undefined) throw invalid("the time is in the past, or never comes");
    const gapMs = time.type === "cron" ? smallestGap(time, at) : minPeriodMs;
    if (gapMs < minPeriodMs)
      throw invalid(`some of its runs would be ${gapText(gapMs)} apart; the shortest interval is 5 minutes`);
    return next;
  } catch (thrown) {
    throw thrown instanceof RemoraError ? thrown : invalid(messageOf(thrown));
  }
}

function messageFor(id: string, body: ScheduleRecord): InboundMessage {
  const { platform, conversationId, scope, channelId, spaceId, owner, purpose, text, nextAt, createdAt } = body;
  const made = new Date(createdAt).toISOString().slice(0, 16).replace("T", " ");
  const asked =
    purpose === "remind"
      ? `[Reminder that I asked for on ${made} UTC. Say it to me now, in a sentence or two; do nothing else:]\n${text}`
      : `[Scheduled by me on ${made} UTC; do it now:]\n${text}`;
  return {
    id: `schedule:${id}:${nextAt}`,
    ...{ platform, conversationId, scope, author: owner, text: asked, attachments: [] },
    ...(channelId === undefined ? {} : { channelId }),
    ...(spaceId === undefined ? {} : { spaceId }),
    isAddressed: true,
    isDirect: scope.startsWith("dm:"),
    at: nextAt,
  };
}

function invalid(message: string): RemoraError {
  return new RemoraError({ code: "schedule.invalid", place: "a schedule", message });
}
