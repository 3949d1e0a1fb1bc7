/** Requests that clicks start again. The test says whose are refused. */
import type { Repeats } from "../../src/ports/access.ts";
import type { InboundMessage } from "../../src/ports/message.ts";
import { requesterOf } from "../../src/ports/turn.ts";

export const notAnyMore = "You may not use me here any more.";

export function createRepeats(accepted: InboundMessage[], isRefused: () => boolean = () => false): Repeats {
  return {
    mayRepeat: async (turn) =>
      isRefused() ? { type: "refused", text: notAnyMore } : { type: "allowed", requester: requesterOf(turn) },
    accept: async (message) => void accepted.push(message),
  };
}
