/** Finds messages that a model declined to answer. Where other messages link to them or quote them, they do not go out again. */
import type { Ledger } from "../../ports/ledger.ts";
import { messageKey } from "../../ports/message.ts";
import { refusedText } from "../../ports/turn.ts";
import { turnIdFor } from "../conversation/inbox.ts";
import type { TurnRun } from "./turn-store.ts";

export async function wasRefused(ledger: Ledger, platform: string, messageId: string): Promise<boolean> {
  const asked = (await ledger.get("message", messageKey(platform, messageId)))?.body;
  if (asked === undefined) return false;
  const first = (await ledger.get("turn", turnIdFor(asked)))?.body;
  // A turn is named after the first of its messages.
  const turns = first ? [first] : (await ledger.list("turn", { group: asked.conversationId })).map(({ body }) => body);
  return turns.find(({ messages }) => messages.some(({ id }) => id === messageId))?.isRefused === true;
}

/** Looks each quoted message up once. */
export async function leaveOutRefused({ turn, deps, save }: TurnRun): Promise<void> {
  const quotes = turn.messages.flatMap(({ platform, attachments }) =>
    attachments.flatMap((attachment) => (attachment.quotes === undefined ? [] : [{ platform, attachment }])),
  );
  if (quotes.length === 0) return;
  for (const { platform, attachment } of quotes) {
    if (await wasRefused(deps.ledger, platform, attachment.quotes ?? "")) {
      attachment.text = refusedText;
      delete attachment.source;
    }
    delete attachment.quotes;
  }
  await save();
}
