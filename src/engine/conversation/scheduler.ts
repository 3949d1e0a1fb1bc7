/**
 * Runs one piece of work at a time in each conversation, and limits how many conversations run at once. After each
 * piece, a conversation moves to the back of the queue so that none has to wait forever. Free slots are shared fairly among
 * the people whose requests wait.
 */
import { createFairPool } from "../../lib/fair-pool.ts";
import type { Lease } from "../../ports/cluster.ts";
import type { TurnRecord } from "../../ports/turn.ts";

export interface ScheduledConversation {
  /** Turns to resume before any new turn starts, oldest first. */
  wokenTurnIds: string[];
  /** Set while only this process may work on the conversation. */
  lease?: Lease;
  running?: { turn: TurnRecord; controller: AbortController };
}

interface ScheduledWork extends ScheduledConversation {
  isBusy: boolean;
  /** Scheduled again during work, so the result "no work" may be out of date. */
  isRescheduled: boolean;
  person?: string;
}

export interface Scheduler {
  /** Slots are shared fairly between persons. Without a `person`, the conversation gets a share of its own. */
  schedule(conversationId: string, person?: string): void;
  /** Resumes a turn before any new turn starts. */
  wake(conversationId: string, turnId: string, person?: string): void;
  running(conversationId: string): ScheduledConversation["running"];
  isBusy(conversationId: string): boolean;
  whenIdle(): Promise<void>;
  /** Starts no new work. Resolves when the running work has ended. */
  close(): Promise<void>;
}

/** `work` does one piece of work and resolves to false if there was none. It must not throw. */
export function createScheduler(
  concurrency: number,
  work: (conversationId: string, conversation: ScheduledConversation) => Promise<boolean>,
): Scheduler {
  const scheduled = new Map<string, ScheduledWork>();
  const pool = createFairPool(concurrency);
  let isClosing = false;

  function conversationFor(conversationId: string) {
    const known = scheduled.get(conversationId);
    if (known !== undefined) return known;
    const conversation: ScheduledWork = { isBusy: false, isRescheduled: false, wokenTurnIds: [] };
    scheduled.set(conversationId, conversation);
    return conversation;
  }

  function schedule(conversationId: string, person?: string): void {
    const conversation = conversationFor(conversationId);
    if (person !== undefined) conversation.person = person;
    if (conversation.isBusy) conversation.isRescheduled = true;
    if (conversation.isBusy || isClosing) return;
    conversation.isBusy = true;
    conversation.isRescheduled = false;
    void pool.add(conversation.person ?? conversationId, async () => {
      const hadWork = await work(conversationId, conversation);
      conversation.isBusy = false;
      if (hadWork || conversation.isRescheduled) schedule(conversationId);
      else scheduled.delete(conversationId);
    });
  }

  return {
    schedule,
    wake(conversationId, turnId, person) {
      const { wokenTurnIds } = conversationFor(conversationId);
      if (!wokenTurnIds.includes(turnId)) wokenTurnIds.push(turnId);
      schedule(conversationId, person);
    },
    isBusy: (conversationId) => scheduled.has(conversationId),
    running: (conversationId) => scheduled.get(conversationId)?.running,
    whenIdle: pool.whenIdle,
    async close() {
      isClosing = true;
      pool.clear();
      await pool.whenIdle();
    },
  };
}
