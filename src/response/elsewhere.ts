/** What a turn has to say when nobody would see it where it was asked: to its requester, or that nobody saw it to the owners. */
import { peopleAmong } from "../lib/approver-entry.ts";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { copyTurnId } from "../ports/copies.ts";
import type { ReplyTarget } from "../ports/message.ts";
import type { Reach } from "../ports/reach.ts";
import { requesterOf, type TurnRecord } from "../ports/turn.ts";
import type { Delivery, TurnDeps } from "../ports/turn-deps.ts";

export interface ElsewhereOptions {
  openReply(target: ReplyTarget): Promise<Delivery>;
  reach(platform: string): Reach | undefined;
  /** `safety.owners`. */
  owners(): readonly string[];
  log: Log;
}

export interface Elsewhere extends Pick<TurnDeps, "deliverDirect" | "tellUnseen"> {
  /** As of `QuestionsOptions`. */
  directTarget(target: ReplyTarget, userId: string): Promise<ReplyTarget>;
}

export function createElsewhere({ openReply, reach, owners, log }: ElsewhereOptions): Elsewhere {
  async function directTarget(target: ReplyTarget, userId: string): Promise<ReplyTarget> {
    const conversationId = (await reach(target.platform)?.direct(userId)) ?? "";
    return { ...target, conversationId, turnId: copyTurnId(target.turnId, userId) };
  }

  const direct = async ({ target }: TurnRecord, userId: string) => await openReply(await directTarget(target, userId));

  async function askedIn({ target: { platform, conversationId, messageId } }: TurnRecord): Promise<string> {
    const place = await reach(platform)
      ?.place(conversationId, messageId)
      .catch(() => undefined);
    return place?.name ?? "the place where you asked";
  }

  return {
    directTarget,
    async deliverDirect(turn) {
      const [delivery, asked] = await Promise.all([direct(turn, requesterOf(turn).id), askedIn(turn)]);
      return { delivery, asked };
    },
    async tellUnseen(turn, why) {
      const { id, name } = requesterOf(turn);
      const where = await askedIn(turn);
      const line = `${name} got no answer in ${where}: I can't write there (${why}), and not directly to them either. The dashboard shows the request.`;
      for (const userId of peopleAmong(owners(), turn.target.platform)) {
        if (userId === id) continue;
        await direct(turn, userId)
          .then((delivery) => delivery.note({ key: "unseen", line: [line] }))
          .catch((thrown: unknown) =>
            log.warn({ turnId: turn.id, owner: userId, error: messageOf(thrown) }, "could not tell an owner"),
          );
      }
    },
  };
}
