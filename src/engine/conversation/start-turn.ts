/** Turns made of what waits in a conversation. */
import type { Events } from "../../ports/events.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Author, InboundMessage, Scope } from "../../ports/message.ts";
import type { TurnRecord } from "../../ports/turn.ts";
import { fieldsOf, owned } from "../turn/turn-store.ts";
import { type Inbox, turnIdFor } from "./inbox.ts";

export interface TurnStarterOptions {
  ledger: Ledger;
  messages: Inbox;
  events: Events;
  workingFolder(conversationId: string, scope: Scope): string;
}

/** The next turn of the conversation, owned by the caller; undefined when nothing waits. */
export type StartNextTurn = (conversationId: string) => Promise<TurnRecord | undefined>;

export function createTurnStarter({ ledger, messages, events, workingFolder }: TurnStarterOptions): StartNextTurn {
  /**
   * What one person said in a row becomes one turn; what the next person said waits for the turn after it, so that nobody's
   * rights count for what somebody else asked. The turn is written before its messages are taken: a crash
   * in between loses nothing, and makes no second turn of them, because the first message gives the turn its id.
   */
  async function next(conversationId: string): Promise<TurnRecord | undefined> {
    const waiting = await messages.queued(conversationId);
    const [first] = waiting;
    if (first === undefined) return undefined;
    const said = saidInARow(waiting, first.author);
    const newest = said.at(-1) ?? first;
    const id = turnIdFor(first);
    const planned: TurnRecord = {
      id,
      conversationId,
      scope: newest.scope,
      messages: said,
      target: { platform: newest.platform, conversationId, turnId: id, messageId: newest.id },
      workingFolder: workingFolder(conversationId, newest.scope),
      steps: [],
      startedAt: Date.now(),
      isDelivered: false,
    };
    await ledger.create("turn", id, { state: "running", body: planned, group: conversationId });
    const turn = await withTaken(id);
    if (turn === undefined) return await next(conversationId);
    events.emit("turn.started", { ...fieldsOf(turn), messages: turn.messages.length });
    return turn;
  }

  /** What was edited or withdrawn at the last moment is so in the turn as well; a turn of nothing ends before it began. */
  async function withTaken(turnId: string): Promise<TurnRecord | undefined> {
    const entry = await ledger.get("turn", turnId);
    const taken = await messages.take(entry?.body.messages ?? []);
    const state = taken.length === 0 ? "stopped" : "running";
    const kept = await ledger.transition("turn", turnId, ["running"], state, (turn) =>
      taken.length === 0 ? { ...turn, endedAt: Date.now() } : { ...owned(turn), messages: taken },
    );
    if (kept?.state === "running") return kept.body;
    await messages.answered(taken);
    return undefined;
  }

  return next;
}

function saidInARow(waiting: InboundMessage[], by: Author): InboundMessage[] {
  const end = waiting.findIndex(({ author }) => author.id !== by.id);
  return end < 0 ? waiting : waiting.slice(0, end);
}
