/**
 * Delivery of a reply, as it comes.
 *
 *   show       hands the newest text to the platform; while one is under way only the latest waits
 *   activity   the same for the status line
 *   ask, question, finish, fail   wait until what is under way has been taken, then go last, so that nothing overtakes them
 *
 * Secrets never leave: every text is redacted here, on the one way out to people.
 * Brain name: broca.
 */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Reply } from "../ports/platform.ts";
import type { Delivery } from "../ports/turn-deps.ts";

export interface DeliveryOptions {
  reply: Reply;
  redact(text: string): string;
  log: Log;
}

export function createDelivery({ reply, redact, log }: DeliveryOptions): Delivery {
  const text = createLatest((latest: string) => reply.write(redact(latest)), log);
  const shown = new Set<string>();
  let hasAsked = false;
  const activity = createLatest((latest: string) => reply.activity(redact(latest)), log);

  /** What is under way is waited for; what has not been sent yet is out of date now. */
  async function settleDown(): Promise<void> {
    await Promise.all([text.drop(), activity.drop()]);
  }

  return {
    show: (latest) => text.offer(latest),
    activity: (latest) => activity.offer(latest),
    async ask(card) {
      // The text above a card must be complete: nothing will write it again.
      await Promise.all([text.flush(), activity.drop()]);
      await reply.ask(card);
    },
    settle: (card) => reply.settle(card),
    async question(card) {
      await Promise.all([text.flush(), activity.drop()]);
      await reply.question(card);
      hasAsked ||= !shown.has(card.id);
      shown.add(card.id);
    },
    async leave() {
      await Promise.all([settleDown(), reply.leave?.()]).catch((thrown: unknown) =>
        log.warn({ error: messageOf(thrown) }, "a reply that is left may still be written to"),
      );
    },
    takeAsked() {
      const asked = hasAsked;
      hasAsked = false;
      return asked;
    },
    async finish(final, files) {
      await settleDown();
      await reply.finish(redact(final), files);
    },
    async fail(final) {
      await settleDown();
      await reply.fail(redact(final));
    },
  };
}

/** One send at a time, and of what is offered meanwhile only the latest. */
function createLatest(send: (latest: string) => Promise<void>, log: Log) {
  let waiting: string | undefined;
  let underWay: Promise<void> | undefined;

  async function work(): Promise<void> {
    while (waiting !== undefined) {
      const latest = waiting;
      waiting = undefined;
      // A partial text that could not be shown is no failure of the reply; its final text is what counts.
      await send(latest).catch((thrown: unknown) =>
        log.warn({ error: messageOf(thrown) }, "a partial reply was not shown"),
      );
    }
    underWay = undefined;
  }

  return {
    offer(latest: string): void {
      waiting = latest;
      underWay ??= work();
    },
    async flush(): Promise<void> {
      await underWay;
    },
    async drop(): Promise<void> {
      waiting = undefined;
      await underWay;
    },
  };
}
