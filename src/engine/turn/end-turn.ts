/** Ends a turn: delivers its answer or the reason for its end, settles its changes, and writes it to memory. */
import { setImmediate } from "node:timers/promises";
import { abortCauseOf } from "../../lib/abort.ts";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import { isDiskFull, isOutOfFiles, shortageText } from "../../lib/shortage.ts";
import { isTransientStorageError } from "../../lib/transient-errors.ts";
import { turnWithoutTools } from "../../ports/memory.ts";
import { deletedText } from "../../ports/message.ts";
import { isNoRoute, unshownLevel } from "../../ports/platform.ts";
import {
  callsOf,
  isOfUnknownOutcome,
  openSegment,
  refusedText,
  type StepRecord,
  type TurnRecord,
  textOf,
} from "../../ports/turn.ts";
import { originsOfTurn } from "../../ports/turn-origins.ts";
import { answeredByText } from "./answered-by.ts";
import { askAfterAnswer } from "./ask-budget.ts";
import { deliverEnd } from "./deliver-end.ts";
import { dropEphemeral } from "./ephemeral-results.ts";
import { dropOldImages } from "./result-images.ts";
import { saveTaskFile } from "./save-task-file.ts";
import type { TurnEnd, TurnRun } from "./turn-store.ts";
import { isStuck, stuckText } from "./vain-calls.ts";
import { unheardNote } from "./voice.ts";

const maxTriesWithFiles = 5;
const maxUndeliveredMs = 24 * 3_600_000;
const internalFailureText =
  "Something went wrong inside Remora while I worked on this. Please ask again; Details says why.";

