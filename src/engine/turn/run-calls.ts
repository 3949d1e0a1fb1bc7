/**
 * Runs one step's tool calls, in the model's order. Judges every call, then puts all calls that need approval on one
 * card and parks the turn until people have answered. Then runs the permitted calls; adjacent read-only calls run
 * in parallel. Stores each stage before the next one begins so that it can be repeated after a crash.
 */
import { abortCauseOf } from "../../lib/abort.ts";
import { originOfPerson } from "../../ports/origin.ts";
import { jobIdOf, type ToolJob } from "../../ports/tool.ts";
import { type CallRecord, requesterOf, type StepRecord } from "../../ports/turn.ts";
import { askForApproval } from "./ask-approval.ts";
import {
  callSpec,
  callSummary,
  givenAddressesIn,
  parsedCall,
  recordFeedback,
  refuse,
  untrustedBefore,
} from "./call-record.ts";
import { judgeCalls } from "./judge-calls.ts";
import { park } from "./park.ts";
import { dropOldImages, dropQueuedImages } from "./result-images.ts";
import { saveTaskFile } from "./save-task-file.ts";
import type { TurnRun } from "./turn-store.ts";

const defaultTimeoutMs = 120_000;
/** How often people are asked again about a call, because its files have changed. */
const maxRounds = 2;

export async function runCalls(run: TurnRun, step: StepRecord): Promise<"done" | "parked"> {
  run.progress.phase(undefined);
  await judgeCalls(run, step);
  for (let next = nextGroup(run, step); next.length > 0; next = nextGroup(run, step)) {
    // Calls before the first that asks may write what it reads, so they run before people are asked.
    if (next.some(needsApproval)) await askForApproval(run, step);
    const permits = await Promise.all(next.map((record) => redeemPermit(run, record)));
    if (permits.includes("changed")) continue;
    const waiting = next.find((_record, index) => permits[index] === "waiting");
    if (waiting !== undefined) return await park(run, waiting.cardId ?? "");
    const runs = await Promise.allSettled(
      next.map((record, index) => (permits[index] === "run" ? execute(run, step, record) : undefined)),
    );
    // Keep the results of the others, even if one call must wait for storage.
    await run.save();
    for (const { reason } of runs.filter(({ status }) => status === "rejected") as PromiseRejectedResult[])
      throw reason;
    await dropQueuedImages(run, next);
    await saveTaskFile(run, "running");
    if (run.signal.aborted) break;
  }
  return "done";
}

function nextGroup(run: TurnRun, step: StepRecord): CallRecord[] {
  const open = step.calls.filter((record) => record.result === undefined);
  const [first] = open;
  if (first === undefined) return [];
  const specs = run.deps.toolbox.specs(run.turn.conversationId);
  const isReadOnly = (record: CallRecord) => specs.find((spec) => spec.name === record.raw.name)?.isReadOnly === true;
  const firstOther = open.findIndex((record) => !isReadOnly(record));
  return firstOther === 0 ? [first] : open.slice(0, firstOther === -1 ? open.length : firstOther);
}

function needsApproval({ verdict }: CallRecord): boolean {
  return verdict?.class === "confirm";
}

/** `changed`: its files have changed since people were asked, so they are asked again. */
type Permit = "run" | "waiting" | "refused" | "changed";

