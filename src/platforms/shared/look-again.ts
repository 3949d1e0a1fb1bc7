/** Looks at each of the messages. Never rejects: a failure is logged, and the message stays as it is. */
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { InboundMessage } from "../../ports/message.ts";

export async function lookAgain(
  messages: Promise<InboundMessage[]>,
  look: (message: InboundMessage) => Promise<void>,
  log: Log,
): Promise<void> {
  const couldNot = (thrown: unknown) =>
    log.warn({ error: messageOf(thrown) }, "could not look whether a waiting message was edited or deleted");
  for (const message of (await messages.catch(couldNot)) ?? []) await look(message).catch(couldNot);
}
