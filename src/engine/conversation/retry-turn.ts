/**
 * Starts a failed request again, once, as a new turn with the same words and files. The click becomes a message in the ledger
 * whose id derives from the failed turn, so a second click, another process or a crash can't start it twice.
 */
import { pause } from "../../lib/backoff.ts";
import { inZoneOf } from "../../lib/time-zones.ts";
import type { BarredBecause } from "../../ports/access.ts";
import type { FooterReceipt } from "../../ports/answer-footer.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { type Author, type InboundMessage, messageKey } from "../../ports/message.ts";
import { requesterOf } from "../../ports/turn.ts";
import type { TurnReports } from "../../ports/turn-report.ts";
import { scheduleOf } from "../../ports/usage.ts";
import { isWithdrawn, originalsOf } from "./inbox.ts";

export interface RetryOptions {
  ledger: Pick<Ledger, "get">;
  reports: Pick<TurnReports, "of">;
  barredBecause: BarredBecause;
  accept(message: InboundMessage): Promise<boolean>;
  now?: () => number;
}

const maxWaitMs = 10_000;
const lookAgainMs = 200;
const never = new AbortController().signal;
const refused = (text: string): FooterReceipt => ({ accepted: false, text });

const alreadyStarted = refused("I have already started this again.");

export function createRetry({ ledger, reports, barredBecause, accept, now = Date.now }: RetryOptions) {
  /** People see the failure, with its button, a moment before the turn has ended. */
  async function endedTurn(turnId: string) {
    for (let waitedMs = 0; ; waitedMs += lookAgainMs) {
      const entry = await ledger.get("turn", turnId);
      if (entry?.state !== "running" || waitedMs >= maxWaitMs) return entry;
      await pause(lookAgainMs, never);
    }
  }

  return async (turnId: string, platform: string, by: Author): Promise<FooterReceipt> => {
    const entry = await endedTurn(turnId);
    if (entry === undefined) return refused("I no longer have this request. Please ask again.");
    const { body: turn, state } = entry;
    const requester = requesterOf(turn);
    if (turn.target.platform !== platform || requester.id !== by.id)
      return refused(`Only ${requester.name} can start this again.`);
    const id = `retry:${turnId}`;
    if ((await ledger.get("message", messageKey(turn.target.platform, id))) !== undefined) return alreadyStarted;
    if (!(await reports.of(turn, state)).isSafeToRetry)
      return refused(
        "This can't be started again by a button, because something may already have happened. Please ask again.",
      );
    const originals = await originalsOf(ledger, turn);
    const messages = originals.filter((message) => !isWithdrawn(message));
    const newest = turn.messages.findLast(({ changes }) => changes === undefined);
    if (messages.length === 0 && originals.length > 0)
      return refused("Your message was deleted, so I can't start this again. Please ask again.");
    if (newest === undefined) return refused("I no longer have this request. Please ask again.");
    const barred = await barredBecause(turn, by);
    if (barred !== undefined) return refused(barred);
    const scheduleId = scheduleOf(turn);
    const isFirst = await accept({
      ...newest,
      ...(scheduleId === undefined ? {} : { scheduleId }),
      id,
      replyTo: turn.target.messageId,
      author: inZoneOf(newest.author, by),
      text: messages.map(({ text }) => text).join("\n\n"),
      attachments: messages.flatMap(({ attachments }) => attachments),
      at: now(),
    });
    return isFirst ? { accepted: true, text: "I'm trying again." } : alreadyStarted;
  };
}
