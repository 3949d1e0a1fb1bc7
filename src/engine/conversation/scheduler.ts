/**
 * Runs one piece of work at a time in each conversation, and limits how many conversations run at once. After each
 * piece, a conversation moves to the back of the queue so that none has to wait forever.
 */
import PQueue from "p-queue";
import { TurnAbort } from "../../lib/abort.ts";
import type { Lease } from "../../ports/cluster.ts";
import type { TurnRecord } from "../../ports/turn.ts";

export interface ScheduledConversation {
  /** Turns to resume before any new turn starts, oldest first. */
  wokenTurnIds: string[];
  /** Set while only this process may work on the conversation. */
  lease?: Lease;
  running?: { turn: TurnRecord; controller: AbortController };
}

export interface Scheduler {
  schedule(conversationId: string): void;
  /** Resumes a turn before any new turn starts. */
  wake(conversationId: string, turnId: string): void;
  running(conversationId: string): ScheduledConversation["running"];
  isBusy(conversationId: string): boolean;
  whenIdle(): Promise<void>;
  /** Starts no new work. After `graceMs`, aborts running work with the cause `shutdown`. */
  close(graceMs: number): Promise<void>;
}

/** `work` does one piece of work and resolves to false if there was none. It must not throw. */
export function createScheduler(
  concurrency: number,
  work: (conversationId: string, conversation: ScheduledConversation) => Promise<boolean>,
): Scheduler {
  /** `isRescheduled`: scheduled again during work, so the result "no work" may be out of date. */
  const scheduled = new Map<string, ScheduledConversation & { isBusy: boolean; isRescheduled: boolean }>();
  const pool = new PQueue({ concurrency });
  let isClosing = false;

  function conversationFor(conversationId: string) {
    const known = scheduled.get(conversationId);
    if (known !== undefined) return known;
    const conversation = { isBusy: false, isRescheduled: false, wokenTurnIds: [] as string[] };
    scheduled.set(conversationId, conversation);
    return conversation;
  }

  function schedule(conversationId: string): void {
    const conversation = conversationFor(conversationId);
    if (conversation.isBusy) conversation.isRescheduled = true;
    if (conversation.isBusy || isClosing) return;
    conversation.isBusy = true;
    conversation.isRescheduled = false;
    void pool.add(async () => {
      const hadWork = await work(conversationId, conversation);
      conversation.isBusy = false;
      if (hadWork || conversation.isRescheduled) schedule(conversationId);
      else scheduled.delete(conversationId);
    });
  }

  return {
    schedule,
    wake(conversationId, turnId) {
      const { wokenTurnIds } = conversationFor(conversationId);
      if (!wokenTurnIds.includes(turnId)) wokenTurnIds.push(turnId);
      schedule(conversationId);
    },
    isBusy: (conversationId) => scheduled.has(conversationId),
    running: (conversationId) => scheduled.get(conversationId)?.running,
    whenIdle: () => pool.onIdle(),
    async close(graceMs) {
      isClosing = true;
      pool.clear();
      const timer = setTimeout(() => {
        for (const { running } of scheduled.values()) running?.controller.abort(new TurnAbort("shutdown"));
      }, graceMs);
      await pool.onIdle();
      clearTimeout(timer);
    },
  };
}
