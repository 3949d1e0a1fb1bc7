/** Running, parked and queued turns now. The operator can stop a running or parked one. */
import type { Hono } from "hono";
import { z } from "zod";
import { oneLine } from "../../lib/text/sanitize.ts";
import type { Conversations } from "../../ports/conversation.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Operate } from "./operate.ts";
import { acting } from "./respond.ts";
import { doingOf, turnRow } from "./turn-rows.ts";

export interface LiveTurn {
  /** The turn's id, or the key of a queued message. */
  id: string;
  state: "running" | "parked" | "queued";
  conversationId: string;
  who: string;
  text: string;
  doing: string;
  since: number;
  startedAt: number;
}

export interface LiveTurns {
  turns: LiveTurn[];
  /** Counts of all, because `turns` lists at most 50 of each state. */
  counts: { running: number; parked: number; queued: number };
}

const maxPerState = 50;
const maxTextCharacters = 160;
const stopSchema = z.strictObject({ turnId: z.string().min(1).max(200) });

export function mountLiveTurns(
  app: Hono,
  { conversations, operate }: { conversations: Pick<Conversations, "stopTurn">; operate: Operate },
): void {
  acting(app, "/dashboard/turns/stop", {
    schema: stopSchema,
    invalid: "To stop a turn, send its turnId.",
    act: ({ turnId }, visitor) =>
      operate(visitor, { action: "turn.stop", subject: turnId }, async () =>
        (await conversations.stopTurn(turnId))
          ? { accepted: true, text: "Stopping this turn." }
          : { accepted: false, text: "This turn has already ended." },
      ),
  });
}

export async function readLiveTurns(ledger: Ledger, status: Conversations["status"]): Promise<LiveTurns> {
  const [running, parked, queued, counts] = await Promise.all([
    ledger.list("turn", { states: ["running"], order: "newest", limit: maxPerState }),
    ledger.list("turn", { states: ["parked"], order: "newest", limit: maxPerState }),
    ledger.list("message", { states: ["queued"], limit: maxPerState }),
    status(),
  ]);
  const active = [...running, ...parked].map((entry): LiveTurn => {
    const { id, state, conversationId, who, text, startedAt } = turnRow(entry);
    return {
      ...{ id, conversationId, who, text, startedAt },
      state: state === "parked" ? "parked" : "running",
      ...doingOf(entry.body, entry.state),
    };
  });
  const waiting = queued.map(({ id, body, createdAt }, index): LiveTurn => {
    return {
      id,
      state: "queued",
      conversationId: body.conversationId,
      who: oneLine(body.author.name, maxTextCharacters),
      text: oneLine(body.text, maxTextCharacters),
      doing: `number ${index + 1} in the queue`,
      since: createdAt,
      startedAt: createdAt,
    };
  });
  return { turns: [...active, ...waiting], counts };
}
