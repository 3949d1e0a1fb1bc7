/**
 * `runTurn` does the next undone step of a journal until the turn ends or parks:
 *
 *   1. a step with calls that have no result yet: gate, ask, run them (run-calls.ts)
 *   2. a step without calls: it is the answer; deliver, remember, end
 *   3. else the model is asked for the next step, with tools for at most `limits.steps` steps, then once without,
 *      so that there is always an answer
 *
 * It may be called for the same turn again at any time after a crash or a park, in any process.
 */
import { abortCauseOf, TurnAbort } from "../../lib/abort.ts";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import { untrustedFor } from "../../ports/origin.ts";
import type { ModelEvent, ModelRequest } from "../../ports/provider.ts";
import type { ToolSpec } from "../../ports/tool.ts";
import {
  type CallRecord,
  callsOf,
  openSegment,
  type ParsedCall,
  type ReadAnswer,
  requesterOf,
  type TurnRecord,
  textOf,
} from "../../ports/turn.ts";
import type { TurnDeps, TurnLimits } from "../../ports/turn-deps.ts";
import { originsOfTurn } from "../../ports/turn-origins.ts";
import type { Permit } from "../../ports/usage.ts";
import { runCalls } from "./run-calls.ts";
import { fieldsOf, saveTurn, TurnOwnershipLost, type TurnRun } from "./turn-store.ts";

/** How a run came to its end; `suspended` leaves the turn running in the ledger, for whoever takes it up next. */
export type TurnEnd = "done" | "failed" | "stopped" | "parked" | "suspended";

const brokenText =
  "Something went wrong inside Remora while it worked on this. The log has the details; please ask again.";

export async function runTurn(turn: TurnRecord, stages: TurnDeps, outer: AbortSignal): Promise<TurnEnd> {
  const delivery = await stages.deliver(turn.target);
  const wanted = new AbortController();
  const signal = AbortSignal.any([outer, wanted.signal]);
  /** An end that was asked for in another process, and whose word was lost on the way, is found with the next step. */
  const endIfWanted = () => {
    if (turn.abort !== undefined && !signal.aborted) wanted.abort(new TurnAbort(turn.abort));
  };
  const save: TurnRun["save"] = async (state) => {
    await saveTurn(stages.ledger, turn, state);
    if (state === undefined) endIfWanted();
  };
  endIfWanted();
  const run: TurnRun = { turn, stages, delivery, signal, fields: fieldsOf(turn), save };
  const end = await runToEnd(run).catch(async (thrown: unknown) => {
    await delivery.leave();
    throw thrown;
  });
  if (end === "suspended") await delivery.leave();
  return end;
}

async function runToEnd(run: TurnRun): Promise<TurnEnd> {
  const { turn, stages, signal } = run;
  try {
    if (signal.aborted) return await endAborted(run);
    const refusal = refusalOf(turn, stages.limits);
    if (refusal !== undefined) return await endVisibly(run, "failed", refusal);
    return await takeSteps(run);
  } catch (thrown) {
    if (thrown instanceof TurnOwnershipLost) throw thrown;
    if (isLedgerAway(thrown)) return "suspended";
    if (signal.aborted) return await endAborted(run);
    return await endBroken(run, thrown);
  }
}

/** The ledger can't be reached and will be again: the turn waits there as it is, like everything else. */
export function isLedgerAway(thrown: unknown): boolean {
  return thrown instanceof RemoraError && thrown.code === "storage.unreachable" && thrown.isRetryable;
}

async function takeSteps(run: TurnRun): Promise<TurnEnd> {
  for (;;) {
    const last = run.turn.steps.at(-1);
    if (last?.calls.some((call) => call.result === undefined)) {
      if ((await runCalls(run, last)) === "parked") return "parked";
    }
    if (run.signal.aborted) return await endAborted(run);
    if (last !== undefined && last.calls.length === 0) return await endAnswered(run);
    await takeSteering(run);
    const failure = await askModel(run);
    if (run.signal.aborted) return await endAborted(run);
    if (failure !== undefined) return await endVisibly(run, "failed", failure);
  }
}

/** What can't be read is refused with a reason that a person can act on. */
function refusalOf(turn: TurnRecord, limits: TurnLimits): string | undefined {
  const longest = Math.max(...turn.messages.map((message) => message.text.length));
  if (longest > limits.messageCharacters) {
    const [is, may] = [longest, limits.messageCharacters].map((count) => count.toLocaleString("en"));
    return `That message has ${is} characters and I read at most ${may}. Please attach the text as a file, or send the part that matters.`;
  }
  const isEmpty = turn.messages.every(
    (message) => !/[^\p{C}\p{Z}]/u.test(message.text) && message.attachments.length === 0,
  );
  return isEmpty ? "That message is empty for me: it has no readable characters. What can I do for you?" : undefined;
}

async function takeSteering(run: TurnRun): Promise<void> {
  const said = await run.stages.takeSteering(run.turn.id, run.turn.conversationId);
  if (said.length === 0) return;
  run.turn.messages.push(...said);
  await run.save();
}

