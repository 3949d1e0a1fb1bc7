/** The dashboard's first page: what waits for an answer, what runs, and what is not well. */
import type { Hono } from "hono";
import { z } from "zod";
import type { ApprovalDesk } from "../../ports/approval.ts";
import type { Conversations } from "../../ports/conversation.ts";
import type { StatusLine } from "../../ports/health.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { type ApprovalRow, approvalRows } from "./approvals.ts";
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
  approvals: Pick<ApprovalDesk, "listOpen">;
  conversations: Pick<Conversations, "status">;
  status(): StatusLine[];
}

export function mountNow(
  app: Hono,
  { version, startedAt, ledger, approvals, conversations, status }: NowOptions,
): void {
  reading(app, "/dashboard/data", z.object({}), async (): Promise<NowData> => {
    const [cards, live] = await Promise.all([approvals.listOpen(), readLiveTurns(ledger, conversations.status)]);
    return {
      ...{ version, startedAt, live },
      problems: status().filter(({ state }) => state === "warning" || state === "error"),
      approvals: approvalRows(cards),
    };
  });
}
