/** Builds a turn's report from its record and the approvals in the ledger. Old records may lack newer fields. */
import { oneLine } from "../lib/text/sanitize.ts";
import type { Ledger } from "../ports/ledger.ts";
import {
  type CallRecord,
  callsOf,
  isOfUnknownOutcome,
  requesterOf,
  type TurnRecord,
  type TurnState,
} from "../ports/turn.ts";
import type { TurnReport, TurnReports } from "../ports/turn-report.ts";
import { costOfTurn, tokensOf } from "../ports/usage.ts";
import { originsOfSteps } from "./others-texts.ts";
import { callReport, changesReport } from "./report-parts.ts";
import type { ApprovalRow, ReportTexts } from "./report-texts.ts";
import { waitsOf } from "./waits.ts";

export interface TurnReportsOptions {
  ledger: Pick<Ledger, "get" | "list">;
  texts: ReportTexts;
  now?: () => number;
}

const maxAskedCharacters = 200;
const maxFailureCharacters = 500;

export function createTurnReports({ ledger, texts, now = Date.now }: TurnReportsOptions): TurnReports {
  /** A call can share its approval with an identical call of another turn, so look beyond the turn's own group. */
  async function approvalsOf(turn: TurnRecord): Promise<Map<string, ApprovalRow>> {
    // So far, it has asked nobody, and its answer need not wait for a look at the ledger.
    if (turn.endedAt === undefined && callsOf(turn).length === 0) return new Map();
    const rows = new Map((await ledger.list("approval", { group: turn.id })).map((row) => [row.id, row]));
    for (const { approvalId } of callsOf(turn)) {
      if (approvalId === undefined || approvalId === "" || rows.has(approvalId)) continue;
      const row = await ledger.get("approval", approvalId);
      if (row !== undefined) rows.set(row.id, row);
    }
    return rows;
  }

  /** Doing it again could do it twice. */
  function hasActed(record: CallRecord, conversationId: string): boolean {
    if (isOfUnknownOutcome(record)) return true;
    if (record.startedAt === undefined) return false;
    const wasAsked = record.verdict?.class === "confirm" || record.isUnconfined === true;
    return wasAsked || texts.actsOutside?.(record.raw.name, conversationId) === true;
  }

  async function of(turn: TurnRecord, stored: TurnState): Promise<TurnReport> {
    // People see the answer before the turn has settled its changes and ended.
    const state = stored === "running" && turn.isDelivered ? "done" : stored;
    const approvals = await approvalsOf(turn);
    const requester = requesterOf(turn);
    const calls = callsOf(turn);
    const asked = calls.flatMap(({ approvalId }) => approvals.get(approvalId ?? "") ?? []);
    const endedAt = turn.endedAt ?? now();
    const { waitedMs, waitedFor } = waitsOf(asked, { from: turn.startedAt, to: endedAt });
    const cost = costOfTurn(turn);
    const hasEnded = state !== "running" && state !== "parked";
    const failure = turn.failureReason ?? turn.failure;
    return {
      turnId: turn.id,
      platform: turn.target.platform,
      conversationId: turn.conversationId,
      scope: turn.scope,
      requester: { id: requester.id, name: texts.line(requester.name) },
      asked: oneLine(texts.line(turn.messages.map(({ text }) => text).join(" ")), maxAskedCharacters),
      state,
      startedAt: turn.startedAt,
      ...(turn.endedAt === undefined ? {} : { endedAt: turn.endedAt }),
      workedMs: Math.max(0, endedAt - turn.startedAt - waitedMs),
      waitedMs,
      waitedFor: waitedFor.map(texts.line),
      tokens: turn.steps.reduce((sum, { usage }) => sum + tokensOf(usage), 0),
      ...(cost === undefined ? {} : { cost }),
      unpricedSteps: turn.steps.filter((step) => step.cost === undefined).length,
      steps: turn.steps.map((step, index) => ({
        number: index + 1,
        at: step.at,
        model: texts.line(step.model),
        ...(step.requestedModel === step.model ? {} : { requestedModel: texts.line(step.requestedModel) }),
        usage: step.usage,
        ...(step.cost === undefined ? {} : { cost: step.cost }),
        calls: step.calls.map((record) =>
          callReport(
            record,
            approvals.get(record.approvalId ?? ""),
            { conversationId: turn.conversationId, hasEnded },
            texts,
          ),
        ),
      })),
      changes: [...approvals.values()].flatMap((row) => changesReport(row, texts) ?? []),
      othersTexts: originsOfSteps(turn.steps).map(texts.line),
      ...(failure === undefined ? {} : { failure: oneLine(texts.line(failure), maxFailureCharacters) }),
      isSafeToRetry:
        (state === "failed" || state === "stopped") &&
        !turn.isDelivered &&
        turn.isFailureFinal !== true &&
        !calls.some((record) => hasActed(record, turn.conversationId)),
    };
  }

  return {
    of,
    async read(turnId) {
      const entry = await ledger.get("turn", turnId);
      return entry === undefined ? undefined : await of(entry.body, entry.state);
    },
    async newest(conversationId, limit) {
      const entries = await ledger.list("turn", { group: conversationId, order: "newest", limit });
      return await Promise.all(entries.map(({ body, state }) => of(body, state)));
    },
  };
}
