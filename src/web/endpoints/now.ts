/** The dashboard's first page: what waits for an answer, what runs, and what is not well. */
import type { Hono } from "hono";
import { z } from "zod";
import type { ApprovalDesk } from "../../ports/approval.ts";
import type { Conversations } from "../../ports/conversation.ts";
import type { StatusLine } from "../../ports/health.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { isOperator } from "../../ports/visitor.ts";
import { type ApprovalRow, rowsFor } from "./approvals.ts";
import { type LiveTurns, readLiveTurns } from "./live-turns.ts";
import { reading } from "./respond.ts";

export interface NowData {
  version: string;
  startedAt: number;
  /** Parts that are not well. */
  problems: StatusLine[];
  approvals: ApprovalRow[];
  live: LiveTurns;
}

export interface NowOptions {
  version: string;
  startedAt: number;
  ledger: Ledger;
  approvals: Pick<ApprovalDesk, "listOpen" | "answerable">;
  conversations: Pick<Conversations, "status">;
  status(): StatusLine[];
}

export function mountNow(
  app: Hono,
  { version, startedAt, ledger, approvals, conversations, status }: NowOptions,
): void {
  reading(app, "/dashboard/data", z.object({}), async (_input, visitor): Promise<NowData> => {
    const [rows, live] = await Promise.all([rowsFor(approvals, visitor), readLiveTurns(ledger, conversations.status)]);
    return {
      ...{ version, startedAt },
      // Others see how many turns there are, not what they are about.
      live: isOperator(visitor) ? live : { ...live, turns: [] },
      problems: status().filter(({ state }) => state === "warning" || state === "error"),
      approvals: rows,
    };
  });
}
