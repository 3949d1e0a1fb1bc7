/** Finds the turns that a command such as `/remora why` means. */
import type { Ledger } from "../ports/ledger.ts";
import type { Author, InboundCommand } from "../ports/message.ts";
import type { TurnRecord } from "../ports/turn.ts";

export interface AnsweredTurnsOptions {
  ledger: Pick<Ledger, "list">;
  mayRead(turn: TurnRecord, platform: string, by: Author): Promise<boolean>;
}

export type AnsweredTurns = (command: InboundCommand, wanted: number) => Promise<TurnRecord[]>;

const maxSearchedTurns = 200;

/**
 * Newest first, only those that the person can read. In a channel or a DM of threads, looks in these, because not every
 * service allows commands in a thread.
 */
export function createAnsweredTurns({ ledger, mayRead }: AnsweredTurnsOptions): AnsweredTurns {
  return async ({ platform, conversationId, scope, isBesideThreads, by }, wanted) => {
    const here = isBesideThreads
      ? []
      : await ledger.list("turn", { group: conversationId, order: "newest", limit: wanted });
    if (here.length > 0) return here.map(({ body }) => body);
    const all = await ledger.list("turn", { order: "newest", limit: maxSearchedTurns });
    const around = all.map(({ body }) => body).filter((turn) => turn.scope === scope && !isPrivate(turn));
    const found: TurnRecord[] = [];
    for (const turn of around) {
      if (found.length >= wanted) break;
      if (await mayRead(turn, platform, by)) found.push(turn);
    }
    return found;
  };
}

/** A private thread has its channel's scope, but not everybody in the channel sees it. */
function isPrivate({ messages }: TurnRecord): boolean {
  return messages.some((message) => message.isPrivate === true);
}