/** Redeems the approval of a call that needs one. From here on, only the approved call can run. */
async function redeemPermit(run: TurnRun, record: CallRecord): Promise<Permit> {
  if (record.result !== undefined) return "refused";
  if (!needsApproval(record)) return "run";
  const outcome = await run.deps.approvals.redeem(record.approvalId ?? "", parsedCall(record), run.turn.workingFolder);
  if (outcome.type === "waiting") return "waiting";
  if (outcome.type === "approved") {
    if (outcome.isEdited) record.editedBy = outcome.by.name;
    record.call = outcome.call;
    delete record.bound;
    if (outcome.bound !== undefined) record.bound = outcome.bound;
    return "run";
  }
  if (outcome.changed !== undefined) {
    record.bound = outcome.changed.before;
    return await askAgain(run, record, outcome.changed.files);
  }
  const who = outcome.by === undefined ? "" : ` by ${outcome.by.name}`;
  const why = outcome.reason === undefined ? "" : ` Reason given: ${outcome.reason}`;
  const said = { denied: `was denied${who}`, expired: "expired: nobody answered in time", cancelled: "was cancelled" };
  const text = `Not run: the approval of this call ${said[outcome.state]}.${why} Do not try the same call again; say what you did not do.`;
  // The reason is in the words of the person who denied the call, so its origin is that person.
  const theirs = outcome.by === undefined || outcome.reason === undefined ? [] : [originOfPerson(outcome.by)];
  refuse(record, "denied", text, theirs);
  return "refused";
}

/** A call whose files change again and again does not run, and people are left alone. */
async function askAgain(run: TurnRun, record: CallRecord, files: readonly string[]): Promise<"changed" | "refused"> {
  const round = (record.round ?? 0) + 1;
  if (round > maxRounds) {
    const text = `Not run: these files keep changing while people are asked: ${files.join(", ")}. Do not try the same call again; say so, and that it can be asked for again when they are left alone.`;
    refuse(record, "denied", text);
    return "refused";
  }
  record.round = round;
  delete record.approvalId;
  delete record.cardId;
  delete record.startedAt;
  await run.save();
  return "changed";
}

async function execute(run: TurnRun, step: StepRecord, record: CallRecord): Promise<void> {
  const { deps, delivery } = run;
  const call = parsedCall(record);
  record.startedAt ??= Date.now();
  const job = toolJob(run, step, record);
  await run.save();
  // People can read the task file while the tool runs, but the tool does not wait for it.
  const shown = saveTaskFile(run, "running");
  run.progress.update();
  const result = await deps.queue.run(job, run.signal);
  await shown;
  if (delivery.takeAsked()) record.hasAsked = true;
  // If a shutdown interrupted the call, leave it without a result. The next start submits it again.
  if (result.status === "interrupted" && run.signal.aborted && abortCauseOf(run.signal) === "shutdown") return;
  if (result.changedFiles !== undefined) return void (await askAgain(run, record, result.changedFiles));
  const note =
    record.editedBy === undefined
      ? ""
      : `(${record.editedBy} changed the arguments before it ran: ${callSummary(call)})\n`;
  record.result = { ...result, text: note + result.text };
  dropOldImages(run.turn);
  run.progress.update();
  await recordFeedback(run, step, record, record.result.status);
}

function toolJob(run: TurnRun, step: StepRecord, record: CallRecord): ToolJob {
  const { turn, deps } = run;
  const call = parsedCall(record);
  const spec = callSpec(run, call.name);
  const untrusted = untrustedBefore(run, step);
  const givenAddresses = givenAddressesIn(turn);
  const { id: turnId, conversationId, scope, workingFolder } = turn;
  const isUnconfined = record.isUnconfined === true;
  const isContained = !isUnconfined && deps.containment.isContained(spec, call.input);
  if (isContained) record.isContained = true;
  return {
    id: jobIdOf(turnId, call.id, record.round),
    call,
    scope: {
      turnId,
      conversationId,
      scope,
      requester: requesterOf(turn),
      workingFolder,
      isUnconfined,
      untrusted,
      givenAddresses,
      ...(record.bound === undefined ? {} : { bound: record.bound }),
    },
    ...(record.approvalId === undefined ? {} : { approvalId: record.approvalId }),
    // If the tool no longer exists, the toolbox returns a failure with the reason.
    isIdempotent: spec?.isIdempotent === true || isContained,
    timeoutMs: spec?.timeoutMs ?? defaultTimeoutMs,
  };
}
