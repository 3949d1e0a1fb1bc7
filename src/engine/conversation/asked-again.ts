/** The first step of a turn that asks again about expired calls: these calls, not yet judged. */
import type { Ledger, LedgerEntry } from "../../ports/ledger.ts";
import type { InboundMessage } from "../../ports/message.ts";
import { originOf } from "../../ports/origin.ts";
import { type CallRecord, callsOf, type StepRecord, type TurnRecord } from "../../ports/turn.ts";

export async function askedAgainSteps(ledger: Ledger, { askAgain = [] }: InboundMessage): Promise<StepRecord[]> {
  const found = await Promise.all(askAgain.map((id) => ledger.get("approval", id)));
  const rows = found.filter((row) => row?.state === "expired") as LedgerEntry<"approval">[];
  const [first] = rows;
  if (first === undefined) return [];
  const earlier = (await ledger.get("turn", first.body.turnId))?.body;
  const step = earlier === undefined ? undefined : stepOf(earlier, first.body.call.id);
  const isTainted = rows.some(({ body }) => body.isTainted === true);
  return [
    {
      text: "",
      calls: rows.map(callOf),
      // What the model had read when it made the calls still counts.
      untrusted: step?.untrusted ?? (isTainted ? [originOf("tool", "an earlier turn")] : []),
      stop: "tool-calls",
      model: step?.model ?? "",
      requestedModel: step?.requestedModel ?? "",
      usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
      at: Date.now(),
    },
  ];
}

function stepOf(turn: TurnRecord, callId: string): StepRecord | undefined {
  return turn.steps.find((step) => callsOf({ ...turn, steps: [step] }).some(({ raw }) => raw.id === callId));
}

/** Models refuse two calls with the same id, and the earlier one is in the history. */
function callOf({ id: approvalId, body: { call, original } }: LedgerEntry<"approval">): CallRecord {
  const { name, input } = original ?? call;
  const id = `again_${approvalId}`;
  return { raw: { id, name, inputJson: JSON.stringify(input) }, call: { id, name, input } };
}
