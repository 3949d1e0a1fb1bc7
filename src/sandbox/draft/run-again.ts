/** Repeats a request on the current folder after its changes could not be kept. Discards the old draft. */

import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { inZoneOf } from "../../lib/time-zones.ts";
import type { Repeats } from "../../ports/access.ts";
import type { ApprovalRecord, ChangeApprovals } from "../../ports/approval.ts";
import type { DraftRecord } from "../../ports/draft.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { AnswerReceipt, Author } from "../../ports/message.ts";
import { scheduleOf } from "../../ports/usage.ts";

export interface RunAgainOptions {
  ledger: Ledger;
  approvals: ChangeApprovals;
  repeats: Repeats;
  discardDraft(draft: DraftRecord): Promise<void>;
  log: Log;
}

export async function runAgain(
  { ledger, approvals, repeats, discardDraft, log }: RunAgainOptions,
  record: ApprovalRecord,
  approvalId: string,
  by: Author,
): Promise<AnswerReceipt> {
  const turn = await ledger.get("turn", record.turnId);
  const first = turn?.body.messages[0];
  if (turn === undefined || first === undefined)
    return { accepted: false, text: "The request is no longer on record. Ask again." };
  const verdict = await repeats.mayRepeat(turn.body, by);
  if (verdict.type === "refused") return { accepted: false, text: verdict.text };
  const scheduleId = scheduleOf(turn.body);
  const draft = record.changes === undefined ? undefined : await ledger.get("draft", record.changes.draftId);
  if (draft?.state === "open") await discardDraft(draft.body);
  const message = {
    ...first,
    // The id is fixed so that a second click after a crash does not start a second turn.
    id: `schedule:again-${approvalId}:${record.createdAt}`,
    author: inZoneOf(first.author, verdict.requester),
    ...(scheduleId === undefined ? {} : { scheduleId }),
    text: turn.body.messages.map(({ text }) => text).join("\n\n"),
    attachments: turn.body.messages.flatMap(({ attachments }) => attachments),
    at: Date.now(),
  };
  await repeats.accept(message).catch((thrown: unknown) => {
    log.error({ approvalId, error: messageOf(thrown) }, "could not run a request again");
    throw thrown;
  });
  const { result } = record.changes ?? {};
  await approvals.finishChanges(approvalId, { result: `${result ?? ""} ${by.name} ran it again.`.trim() });
  return { accepted: true, text: "Working on it again." };
}
