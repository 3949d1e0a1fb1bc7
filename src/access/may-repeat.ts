/** Decides whether a click may start a request again: its requester must still be there, and may use the agent now. */
import { oneLine } from "../lib/text/sanitize.ts";
import type { Access, MayRepeat } from "../ports/access.ts";
import type { Author } from "../ports/message.ts";
import { requesterOf } from "../ports/turn.ts";

export interface MayRepeatOptions {
  access: Pick<Access, "check">;
  /** With current roles. Undefined if the person has left. */
  personNow(person: Author, platform: string, conversationId: string): Promise<Author | undefined>;
}

const maxNameCharacters = 80;

export function createMayRepeat({ access, personNow }: MayRepeatOptions): MayRepeat {
  return async (turn, clickedBy) => {
    const stored = requesterOf(turn);
    const name = oneLine(stored.name, maxNameCharacters);
    const message = turn.messages.at(-1);
    const requester = await personNow(stored, turn.target.platform, turn.conversationId);
    if (message === undefined || requester === undefined)
      return { type: "refused", text: `${name} is no longer here, so nothing was started.` };
    const verdict = await access.check({ ...message, author: requester });
    if (verdict.type === "allowed") return { type: "allowed", requester };
    // The notice can contain a pairing code, which only its owner may see.
    if (clickedBy.id !== requester.id)
      return { type: "refused", text: `${name} may not use me here any more, so nothing was started.` };
    return { type: "refused", text: verdict.notice?.text ?? `I can't do that: ${verdict.why}.` };
  };
}
