/** Conversations on a ledger in memory, whose turns do what a test says. */
import { afterEach, beforeEach, expect } from "vitest";
import { type ConversationsOptions, createConversations } from "../../src/engine/conversation/conversations.ts";
import type { TurnEnd } from "../../src/engine/turn/turn-store.ts";
import { saveTurn } from "../../src/engine/turn/turn-store.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Conversations } from "../../src/ports/conversation.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { TurnRecord } from "../../src/ports/turn.ts";
import { createInMemoryBus, createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { inboundMessage } from "../doubles/records.ts";

/** Of the running test. */
export let ledger: Ledger;

/** A new, empty ledger for each test. */
export function useLedger(): void {
  beforeEach(() => {
    ledger = createSqliteLedger({ path: ":memory:" });
  });
  afterEach(() => ledger.close());
}

export function create(changes: Partial<ConversationsOptions> = {}): Conversations {
  return createConversations({
    ledger,
    events: createEvents(),
    log: silentLog,
    leases: createInMemoryLeases(),
    bus: createInMemoryBus(silentLog),
    takesTurns: true,
    resumeOrphansEveryMs: 5_000,
    serves: async () => true,
    overlap: "queue",
    concurrency: 10,
    lookAgain: async () => {},
    run: (turn) => endTurn(turn, "done"),
    onCrash: async () => {},
    cancelApprovals: async () => {},
    settleDecided: async () => {},
    workingFolder: () => "/nowhere",
    openReply: async () => undefined,
    ...changes,
  });
}

export async function endTurn(turn: TurnRecord, end: TurnEnd): Promise<TurnEnd> {
  if (end !== "suspended" && end !== "undelivered") await saveTurn(ledger, turn, end);
  return end;
}

/** Conversations whose first turn has begun, with this message, and ends after `release`. `ran` has all turns as they began. */
export async function createHeld(first = inboundMessage({ id: "1", text: "one" })) {
  const ran: TurnRecord[] = [];
  const latch = createLatch();
  const conversations = create({
    async run(turn) {
      ran.push(structuredClone(turn));
      if (ran.length === 1) await latch.opened;
      return await endTurn(turn, "done");
    },
  });
  await conversations.accept(first);
  await expect.poll(() => ran.length).toBe(1);
  return { conversations, ran, release: latch.open };
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** A gate that a test opens when it has seen what it waits for. */
export function createLatch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

export async function endNoting(turn: TurnRecord, ran: string[][]): Promise<TurnEnd> {
  ran.push(textsOf(turn));
  return await endTurn(turn, "done");
}

export const messageOf = (id: string, text: string) =>
  inboundMessage({ id: text, text, author: { id, name: id, isBot: false, roles: [] } });
export const textsOf = (turn: TurnRecord) => turn.messages.map((message) => message.text);

/** An open approval of a turn. */
export async function keepApproval(turnId: string): Promise<void> {
  const message = inboundMessage();
  await ledger.create("approval", `approval-${turnId}`, {
    state: "open",
    group: turnId,
    body: {
      id: `approval-${turnId}`,
      cardId: "card",
      turnId,
      conversationId: message.conversationId,
      scope: message.scope,
      target: { platform: "test", conversationId: message.conversationId, turnId, messageId: "m1" },
      requester: message.author,
      call: { id: "c", name: "act", input: {} },
      callHash: "",
      requestedHash: "",
      workingFolder: "",
      matches: [],
      extraTags: [],
      approvers: ["requester"],
      quorum: 1,
      notRequester: false,
      votes: [],
      grantIds: [],
      createdAt: 1,
      expiresAt: null,
    },
  });
}
