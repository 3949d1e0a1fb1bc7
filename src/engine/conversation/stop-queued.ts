/** Stops requests that wait for their turn. People read it where the answer would have been. */
import type { Ledger } from "../../ports/ledger.ts";
import type { InboundMessage } from "../../ports/message.ts";
import type { Inbox } from "./inbox.ts";
import { queuedRequests } from "./places-in-queue.ts";
import type { WaitingRoom } from "./waiting-room.ts";

/**
 * Resolves to the number of requests that it stopped. A turn may take a request in the meantime, so call this before the
 * active turns are listed.
 */
export type StopQueued = (isMeant: (message: InboundMessage) => boolean, conversationId?: string) => Promise<number>;

export function createQueueStopper(
  ledger: Ledger,
  messages: Pick<Inbox, "stop">,
  waitingRoom: Pick<WaitingRoom, "tellStopped">,
): StopQueued {
  return async (isMeant, conversationId) => {
    const group = conversationId === undefined ? {} : { group: conversationId };
    const entries = await ledger.list("message", { states: ["queued"], ...group });
    let stopped = 0;
    for (const request of queuedRequests(entries.filter(({ body }) => isMeant(body)))) {
      // Together, so that nobody finds a part of the request stopped, and speaks of that part alone.
      const isStopped = (await Promise.all(request.messages.map(messages.stop))).includes(true);
      const isStarted = (await ledger.get("turn", request.target.turnId)) !== undefined;
      if (isStopped && !isStarted) stopped += 1;
    }
    waitingRoom.tellStopped();
    return stopped;
  };
}
