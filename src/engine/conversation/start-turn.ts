/** Starts turns from the queued messages of a conversation. */
import { isDeepStrictEqual } from "node:util";
import type { Events } from "../../ports/events.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Author, InboundMessage, Scope } from "../../ports/message.ts";
import type { TurnRecord } from "../../ports/turn.ts";
import { claimed, turnFields } from "../turn/turn-store.ts";
import { askedAgainSteps } from "./asked-again.ts";
import { type Inbox, turnIdFor } from "./inbox.ts";

export interface TurnStarterOptions {
  ledger: Ledger;
  messages: Inbox;
  events: Events;
  workingFolder(conversationId: string, scope: Scope): string;
  /** Resolves to false if none of the messages may have changed unnoticed. Otherwise stores what has. */
  lookAgain(messages: readonly InboundMessage[]): Promise<boolean>;
}

/** Resolves to the conversation's next turn, claimed by the caller, or to undefined if no message waits. */
export type StartNextTurn = (conversationId: string) => Promise<TurnRecord | undefined>;

export function createTurnStarter({
  ledger,
  messages,
  events,
  workingFolder,
  lookAgain,
}: TurnStarterOptions): StartNextTurn {
  /**
   * A turn contains consecutive messages of only one person so that nobody's rights apply to another's request. Writes
   * the turn before taking its messages. After a crash in between, the first message yields the same turn id.
   */
  async function next(conversationId: string): Promise<TurnRecord | undefined> {
    const waiting = await messages.queued(conversationId);
    const [first] = waiting;
    if (first === undefined) return undefined;
    if (await lookAgain(waiting)) return await next(conversationId);
    const consecutive = consecutiveBy(waiting, first.author);
    const newest = consecutive.at(-1) ?? first;
    const id = turnIdFor(first);
    const planned: TurnRecord = {
      id,
      conversationId,
      scope: newest.scope,
      messages: consecutive,
      target: { platform: newest.platform, conversationId, turnId: id, messageId: newest.replyTo ?? newest.id },
      workingFolder: workingFolder(conversationId, newest.scope),
      steps: await askedAgainSteps(ledger, first),
      startedAt: Date.now(),
      isDelivered: false,
    };
    const mine = claimed(planned);
    const isMine = await ledger.create("turn", id, { state: "running", body: mine, group: conversationId });
    const turn = await takeMessages(id, isMine ? mine : undefined);
    if (turn === undefined) return await next(conversationId);
    events.emit("turn.started", { ...turnFields(turn), messages: turn.messages.length });
    return turn;
  }

  /** Takes the messages, including the latest edits. A turn whose messages were all withdrawn ends immediately. */
  async function takeMessages(turnId: string, mine: TurnRecord | undefined): Promise<TurnRecord | undefined> {
    const planned = mine ?? (await ledger.get("turn", turnId))?.body;
    const taken = await messages.take(planned?.messages ?? []);
    // Usually nothing has changed in the meantime, so there is nothing to write.
    if (mine !== undefined && isDeepStrictEqual(taken, mine.messages) && (await isUntouched(mine))) return mine;
    const state = taken.length === 0 ? "stopped" : "running";
    const kept = await ledger.transition("turn", turnId, ["running"], state, (turn) =>
      taken.length === 0 ? { ...turn, endedAt: Date.now() } : { ...claimed(turn), messages: taken },
    );
    if (kept?.state === "running") return kept.body;
    await messages.answered(taken);
    return undefined;
  }

  async function isUntouched({ id, owner }: TurnRecord): Promise<boolean> {
    const entry = await ledger.get("turn", id);
    return entry?.state === "running" && entry.body.owner === owner && entry.body.abort === undefined;
  }

  return next;
}

function consecutiveBy(waiting: InboundMessage[], by: Author): InboundMessage[] {
  // A request to ask again is a turn of its own.
  const end = waiting.findIndex(
    ({ author, askAgain }, index) =>
      author.id !== by.id || (index > 0 && (askAgain ?? waiting[0]?.askAgain) !== undefined),
  );
  return end < 0 ? waiting : waiting.slice(0, end);
}