export async function endAnswered(run: TurnRun): Promise<TurnEnd> {
  run.progress.stop();
  const { turn, deps } = run;
  if (!turn.isDelivered) {
    const last = turn.steps.at(-1);
    const said = textOf(openSegment(turn));
    const limit = reachedLimit(run);
    if (said === "") {
      // A model without native calls may still write one, as its whole answer.
      const sentence = limit?.instead ?? "The model ended without an answer. Please ask again, or in other words.";
      return await endVisibly(run, "failed", sentence);
    }
    const isCut = last === undefined ? "" : cutText(last);
    const more = limit?.below ?? "";
    const other = answeredByText(last);
    const shown = deps.modelNotes.isNew(turn, other) ? other : "";
    const files = callsOf(turn).flatMap((call) => call.result?.files ?? []);
    // One file that the service can't take must not hold up the conversation.
    const isWithout = files.length > 0 && (turn.undelivered?.tries ?? 0) >= maxTriesWithFiles;
    const unsent = isWithout ? `*(I could not attach ${files.map(({ name }) => `\`${name}\``).join(", ")}.)*` : "";
    const notes = joinParagraphs(isCut, more, shown, unheardNote(turn, said), unsent);
    const footer = await deps.footer(turn, "done");
    await deliverEnd(run, (to, note) => to.finish(note + said, isWithout ? [] : files, footer, notes));
    turn.isDelivered = true;
    await saveShown(run);
    // The answer leaves the process before the work that nobody waits for.
    await setImmediate();
  }
  await askAfterAnswer(run);
  await settleDrafts(run, "done");
  return await end(run, "done");
}

function cutText({ stop }: StepRecord): string {
  if (stop === "max-tokens") return "*(The answer was cut at the model's output limit.)*";
  return stop === "repeating" ? "*(The model began to repeat itself without end, so I stopped it here.)*" : "";
}

/** Why the model had to answer without tools: for people, below its answer or instead of it. */
function reachedLimit({ turn, deps }: TurnRun): { below: string; instead: string } | undefined {
  const { steps } = deps.limits;
  const told = (what: string, more: string, todo: string) => ({
    below: `*(${what}${more}. ${todo})*`,
    instead: `${what}, and the model ended without an answer. ${todo}`,
  });
  if (turn.steps.length > steps)
    return told(`I used all ${steps} steps of one request`, "", "Say “continue”, and I go on.");
  if (!isStuck(turn, deps.toolbox.specs(turn.conversationId))) return undefined;
  return told(
    stuckText,
    ", so I answered with what I had",
    "If something is missing, ask in other words, or for less at once.",
  );
}

/** Shows the turn's changes below its answer. If this fails, the sweep tries again. */
async function settleDrafts({ turn, deps }: TurnRun, state: "done" | "failed" | "stopped"): Promise<void> {
  await deps.drafts.settle(turn, state).catch((thrown: unknown) => {
    if (isTransientStorageError(thrown)) throw thrown;
    deps.log.error(
      { turnId: turn.id, error: messageOf(thrown) },
      "could not settle the changes of a turn; retrying at the next sweep",
    );
  });
}

export async function endVisibly(run: TurnRun, state: "failed" | "stopped", sentence: string): Promise<TurnEnd> {
  run.progress.stop();
  run.turn.ending = { state, sentence };
  run.turn.failure = joinSentences(sentence, unknownOutcomeNote(run.turn));
  const mark = state === "failed" ? "⚠️ " : "";
  const text = joinParagraphs(textOf(openSegment(run.turn)), run.turn.unfinishedText ?? "");
  const reason = mark + run.turn.failure;
  const footer = await run.deps.footer(run.turn, state);
  await deliverEnd(run, (to, note) => to.fail(note + text, reason, footer));
  await saveShown(run);
  await settleDrafts(run, state);
  return await end(run, state);
}

/** Must use this run's delivery, whose pending text would otherwise appear after the failure and hide it. */
export async function endBroken(run: TurnRun, thrown: unknown): Promise<TurnEnd> {
  const { turn, deps } = run;
  const stack = thrown instanceof Error ? thrown.stack : "";
  deps.log.error({ turnId: turn.id, error: messageOf(thrown), stack }, "a turn failed");
  await deps.approvals.cancel(turn.id, "the turn failed").catch((again: unknown) => {
    deps.log.error({ turnId: turn.id, error: messageOf(again) }, "could not cancel the approvals of a failed turn");
  });
  // What a library says can have paths and others' words in it.
  turn.failureReason = thrown instanceof RemoraError ? thrown.plain : "an unexpected error, which is in the log";
  return await endVisibly(run, "failed", shortageText(thrown) ?? internalFailureText);
}

export async function endAborted(run: TurnRun): Promise<TurnEnd> {
  const cause = abortCauseOf(run.signal);
  if (cause === "shutdown") return "suspended";
  await run.deps.approvals.cancel(run.turn.id);
  if (cause === "withdrawn" && isUntouched(run.turn)) return await endUnsaid(run);
  return await endVisibly(
    run,
    "stopped",
    cause === "interrupted" ? "Stopped because of your newer message." : "Stopped.",
  );
}

function isUntouched(turn: TurnRecord): boolean {
  return textOf(turn.steps) === "" && callsOf(turn).length === 0 && (turn.unfinishedText ?? "") === "";
}

/** Nobody waits for a word below a message that is gone. */
async function endUnsaid(run: TurnRun): Promise<TurnEnd> {
  run.progress.stop();
  run.turn.failure = "Its message was deleted.";
  await run.delivery.finish("", []);
  await saveShown(run);
  return await end(run, "stopped");
}

/**
 * Keeps the turn, because the service accepts nothing at the moment. Its record says what is still to be shown. After a
 * day, nobody waits for it any more, and it must not hold up its conversation.
 */
export async function endUndelivered(run: TurnRun, thrown: unknown): Promise<TurnEnd> {
  const { turn, deps, save } = run;
  const because = messageOf(thrown);
  const { since, tries } = turn.undelivered ?? { since: Date.now(), tries: 0 };
  turn.undelivered = { since, tries: tries + 1, because };
  if (Date.now() - since > maxUndeliveredMs) {
    deps.log.error({ turnId: turn.id, error: because }, "gave up delivering what a turn has to show, after a day");
    await deps.approvals.cancel(turn.id, "the card could not be shown for a day");
    turn.failure = joinSentences(turn.failure ?? "", `Nothing of this could be shown for a day: ${because}`);
    return await end(run, turn.ending?.state ?? "failed");
  }
  deps.log[unshownLevel(thrown)](
    { turnId: turn.id, error: because },
    "could not deliver what a turn has to show; trying again soon",
  );
  await save();
  return "undelivered";
}

/** Nobody will ever see the end. The dashboard shows why. */
export async function endUnseen(run: TurnRun, thrown: unknown): Promise<TurnEnd> {
  const { turn, deps } = run;
  const because = messageOf(thrown);
  deps.log.error({ turnId: turn.id, error: because }, "nobody can see the end of a turn: its place is gone");
  await deps.approvals.cancel(turn.id, "nobody can see the card");
  turn.failure = joinSentences(turn.failure ?? "", because);
  await deps.tellUnseen(turn, isNoRoute(thrown) ? thrown.plain : because);
  await settleDrafts(run, "failed");
  return await end(run, turn.ending?.state ?? "failed");
}

/** What follows may take a while, and nobody waits for it. */
async function saveShown({ turn, save }: TurnRun): Promise<void> {
  turn.isEndShown = true;
  await save();
}

async function end(run: TurnRun, state: "done" | "failed" | "stopped"): Promise<TurnEnd> {
  const { turn, deps } = run;
  turn.endedAt ??= Date.now();
  if (turn.hasBudgetCard === true) await deps.approvals.closeBudgets(turn.id);
  await saveTaskFile(run, state);
  await remember(run, state);
  dropOldImages(turn, 0);
  dropEphemeral(run);
  delete turn.ending;
  delete turn.undelivered;
  delete turn.isEndShown;
  await run.save(state);
  deps.events.emit("turn.finished", {
    ...run.fields,
    outcome: state,
    steps: turn.steps.length,
    durationMs: turn.endedAt - turn.startedAt,
  });
  return state;
}

/** The turn's outcome stands, whatever becomes of its memory. A problem is a line below the answer. */
async function remember(run: TurnRun, outcome: "done" | "failed" | "stopped"): Promise<void> {
  const { deps, delivery } = run;
  const turn = await deps.context.current(run.turn);
  // In parallel, because each waits for the disk. All must have ended before the turn continues.
  const problems = await Promise.allSettled([
    problemOf(run, () => saveEpisode(turn, run, outcome)),
    problemOf(run, () => recordTurn(run, outcome)),
    problemOf(run, () => deps.context.remember(run.turn)),
  ]);
  for (const found of problems) if (found.status === "rejected") throw found.reason;
  const [problem] = problems.flatMap((found) => (found.status === "fulfilled" ? (found.value ?? []) : []));
  if (problem === undefined) return;
  const failure = turn.failure === undefined ? "" : `⚠️ ${turn.failure}`;
  const said = textOf(openSegment(turn));
  const note = joinParagraphs(failure, `*(${problem})*`);
  const footer = await deps.footer(turn, outcome);
  const shown = outcome === "done" ? delivery.finish(said, [], footer, note) : delivery.fail(said, note, footer);
  await shown.catch((thrown: unknown) =>
    deps.log[unshownLevel(thrown)](
      { turnId: turn.id, error: messageOf(thrown) },
      "could not show that a turn is not in memory",
    ),
  );
}

/** A sentence for people. Rejects if the turn must wait for storage; it is written to memory when it resumes. */
async function problemOf({ turn, deps }: TurnRun, work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (thrown) {
    if (isTransientStorageError(thrown)) throw thrown;
    deps.log.error({ turnId: turn.id, error: messageOf(thrown) }, "could not remember a turn");
    if (isDiskFull(thrown)) return "My disk is full, so I won't remember this.";
    if (isOutOfFiles(thrown)) return "I have too many files open, so I won't remember this.";
    return "I could not save this to memory. The log has the details.";
  }
}

/** Nothing of a message that was deleted before anything had come of it. */
async function saveEpisode(turn: TurnRecord, run: TurnRun, outcome: "done" | "failed" | "stopped"): Promise<void> {
  if (turn.messages.every(({ text }) => text === deletedText) && isUntouched(turn)) return;
  const { deps } = run;
  const tools = callsOf(turn).flatMap(({ raw, call, result }) =>
    result === undefined ? [] : [{ call: call ?? { id: raw.id, name: raw.name, input: {} }, result }],
  );
  // A memory that repeats what was refused would get the next prompt refused.
  const isRefused = turn.isRefused === true;
  await deps.memory.saveEpisode({
    turnId: turn.id,
    scope: turn.scope,
    conversationId: turn.conversationId,
    at: turn.startedAt,
    users: turn.messages.map((message) => message.author),
    userText: isRefused ? refusedText : turn.messages.map((message) => message.text).join("\n\n"),
    tools: isRefused ? [] : tools,
    response: joinParagraphs(isRefused ? "" : textOf(turn.steps), turn.unfinishedText ?? "", turn.failure ?? ""),
    // Also of what was deleted since.
    origins: originsOfTurn(run.turn, deps.toolbox.specs(turn.conversationId)),
    outcome,
  });
}

/** Writes the line of a turn without calls. It has no words of anybody, so it needs no origin and no owner. */
async function recordTurn({ turn, deps }: TurnRun, outcome: string): Promise<void> {
  const { id: turnId, scope, startedAt: at, steps } = turn;
  // Every call that ran or was refused has left a line of its own.
  if (callsOf(turn).some(({ result }) => result !== undefined && result.status !== "invalid")) return;
  const summary = steps.at(-1)?.model ?? "no model answered";
  const line = { id: `${turnId}:${outcome}`, turnId, scope, at };
  await deps.memory.recordFeedback({ ...line, tool: turnWithoutTools, outcome, summary });
}

/** Nobody should ask again without checking first. */
function unknownOutcomeNote(turn: TurnRecord): string {
  const unknown = callsOf(turn).filter(isOfUnknownOutcome);
  const names = [...new Set(unknown.map(({ raw }) => `\`${raw.name.replace(/[^\w-]/g, "_")}\``))];
  if (names.length === 0) return "";
  return `I don't know whether ${names.join(", ")} took effect, so check before you ask again.`;
}

function joinSentences(...sentences: string[]): string {
  return sentences.filter((sentence) => sentence !== "").join(" ");
}

export function joinParagraphs(...parts: string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}
