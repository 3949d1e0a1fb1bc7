/**
 * Does the unfinished steps of a turn, one by one, until the turn ends or parks:
 *
 *   1. a step with open calls: judge the calls, ask about them, run them (run-calls.ts)
 *   2. a step without calls is the answer, unless it only announces one (announced-call.ts): deliver it, write it to memory, end the turn (end-turn.ts)
 *   3. otherwise gather what is missing (gather.ts) and ask the model (ask-model.ts), the last time without calls so that there
 *      is always an answer
 *
 * After a crash or a park, any process can continue the turn.
 */
import { TurnAbort } from "../../lib/abort.ts";
import { pause } from "../../lib/backoff.ts";
import { messageOf } from "../../lib/errors.ts";
import { isDiskFull } from "../../lib/shortage.ts";
import { formatNumber } from "../../lib/text/format-number.ts";
import { isTransientStorageError } from "../../lib/transient-errors.ts";
import type { InboundMessage } from "../../ports/message.ts";
import { isNoRoute, isPlatformAway } from "../../ports/platform.ts";
import { openSegment, type StepRecord, type TurnRecord, textOf } from "../../ports/turn.ts";
import type { TurnDeps, TurnLimits } from "../../ports/turn-deps.ts";
import { createInbox } from "../conversation/inbox.ts";
import { askModel } from "./ask-model.ts";
import { endAborted, endAnswered, endBroken, endUndelivered, endUnseen, endVisibly } from "./end-turn.ts";
import { takeBackLost } from "./ephemeral-results.ts";
import { gather } from "./gather.ts";
import { runCalls } from "./run-calls.ts";
import { createTurnProgress } from "./turn-progress.ts";
import { saveTurn, type TurnEnd, TurnOwnershipLost, type TurnRun, turnFields } from "./turn-store.ts";
import { whenStorageWrites } from "./when-storage-writes.ts";

/** Slack sends two events of a mention, seconds apart at most. */
const maxNewsMs = 3_000;
const newsEveryMs = 150;

export async function runTurn(turn: TurnRecord, deps: TurnDeps, workerSignal: AbortSignal): Promise<TurnEnd> {
  const delivery = await deps.deliver(turn.target);
  const requested = new AbortController();
  const signal = AbortSignal.any([workerSignal, requested.signal]);
  /** In case another process requested an abort but its bus message was lost. */
  const abortIfRequested = () => {
    if (turn.abort !== undefined && !signal.aborted) requested.abort(new TurnAbort(turn.abort));
  };
  const save: TurnRun["save"] = async (state) => {
    await whenStorageWrites(
      () => saveTurn(deps.ledger, turn, state),
      (thrown) => {
        deps.log.warn({ turnId: turn.id, error: messageOf(thrown) }, "a turn waits for storage");
        progress.phase(isDiskFull(thrown) ? "Waiting until my disk has space" : "Waiting for my storage");
      },
      signal,
    );
    if (state === undefined) abortIfRequested();
  };
  abortIfRequested();
  const progress = createTurnProgress({
    ...{ turn, delivery, ledger: deps.ledger, log: deps.log },
    specs: () => deps.toolbox.specs(turn.conversationId),
  });
  const run: TurnRun = { turn, deps, delivery, progress, signal, fields: turnFields(turn), save };
  const end = await runToEnd(run)
    .catch(async (thrown: unknown) => {
      await delivery.leave();
      throw thrown;
    })
    .finally(progress.stop);
  if (end === "suspended" || end === "undelivered") await delivery.leave();
  return end;
}

async function runToEnd(run: TurnRun): Promise<TurnEnd> {
  try {
    return await runOrExplain(run);
  } catch (thrown) {
    if (isPlatformAway(thrown)) return await endUndelivered(run, thrown);
    if (isNoRoute(thrown)) return await endUnseen(run, thrown);
    throw thrown;
  }
}

