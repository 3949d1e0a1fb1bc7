/**
 * Schedules: what a person wants to be said or done later, once or again and again.
 *
 *   add     kept in the ledger, with the time it is due next
 *   sweep   what is due becomes a message of its owner in the conversation it was made in, and a turn like any other: with
 *           the rights that the owner has then, and with approvals that go to the owner
 *
 * The message's id is made of the schedule and the time it was due, so that it is said once, however many processes sweep
 * and wherever one of them dies. What was due while nothing ran is said once at the next start, not once for each time missed.
 */
import { randomBytes } from "node:crypto";
import { Cron } from "croner";
import { messageOf, RemoraError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Ledger, LedgerEntry } from "../ports/ledger.ts";
import type { Author, InboundMessage, Scope } from "../ports/message.ts";
import type { NewSchedule, ScheduleRecord, Schedules, ScheduleTime } from "../ports/schedule.ts";

export interface SchedulesOptions {
  ledger: Ledger;
  /** Resolves when the message is durably kept; the same one again changes nothing. */
  accept(message: InboundMessage): Promise<unknown>;
  /** The owner as the service knows them now, with today's roles; undefined when they are not there any more. */
  ownerNow(schedule: Pick<ScheduleRecord, "platform" | "conversationId" | "owner">): Promise<Author | undefined>;
  log: Log;
  now?: () => number;
}

const mostOfOne = 50;
const longestText = 4_000;
/** Repeated model turns cost money: nothing recurs more often than this. */
const leastPeriodMs = 5 * 60_000;

export function createSchedules({ ledger, accept, ownerNow, log, now = Date.now }: SchedulesOptions): Schedules {
  async function active(scope: Scope, owner: Pick<Author, "id">): Promise<LedgerEntry<"schedule">[]> {
    const entries = await ledger.list("schedule", { states: ["active"], group: scope });
    return entries.filter((entry) => entry.body.owner.id === owner.id);
  }

  async function sayIfDue({ id, body }: LedgerEntry<"schedule">, at: number): Promise<void> {
    if (body.nextAt > at) return;
    const owner = await ownerNow(body);
    if (owner === undefined) return await end(id, body);
    await accept(messageFor(id, { ...body, owner }));
    const next = nextAfter(body.time, at);
    // Only if it is still the same time that was due: another process may have been faster.
    await ledger.transition("schedule", id, ["active"], next === undefined ? "ended" : "active", (stored) =>
      stored.nextAt === body.nextAt ? { ...stored, nextAt: next ?? stored.nextAt } : undefined,
    );
  }

  /** Whoever has left does nothing here any more. */
  async function end(id: string, { conversationId, owner }: ScheduleRecord): Promise<void> {
    await ledger.transition("schedule", id, ["active"], "ended");
    log.info({ schedule: id, conversationId, owner: owner.id }, "a schedule has ended, because its owner has left");
  }

  return {
    async add(schedule) {
      const at = now();
      const nextAt = checkedNext(schedule, at);
      if ((await active(schedule.scope, schedule.owner)).length >= mostOfOne)
        throw invalid(`${schedule.owner.name} has ${mostOfOne} schedules here already; remove one first`);
      const id = randomBytes(4).toString("hex");
      const body = { ...schedule, nextAt, createdAt: at };
      await ledger.create("schedule", id, { state: "active", body, group: schedule.scope });
      return { id, ...body };
    },
    async list(owner, scope) {
      const entries = await active(scope, owner);
      return entries.map(({ id, body }) => ({ id, ...body })).toSorted((one, other) => one.nextAt - other.nextAt);
    },
    async remove(id, owner, scope) {
      const ended = await ledger.transition("schedule", id, ["active"], "ended", (stored) =>
        stored.owner.id === owner.id && stored.scope === scope ? stored : undefined,
      );
      return ended !== undefined;
    },
    async sweep(at) {
      for (const entry of await ledger.list("schedule", { states: ["active"] })) {
        await sayIfDue(entry, at).catch((thrown: unknown) =>
          log.error({ schedule: entry.id, error: messageOf(thrown) }, "a schedule that is due could not be said yet"),
        );
      }
    },
  };
}

/** The time after `at`; undefined when there is none. */
function nextAfter(time: ScheduleTime, at: number): number | undefined {
  if (time.type === "once") return time.at > at ? time.at : undefined;
  return new Cron(time.expression, { timezone: time.timeZone }).nextRun(new Date(at))?.getTime();
}

function checkedNext({ time, text }: NewSchedule, at: number): number {
  if (text.trim() === "" || text.length > longestText)
    throw invalid(`its text must have 1 to ${longestText} characters, and has ${text.length}`);
  try {
    const next = nextAfter(time, at);
    if (next === undefined) throw invalid("its time has passed, or never comes");
    const following = time.type === "cron" ? nextAfter(time, next) : undefined;
    if (following !== undefined && following - next < leastPeriodMs)
      throw invalid(`it would come every ${Math.round((following - next) / 1000)} s; the least is every 5 minutes`);
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
