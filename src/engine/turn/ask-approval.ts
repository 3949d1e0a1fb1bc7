/** Asks people about the calls in a step that need approval. */
import { messageOf } from "../../lib/errors.ts";
import { isTransientStorageError } from "../../lib/transient-errors.ts";
import { type Origin, originText, withoutRememberedPeople } from "../../ports/origin.ts";
import { isPlatformAway } from "../../ports/platform.ts";
import type { ToolCall } from "../../ports/tool.ts";
import { type CallRecord, requesterOf, type StepRecord } from "../../ports/turn.ts";
import { createInbox } from "../conversation/inbox.ts";
import { callSpec, callTags, parsedCall, untrustedBefore, verdictFields } from "./call-record.ts";
import { saveTaskFile } from "./save-task-file.ts";
import type { TurnRun } from "./turn-store.ts";

const maxNamedOrigins = 5;

export async function askForApproval(run: TurnRun, step: StepRecord): Promise<void> {
  const { turn, deps, fields } = run;
  const waiting = step.calls.filter((record) => record.verdict?.class === "confirm" && record.result === undefined);
  if (waiting.length === 0) return;
  const asked = waiting.filter((record) => record.approvalId === undefined);
  const untrusted = untrustedBefore(run, step);
  const counted = withoutRememberedPeople(untrusted);
  if (asked.length > 0) {
    // Somebody who answers reads the new words above the card.
    const isEdited = await createInbox(deps.ledger).isEdited(turn.messages);
    const edited = isEdited ? ["The request was edited after I had read it. This is for the words before."] : [];
    const { card, approvalIds } = await deps.approvals.open({
      turnId: turn.id,
      target: turn.target,
      scope: turn.scope,
      requester: requesterOf(turn),
      workingFolder: turn.workingFolder,
      calls: await Promise.all(
        asked.map(async (record) => ({
          call: parsedCall(record),
          matches: record.verdict?.matches ?? [],
          extraTags: callTags(callSpec(run, record.raw.name), parsedCall(record), untrusted),
          isTainted: counted.length > 0,
          facts: [...edited, ...(await callFacts(run, parsedCall(record))), ...readBefore(counted)],
          undo: undoText(run, record),
          ...(record.round === undefined ? {} : { round: record.round }),
          ...(record.bound === undefined ? {} : { before: record.bound }),
        })),
      ),
    });
    for (const [index, record] of asked.entries()) {
      const approvalId = approvalIds[index] ?? "";
      record.approvalId = approvalId;
      // Don't link a settled approval to the card, whose row may still be open for other turns' calls.
      if ((await deps.ledger.get("approval", approvalId))?.state !== "open") continue;
      record.cardId = card.id;
      const at = { ...fields, callId: record.raw.id, tool: record.raw.name, approvalId };
      deps.events.emit("safety.confirm", { ...at, ...verdictFields(run, record) });
    }
    await run.save();
    await saveTaskFile(run, "parked");
  }
  await postCards(run, waiting);
}

function undoText(run: TurnRun, record: CallRecord): string {
  const spec = callSpec(run, record.raw.name);
  return run.deps.containment.undo(spec, parsedCall(record).input, record.isUnconfined === true);
}

async function callFacts(run: TurnRun, call: ToolCall): Promise<string[]> {
  const { turn, deps } = run;
  return await deps.containment.facts(callSpec(run, call.name), call.input, turn.conversationId);
}

/** Places that not everybody can read come first, each once: they matter most to the person who decides. */
function readBefore(untrusted: readonly Origin[]): string[] {
  if (untrusted.length === 0) return [];
  const { place = [], other = [] } = Object.groupBy(untrusted, ({ kind }) => (kind === "place" ? "place" : "other"));
  const all = [...new Map(place.map((origin) => [origin.name, origin])).values(), ...other];
  const named = all.slice(0, maxNamedOrigins).map(originText).join(", ");
  const more = all.length > maxNamedOrigins ? ` and ${all.length - maxNamedOrigins} more` : "";
  return [`Read before: ${named}${more}`];
}

/** If a card can't be shown, its calls are refused. */
async function postCards(run: TurnRun, asked: CallRecord[]): Promise<void> {
  const cardIds = new Set(asked.flatMap((record) => record.cardId ?? []));
  for (const cardId of cardIds) {
    if (await postCard(run, cardId)) continue;
    await run.deps.approvals.cancel(run.turn.id, "the approval card could not be shown");
  }
}

/** False if the card can't be shown. Rejects if the turn must wait for storage. */
export async function postCard(run: TurnRun, cardId: string): Promise<boolean> {
  const card = await run.deps.approvals.card(cardId, run.turn.id);
  if (card === undefined) return true;
  // Ask even for an answered card if its post is not recorded: after a crash, the platform finds the message.
  const isKnown = (await run.deps.ledger.get("post", `${run.turn.id}:card:${cardId}`)) !== undefined;
  if (isKnown && card.items.every((item) => item.state !== "open")) return true;
  try {
    // Other turns may share the card; this turn shows it in its own reply.
    await run.delivery.ask({ ...card, target: run.turn.target });
    return true;
  } catch (thrown) {
    // The card may be there already. Asking again finds it.
    if (isPlatformAway(thrown) || isTransientStorageError(thrown)) throw thrown;
    run.deps.log.warn({ turnId: run.turn.id, error: messageOf(thrown) }, "could not post an approval card");
    return false;
  }
}