async function runOrExplain(run: TurnRun): Promise<TurnEnd> {
  const { turn, deps, signal } = run;
  try {
    if (mayRepeatOthers(turn, deps)) run.delivery.avoidPreviews();
    if (signal.aborted) return await endAborted(run);
    if (turn.ending !== undefined) return await endVisibly(run, turn.ending.state, turn.ending.sentence);
    const refusal = tooLongText(turn, deps.limits) ?? ((await isEmpty(run)) ? emptyText : undefined);
    if (refusal !== undefined) {
      turn.isFailureFinal = true;
      return await endVisibly(run, "failed", refusal);
    }
    // An earlier process may have left other text, or only its progress.
    if (!turn.isDelivered) run.delivery.show(textOf(openSegment(turn)));
    return await takeSteps(run);
  } catch (thrown) {
    if (thrown instanceof TurnOwnershipLost || isPlatformAway(thrown)) throw thrown;
    if (isTransientStorageError(thrown)) return suspended(run, thrown);
    if (signal.aborted) return await endAborted(run);
    return await endBroken(run, thrown);
  }
}

/** True if an earlier process has got text from a model that had read words of others, or may have. */
function mayRepeatOthers({ steps, unfinishedText, workingFolder }: TurnRecord, deps: TurnDeps): boolean {
  if (steps.length > 0 && deps.isGivenFolder(workingFolder)) return true;
  return unfinishedText !== undefined || steps.some(({ untrusted }) => untrusted === undefined || untrusted.length > 0);
}

function suspended({ turn, deps }: TurnRun, thrown: unknown): "suspended" {
  deps.log.warn(
    { turnId: turn.id, error: messageOf(thrown) },
    "storage or a lock is not available; the turn resumes later",
  );
  return "suspended";
}

async function takeSteps(run: TurnRun): Promise<TurnEnd> {
  const resumed = run.turn.steps.at(-1);
  if (resumed !== undefined) takeBackLost(run, resumed);
  for (;;) {
    const last = run.turn.steps.at(-1);
    if (last?.calls.some((call) => call.result === undefined)) {
      if ((await runCalls(run, last)) === "parked") return "parked";
    }
    if (run.signal.aborted) return await endAborted(run);
    if (last !== undefined && isAnswer(last)) {
      if (!(await takeChanges(run))) return await endAnswered(run);
      // More of the request became known while the model answered.
      last.isSuperseded = true;
      await run.save();
    }
    await takeSteering(run);
    await gather(run);
    if (run.signal.aborted) return await endAborted(run);
    const asked = await askModel(run);
    if (asked.type === "parked") return "parked";
    if (run.signal.aborted) return await endAborted(run);
    if (asked.type === "failed") return await endVisibly(run, "failed", asked.sentence);
  }
}

const emptyText = "Your message has no readable text. What can I do for you?";

function tooLongText(turn: TurnRecord, limits: TurnLimits): string | undefined {
  const longest = Math.max(...turn.messages.map((message) => message.text.length));
  if (longest > limits.messageCharacters) {
    const [is, may] = [longest, limits.messageCharacters].map(formatNumber);
    return `Your message has ${is} characters, and I read at most ${may}. Please attach the text as a file, or send only the part that matters.`;
  }
  return undefined;
}

async function isEmpty(run: TurnRun): Promise<boolean> {
  const hasNothing = ({ text, attachments }: InboundMessage) =>
    !/[^\p{C}\p{Z}]/u.test(text) && attachments.length === 0;
  return run.turn.messages.every(hasNothing) && !(mayHaveMore(run.turn) && (await hasNewsInTime(run)));
}

function isAnswer({ calls, isAnnouncement, isSuperseded }: StepRecord): boolean {
  return calls.length === 0 && isAnnouncement !== true && isSuperseded !== true;
}

function mayHaveMore({ target, messages }: TurnRecord): boolean {
  return target.platform === "slack" && messages.some(({ isDirect }) => !isDirect);
}

/** Of a mention without words, the event with its files may still come. */
async function hasNewsInTime(run: TurnRun): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < maxNewsMs && !run.signal.aborted; waitedMs += newsEveryMs) {
    if (await takeChanges(run)) return true;
    await pause(newsEveryMs, run.signal);
  }
  return false;
}

/** Resolves to whether anything has come of the turn's own messages since it took them. */
async function takeChanges({ turn, deps, save }: TurnRun): Promise<boolean> {
  const changes = await createInbox(deps.ledger).changesOf(turn.messages);
  if (changes.length === 0) return false;
  turn.messages.push(...changes);
  await save();
  return true;
}

async function takeSteering(run: TurnRun): Promise<void> {
  await takeChanges(run);
  const said = await run.deps.takeSteering(run.turn.id, run.turn.conversationId);
  if (said.length === 0) return;
  run.turn.messages.push(...said);
  await run.save();
}