/** One model call, if there is anything left of today's limits; returns a sentence for people when it failed for good. */
async function askModel(run: TurnRun): Promise<string | undefined> {
  const { turn, stages, fields } = run;
  const began = performance.now();
  const step = turn.steps.length + 1;
  const permit = await stages.usage.admit(turn);
  if (permit.type === "refused") {
    stages.events.emit("llm.error", { ...fields, step, code: permit.code, message: permit.sentence });
    return permit.sentence;
  }
  try {
    return await askAdmitted(run, began, permit);
  } finally {
    permit.end();
  }
}

async function askAdmitted(
  run: TurnRun,
  beganBuilding: number,
  permit: Extract<Permit, { type: "admitted" }>,
): Promise<string | undefined> {
  const { turn, stages, fields } = run;
  const step = turn.steps.length + 1;
  const { tools, notes } = toolsOf(run);
  if (step === 1) turn.news = await stages.drafts.news(turn);
  const built = await stages.context.build({ turn, step, tools, notes: [...notes, ...(turn.news ?? [])] });
  stages.events.emit("context.built", {
    ...fields,
    step,
    estimatedTokens: built.estimatedTokens,
    snapshot: built.snapshotPath,
  });
  const addedMs = performance.now() - beganBuilding;
  const began = Date.now();
  const answer = await readAnswer(run, built.request, tools);
  if (answer.type === "failed") {
    turn.unfinishedText = answer.text;
    stages.events.emit("llm.error", { ...fields, step, code: answer.error.code, message: answer.error.message });
    return `The model could not answer: ${answer.error.message}`;
  }
  const { text, stop, usage, model, carry, firstTokenMs } = answer;
  stages.events.emit("llm.response", {
    ...fields,
    step,
    model,
    stop,
    usage,
    firstTokenMs,
    durationMs: Date.now() - began,
  });
  await permit.count({ model, usage, addedMs });
  const calls = tools.length === 0 ? [] : journalled(answer.calls, stages.limits.callsPerStep);
  const requestedModel = built.request.preferredModel ?? stages.provider.model;
  const seenMessages = turn.messages.length;
  const untrusted = untrustedFor(built.origins, requesterOf(turn).id);
  const kept = carry === undefined || calls.length === 0 ? {} : { carry };
  const asked = { seenMessages, untrusted, model, requestedModel, usage, at: Date.now() };
  turn.steps.push({ text, calls, ...kept, stop, ...asked });
  await run.save();
  return undefined;
}

/** Calls beyond `most`, and those that could not be read, are answered at once with what is wrong. */
function journalled(calls: readonly ParsedCall[], most: number): CallRecord[] {
  const tooMany = `Too many tool calls in one step: ${calls.length} were asked for and at most ${most} run. Ask for the rest in the next step.`;
  return calls.map((parsed, index) => {
    if (index >= most) return invalid(parsed.raw, tooMany);
    return "call" in parsed ? { raw: parsed.raw, call: parsed.call } : invalid(parsed.raw, parsed.problem);
  });
}

function invalid(raw: ParsedCall["raw"], text: string): CallRecord {
  const { id: callId, name } = raw;
  return { raw, result: { callId, name, status: "invalid", text, attempts: 0, durationMs: 0, files: [] } };
}

/** The tools of the next step; none, with the reason for the model, when they are used up. */
function toolsOf(run: TurnRun): { tools: ToolSpec[]; notes: string[] } {
  const { turn, stages } = run;
  const refusals = callsOf(turn).filter(
    (call) => call.result?.status === "denied" || call.result?.status === "blocked",
  );
  if (refusals.length >= stages.limits.refusals) {
    return {
      tools: [],
      notes: [`${refusals.length} tool calls of this turn were refused, so no more tools now: answer in text.`],
    };
  }
  if (turn.steps.length >= stages.limits.steps) {
    return {
      tools: [],
      notes: ["The tool steps of this turn are used up: answer now in text, and say what is left to do."],
    };
  }
  return { tools: stages.toolbox.specs(turn.conversationId), notes: [] };
}

async function readAnswer(run: TurnRun, request: ModelRequest, tools: ToolSpec[]): Promise<ReadAnswer> {
  const { turn, stages, delivery, signal } = run;
  const before = textOf(openSegment(turn));
  const usedIds = new Set(callsOf(turn).map((call) => call.raw.id));
  stages.events.emit("llm.request", { ...run.fields, step: turn.steps.length + 1, tools: tools.length });
  const stream: AsyncIterable<ModelEvent> = stages.provider.stream(request, signal);
  return await stages.readModel(stream, tools, usedIds, (text) => delivery.show(joined(before, text)));
}

