/** The replies that this process writes. A question that a tool asks during a turn joins that turn's reply. */
import { messageOf, RemoraError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { ApprovalCard } from "../ports/card.ts";
import { turnIdOfCopy } from "../ports/copies.ts";
import type { ReplyTarget } from "../ports/message.ts";
import { isNoRoute, type Platform, type Posts } from "../ports/platform.ts";
import type { WrapPort } from "../ports/port-wrappers.ts";
import type { Delivery } from "../ports/turn-deps.ts";
import type { CardWriter } from "./card-writer.ts";
import { createDelivery } from "./deliver.ts";

export interface DeliveriesOptions {
  platform(name: string): Platform | undefined;
  postsFor(target: ReplyTarget): Posts;
  cardWriter: CardWriter;
  /** As `ApprovalDesk.askElsewhere`. */
  askElsewhere(cardId: string, why: string): Promise<boolean>;
  redact(text: string): string;
  wrap: WrapPort;
  log: Log;
}

export interface Deliveries {
  /** Opens a reply for one message, such as a card. Rejects with `platform.off` if the platform is not connected. */
  open(target: ReplyTarget): Promise<Delivery>;
  /** `isLost` is that of `Posts`. */
  begin(target: ReplyTarget, isLost: () => boolean): Promise<Delivery>;
  /** Returns the reply of the turn if the turn runs in this process, else a new reply. */
  current(target: ReplyTarget): Promise<Delivery>;
  end(turnId: string): void;
}

export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { platform, postsFor, cardWriter, redact, wrap, log } = options;
  const running = new Map<string, Delivery>();

  async function open(target: ReplyTarget, more: Pick<Posts, "isLost"> = {}): Promise<Delivery> {
    const found = platform(target.platform);
    if (found === undefined) {
      throw new RemoraError({
        code: "platform.off",
        place: `platform ${target.platform}`,
        message: "is not on in this process; set its token, or leave the turn to a process that has it",
      });
    }
    const reply = found.reply(target, { ...wrap("posts", postsFor(target)), ...more });
    const delivery = createDelivery({ reply, redact, log });
    return wrap("delivery", {
      ...delivery,
      ask: (card) => cardWriter.ask(card, delivery.ask).catch((thrown: unknown) => askElsewhere(card, thrown)),
      settle: (card) => cardWriter.settle(card, delivery.settle),
    });
  }

  /** Nobody would see the card here. A copy has no other place. */
  async function askElsewhere({ id, target }: ApprovalCard, thrown: unknown): Promise<void> {
    const isCopy = turnIdOfCopy(target.turnId) !== target.turnId;
    if (isCopy || !isNoRoute(thrown) || !(await options.askElsewhere(id, thrown.plain))) throw thrown;
    log.warn(
      { turnId: target.turnId, error: messageOf(thrown) },
      "asked by direct message, because a card has no place",
    );
  }

  return {
    open: (target) => open(target),
    async begin(target, isLost) {
      const delivery = await open(target, { isLost });
      running.set(target.turnId, delivery);
      return delivery;
    },
    current: async (target) => running.get(target.turnId) ?? (await open(target)),
    end: (turnId) => void running.delete(turnId),
  };
}
