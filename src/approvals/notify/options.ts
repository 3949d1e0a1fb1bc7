/** What the approvals need to tell people about cards. */
import type { ApprovalCard, CardNote } from "../../ports/card.ts";
import type { Leases } from "../../ports/cluster.ts";
import type { ReplyTarget } from "../../ports/message.ts";
import type { Reach } from "../../ports/reach.ts";

export interface NotifyOptions {
  where: "thread" | "dm" | "both" | "off";
  /** A role counts as one. */
  atMost: number;
  leases: Leases;
  /** False if another process works on this conversation. */
  serves(conversationId: string): Promise<boolean>;
  /** Undefined if the platform is not on in this process. */
  reach(platform: string): Reach | undefined;
  /** Posts the card, or updates it if it is posted already. */
  post(card: ApprovalCard): Promise<void>;
  /** Posts one line, once per key. */
  say(target: ReplyTarget, note: CardNote): Promise<unknown>;
}
