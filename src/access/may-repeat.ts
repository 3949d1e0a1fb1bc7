/** Decides what people may do later to a request: whether they, and its requester, may use the agent where it was made, now. */
import { oneLine } from "../lib/text/sanitize.ts";
import type { Access, BarredBecause, MayRepeat } from "../ports/access.ts";
import type { Author } from "../ports/message.ts";
import { requesterOf } from "../ports/turn.ts";

export interface MayRepeatOptions {
  barredBecause: BarredBecause;
  /** With current roles. Undefined if the person has left. */
  personNow(person: Author, platform: string, conversationId: string): Promise<Author | undefined>;
}

const maxNameCharacters = 80;

export function createBarredBecause(access: Pick<Access, "check">): BarredBecause {
  return async ({ messages }, person) => {
    const newest = messages.at(-1);
    if (newest === undefined) return "I no longer have this request.";
    const verdict = await access.check({ ...newest, author: person });
    return verdict.type === "allowed" ? undefined : (verdict.notice?.text ?? `I can't do that: ${verdict.why}.`);
  };
}

export function createMayRepeat({ barredBecause, personNow }: MayRepeatOptions): MayRepeat {
  return async (turn, clickedBy) => {
    const stored = requesterOf(turn);
    const name = oneLine(stored.name, maxNameCharacters);
    const requester = await personNow(stored, turn.target.platform, turn.conversationId);
    if (requester === undefined) return { type: "refused", text: `${name} is no longer here, so nothing was started.` };
    const text = await barredBecause(turn, requester);
    if (text === undefined) return { type: "allowed", requester };
    // The notice can contain a pairing code, which only its owner may see.
    if (clickedBy.id !== requester.id)
      return { type: "refused", text: `${name} may not use me here any more, so nothing was started.` };
    return { type: "refused", text };
  };
}
