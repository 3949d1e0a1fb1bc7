/**
 * What a turn has to say when nobody would see it where it was asked: to its requester, or that nobody saw it to the owners. A
 * schedule that nobody sees ends, and they are told.
 */
import { peopleAmong } from "../lib/approver-entry.ts";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { copyTurnId } from "../ports/copies.ts";
import type { ReplyTarget } from "../ports/message.ts";
import type { Reach } from "../ports/reach.ts";
import type { ScheduleRecord } from "../ports/schedule.ts";
import { requesterOf, type TurnRecord } from "../ports/turn.ts";
import type { Delivery, TurnDeps } from "../ports/turn-deps.ts";
import { scheduleOf } from "../ports/usage.ts";

export interface ElsewhereOptions {
  openReply(target: ReplyTarget): Promise<Delivery>;
  reach(platform: string): Reach | undefined;
  /** `safety.owners`. */
  owners(): readonly string[];
  /** False if it has already ended. */
  endSchedule(id: string): Promise<boolean>;
  log: Log;
}

export interface Elsewhere extends Pick<TurnDeps, "deliverDirect" | "tellUnseen"> {
  /** As of `QuestionsOptions`. */
  directTarget(target: ReplyTarget, userId: string): Promise<ReplyTarget>;
  /** Tells the owners that a schedule has ended, because its person has left. Never rejects. */
  tellOwnerless(id: string, schedule: ScheduleRecord): Promise<void>;
}

export function createElsewhere({ openReply, reach, owners, endSchedule, log }: ElsewhereOptions): Elsewhere {
  async function directTarget(target: ReplyTarget, userId: string): Promise<ReplyTarget> {
    const conversationId = (await reach(target.platform)?.direct(userId)) ?? "";
    return { ...target, conversationId, turnId: copyTurnId(target.turnId, userId) };
  }

  async function placeOf({ platform, conversationId, messageId }: ReplyTarget): Promise<string | undefined> {
    const place = await reach(platform)
      ?.place(conversationId, messageId)
      .catch(() => undefined);
    return place?.name;
  }

  async function askedIn({ target }: TurnRecord): Promise<string> {
    return (await placeOf(target)) ?? "the place where you asked";
  }

  async function tellOwners(target: ReplyTarget, line: string, unreachable?: string): Promise<void> {
    for (const userId of peopleAmong(owners(), target.platform)) {
      if (userId === unreachable) continue;
      await directTarget(target, userId)
        .then(openReply)
        .then((delivery) => delivery.note({ key: "unseen", line: [line] }))
        .catch((thrown: unknown) =>
          log.warn({ turnId: target.turnId, owner: userId, error: messageOf(thrown) }, "could not tell an owner"),
        );
    }
  }

  /** A schedule would ask the model again and again. */
  async function hasEnded(turn: TurnRecord): Promise<boolean> {
    const id = scheduleOf(turn);
    if (id === undefined) return false;
    return await endSchedule(id).catch((thrown: unknown) => {
      log.error({ schedule: id, error: messageOf(thrown) }, "could not end a schedule that nobody sees");
      return false;
    });
  }

  return {
    directTarget,
    async deliverDirect(turn) {
      const { target } = turn;
      const direct = directTarget(target, requesterOf(turn).id).then(openReply);
      const [delivery, asked] = await Promise.all([direct, askedIn(turn)]);
      return { delivery, asked };
    },
    async tellUnseen(turn, why) {
      const { id, name } = requesterOf(turn);
      const where = await askedIn(turn);
      const because = `I can't write there (${why}), and not directly to them either`;
      const line = (await hasEnded(turn))
        ? `${name}'s schedule in ${where} has ended, because nobody would see what it does: ${because}. The dashboard shows its last run.`
        : `${name} got no answer in ${where}: ${because}. The dashboard shows the request.`;
      await tellOwners(turn.target, line, id);
    },
    async tellOwnerless(id, { platform, conversationId, owner: { name }, nextAt }) {
      const target = { platform, conversationId, turnId: `schedule-${id}`, messageId: `schedule:${id}:${nextAt}` };
      const where = (await placeOf(target)) ?? "a place that is gone";
      await tellOwners(target, `${name}'s schedule in ${where} has ended, because ${name} is not here any more.`);
    },
  };
}