async function endAnswered(run: TurnRun): Promise<TurnEnd> {
  const { turn, delivery } = run;
  if (!turn.isDelivered) {
    const last = turn.steps.at(-1);
    const said = textOf(openSegment(turn));
    if (said === "")
      return await endVisibly(run, "failed", "The model ended without an answer. Please ask again, or in other words.");
    const isCut = last?.stop === "max-tokens" ? "*(The answer was cut at the model's output limit.)*" : "";
    const other = last !== undefined && last.model !== last.requestedModel ? `*(answered by ${last.model})*` : "";
    await delivery.finish(
      joined(said, isCut, other),
      callsOf(turn).flatMap((call) => call.result?.files ?? []),
    );
    turn.isDelivered = true;
    await run.save();
  }
  await settleDrafts(run, "done");
  return await end(run, "done");
}

/** What the turn did to its folder is decided below its answer. What fails here is tried again by the sweep. */
async function settleDrafts({ turn, stages }: TurnRun, state: "done" | "failed" | "stopped"): Promise<void> {
  await stages.drafts.settle(turn, state).catch((thrown: unknown) => {
    if (isLedgerAway(thrown)) throw thrown;
    stages.log.error({ turnId: turn.id, error: messageOf(thrown) }, "the changes of a turn could not be settled yet");
  });
}

/** Ends a turn that has no answer so that people see it: what was said so far, and why it ends. */
async function endVisibly(run: TurnRun, state: "failed" | "stopped", sentence: string): Promise<TurnEnd> {
  run.turn.failure = sentence;
  const mark = state === "failed" ? "⚠️ " : "";
  await run.delivery.fail(joined(textOf(openSegment(run.turn)), run.turn.unfinishedText ?? "", mark + sentence));
  await settleDrafts(run, state);
  return await end(run, state);
}

/**
 * Something of ours failed, such as a full disk. It ends through this delivery and no other, because what this one still
 * has to show would come after the failure and hide it. What fails again here is the caller's to see to.
 */
async function endBroken(run: TurnRun, thrown: unknown): Promise<TurnEnd> {
  const { turn, stages } = run;
  const stack = thrown instanceof Error ? thrown.stack : "";
  stages.log.error({ turnId: turn.id, error: messageOf(thrown), stack }, "a turn broke");
  await stages.approvals.cancel(turn.id, "the turn failed").catch((again: unknown) => {
    stages.log.error({ turnId: turn.id, error: messageOf(again) }, "the approvals of a broken turn stay open");
  });
  const isExplained = thrown instanceof RemoraError;
  return await endVisibly(run, "failed", isExplained ? `This could not be done: ${thrown.message}` : brokenText);
}

async function endAborted(run: TurnRun): Promise<TurnEnd> {
  const cause = abortCauseOf(run.signal);
  if (cause === "shutdown") return "suspended";
  await run.stages.approvals.cancel(run.turn.id);
  return await endVisibly(run, "stopped", cause === "stopped" ? "Stopped." : "Stopped, because of the newer message.");
}

/** Remembers the turn and ends it. What can't be remembered is said where the person sees it. */
async function end(run: TurnRun, state: "done" | "failed" | "stopped"): Promise<TurnEnd> {
  const { turn, stages } = run;
  turn.endedAt ??= Date.now();
  let ended = state;
  try {
    await remember(run, state);
  } catch (thrown) {
    // Memory asks the other processes before it writes. The turn waits as it is, and is remembered when it goes on.
    if (isLedgerAway(thrown)) throw thrown;
    const sentence = `This turn could not be written to memory: ${messageOf(thrown)}`;
    stages.log.error({ turnId: turn.id, error: messageOf(thrown) }, "a turn could not be remembered");
    turn.failure = joined(turn.failure ?? "", sentence);
    ended = state === "done" ? "failed" : state;
    await run.delivery.fail(joined(textOf(openSegment(turn)), `⚠️ ${turn.failure}`));
  }
  await run.save(ended);
  stages.events.emit("turn.finished", {
    ...run.fields,
    outcome: ended,
    steps: turn.steps.length,
    durationMs: turn.endedAt - turn.startedAt,
  });
  return ended;
}

async function remember(run: TurnRun, outcome: "done" | "failed" | "stopped"): Promise<void> {
  const { turn, stages } = run;
  const tools = callsOf(turn).flatMap(({ raw, call, result }) =>
    result === undefined ? [] : [{ call: call ?? { id: raw.id, name: raw.name, input: {} }, result }],
  );
  await stages.taskFiles.save(turn, outcome);
  await stages.memory.saveEpisode({
    turnId: turn.id,
    scope: turn.scope,
    conversationId: turn.conversationId,
    at: turn.startedAt,
    users: turn.messages.map((message) => message.author),
    userText: turn.messages.map((message) => message.text).join("\n\n"),
    tools,
    response: joined(textOf(turn.steps), turn.unfinishedText ?? "", turn.failure ?? ""),
    origins: originsOfTurn(turn, stages.toolbox.specs(turn.conversationId)),
    outcome,
  });
  await stages.context.remember(turn);
}

function joined(...parts: string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}
