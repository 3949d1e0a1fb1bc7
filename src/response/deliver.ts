/**
 * Delivers a reply as it is being written. While a send is in progress, only the latest text and progress are kept for the
 * next one. Cards, questions and the end wait for the text before them. Redacts all text for people.
 * Brain name: broca.
 */
import { setImmediate } from "node:timers/promises";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { AnswerFooter } from "../ports/answer-footer.ts";
import { type Reply, unshownLevel } from "../ports/platform.ts";
import type { Progress } from "../ports/progress.ts";
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
  const progress = createLatest((latest: Progress) => reply.progress(redacted(latest)), log);

  function redacted({ headline, current, tasks, ...rest }: Progress): Progress {
    return {
      ...rest,
      headline: redact(headline),
      ...(current === undefined ? {} : { current: redact(current) }),
      tasks: tasks.map((task) => ({
        ...task,
        title: redact(task.title),
        ...(task.detail === undefined ? {} : { detail: redact(task.detail) }),
      })),
    };
  }

  async function settleDown(): Promise<void> {
    await Promise.all([text.drop(), progress.drop()]);
  }

  function redactedFooter(footer: AnswerFooter | undefined): AnswerFooter | undefined {
    return footer && { ...footer, line: redact(footer.line) };
  }

  return {
    show: (latest) => text.offer(latest),
    avoidPreviews: () => reply.avoidPreviews?.(),
    progress: (latest) => progress.offer(latest),
    async ask(card) {
      // Send the complete text before the card, because text above a card is not updated later.
      await Promise.all([text.flush(), progress.drop()]);
      await reply.ask(card);
    },
    settle: (card) => reply.settle(card),
    note: (note) => reply.note(note),
    async question(card) {
      await Promise.all([text.flush(), progress.drop()]);
      await reply.question(card);
      hasAsked ||= !shown.has(card.id);
      shown.add(card.id);
    },
    async park() {
      await Promise.all([text.flush(), progress.drop()])
        .then(() => reply.park())
        .catch((thrown: unknown) =>
          log[unshownLevel(thrown)]({ error: messageOf(thrown) }, "could not remove the progress of a turn"),
        );
    },
    async leave() {
      await Promise.all([settleDown(), reply.leave?.()]).catch((thrown: unknown) =>
        log.warn({ error: messageOf(thrown) }, "an abandoned reply may still receive updates"),
      );
    },
    takeAsked() {
      const asked = hasAsked;
      hasAsked = false;
      return asked;
    },
    async finish(final, files, footer, notes = "") {
      await settleDown();
      await reply.finish(redact(final), files, redactedFooter(footer), redact(notes));
    },
    async fail(final, reason, footer) {
      await settleDown();
      await reply.fail(redact(final), redact(reason), redactedFooter(footer));
    },
  };
}

/**
 * What is offered in one turn of the event loop is sent once, after what follows at once: the model request then need not
 * wait for the progress, and an end needs no send before it.
 */
function createLatest<T>(send: (latest: T) => Promise<void>, log: Log) {
  let waiting: T | undefined;
  let underWay: Promise<void> | undefined;
  let isSending = false;

  async function work(): Promise<void> {
    await setImmediate();
    isSending = true;
    while (waiting !== undefined) {
      const latest = waiting;
      waiting = undefined;
      // Only log a partial text that can't be sent, because only the final text matters.
      await send(latest).catch((thrown: unknown) =>
        log[unshownLevel(thrown)]({ error: messageOf(thrown) }, "could not show a partial reply"),
      );
    }
    isSending = false;
    underWay = undefined;
  }

  return {
    offer(latest: T): void {
      waiting = latest;
      underWay ??= work();
    },
    async flush(): Promise<void> {
      await underWay;
    },
    async drop(): Promise<void> {
      waiting = undefined;
      if (isSending) await underWay;
    },
  };
}
