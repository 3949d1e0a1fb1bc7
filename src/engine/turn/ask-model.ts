/** Asks the model for the next step of a turn, and adds the step to the turn's record. */
import { RemoraError } from "../../lib/errors.ts";
import { withoutRepetition } from "../../lib/text/repetition.ts";
import type { BuiltContext } from "../../ports/context.ts";
import { type Origin, untrustedFor, withoutRememberedPeople } from "../../ports/origin.ts";
import {
  type ModelEvent,
  type ModelRequest,
  repetitionCharacters,
  thinkingNotice,
  type Usage,
} from "../../ports/provider.ts";
import type { ToolSpec } from "../../ports/tool.ts";
import {
  type BrokenText,
  type CallRecord,
  callsOf,
  openSegment,
  type ParsedCall,
  type ReadAnswer,
  requesterOf,
  textOf,
} from "../../ports/turn.ts";
import { originsOfDescriptions } from "../../ports/turn-origins.ts";
import { type AdmittedCall, tokensOf } from "../../ports/usage.ts";
import { isAnnouncement } from "./announced-call.ts";
import { askBeforehand, waitForBudget } from "./ask-budget.ts";
import { refuse, untrustedBefore } from "./call-record.ts";
import { joinParagraphs } from "./end-turn.ts";
import { failureText } from "./failure-text.ts";
import type { TurnRun } from "./turn-store.ts";
import { isStuck, stuckNote } from "./vain-calls.ts";

/** `failed` has an explanation for people. */
export type Asked = { type: "answered" } | { type: "parked" } | { type: "failed"; sentence: string };

/** Each addition to a budget allows another attempt. */
const maxAdmissions = 20;

export async function askModel(run: TurnRun, admissions = 0): Promise<Asked> {
  const { turn, deps, fields } = run;
  run.progress.phase(thinkingNotice.text);
  const began = performance.now();
  const step = turn.steps.length + 1;
  const permit = await deps.usage.admit(turn, run.signal);
  if (permit.type !== "admitted") {
    deps.events.emit("llm.error", { ...fields, step, code: permit.code, message: permit.sentence });
    if (permit.type === "refused") return { type: "failed", sentence: permit.sentence };
    const waited = await waitForBudget(run, permit);
    if (waited.type !== "continued") return waited;
    return admissions < maxAdmissions
      ? await askModel(run, admissions + 1)
      : { type: "failed", sentence: permit.sentence };
  }
  try {
    await askBeforehand(run, permit.asks);
    const sentence = await askWithPermit(run, began, permit);
    return sentence === undefined ? { type: "answered" } : { type: "failed", sentence };
  } finally {
    await permit.end();
  }
}

async function askWithPermit(run: TurnRun, beganBuilding: number, permit: AdmittedCall): Promise<string | undefined> {
  const { turn, deps, fields } = run;
  const step = turn.steps.length + 1;
  const { tools, mayCall, notes } = offeredTools(run, permit.declinedBy);
  if (step === 1) turn.news = await deps.drafts.news(turn);
  const built = await deps.context.build({ turn, step, tools, notes });
  turn.shown = built.shown;
  deps.events.emit("context.built", {
    ...fields,
    step,
    estimatedTokens: built.estimatedTokens,
    snapshot: built.snapshotPath,
  });
  const untrusted = untrustedFor(built.origins, requesterOf(turn).id);
  if (untrusted.length > 0 || mayRepeatFiles(run, built)) run.delivery.avoidPreviews();
  const addedMs = performance.now() - beganBuilding;
  const began = Date.now();
  const alone = permit.isWithoutFallback === true ? { isWithoutFallback: true } : {};
  const changed = hasChangedSomething(run) ? { isRefusalFinal: true } : {};
  const textOnly = mayCall ? {} : { mayCall };
  const { fitting, shorter } = built;
  const smaller = { ...(fitting ? { fitting } : {}), ...(shorter ? { shorter } : {}) };
  const answer = await readAnswer(run, { ...built.request, ...alone, ...changed, ...textOnly, ...smaller }, tools);
  for (const one of answer.broken) await countBroken(run, permit, built, one);
  const before = turn.steps.at(-1);
  if (answer.type === "failed" && (before?.isAnnouncement === true || before?.isSuperseded === true)) {
    deps.events.emit("llm.error", { ...fields, step, code: answer.error.code, message: answer.error.message });
    // Nobody knows whether there was more to do. What the model has said counts.
    delete before.isAnnouncement;
    delete before.isSuperseded;
    await run.save();
    return undefined;
  }
  const hasEnded = answer.type === "failed" && isEmpty(answer.error) && textOf(openSegment(turn)).trim() !== "";
  if (answer.type === "failed" && hasEnded && before !== undefined) {
    deps.events.emit("llm.error", { ...fields, step, code: answer.error.code, message: answer.error.message });
    // It has nothing to add to what it said before its calls.
    const { model, requestedModel } = before;
    turn.steps.push({
      ...{ text: "", calls: [], stop: "end", usage: noUsage },
      model,
      requestedModel,
      untrusted,
      at: Date.now(),
    });
    await run.save();
    return undefined;
  }
  if (answer.type === "failed") {
    // Spaces or punctuation, which would stand above the reason.
    turn.unfinishedText = answer.error.code === "provider.empty" ? "" : answer.text;
    const model = built.request.preferredModel ?? deps.provider.model;
    if (!answer.isCounted) await countBroken(run, permit, built, { model, text: answer.text });
    deps.events.emit("llm.error", { ...fields, step, code: answer.error.code, message: answer.error.message });
    if (answer.error.code === "provider.refused") {
      turn.isRefused = true;
      turn.isFailureFinal = true;
    }
    turn.failureReason = answer.error.plain;
    // Before people read it, open Details, and link to the question.
    await run.save();
    return failureText(answer.error, hasEarlierTurns(run, built));
  }
  const { stop, usage, model, carry, insteadBecause, firstTokenMs } = answer;
  // Later steps and turns would only go on with it.
  const text = stop === "repeating" ? withoutRepetition(answer.text, repetitionCharacters) : answer.text;
  deps.events.emit("llm.response", {
    ...fields,
    step,
    model,
    stop,
    usage,
    firstTokenMs,
    durationMs: Date.now() - began,
  });
  const answerCharacters = answer.text.length + answer.calls.reduce((sum, { raw }) => sum + raw.inputJson.length, 0);
  const call = { model, usage, addedMs, promptTokens: built.estimatedTokens, answerCharacters };
  const { written, ...counted } = permit.count(call);
  // Some models call a tool although they may not.
  const calls = mayCall && tools.length > 0 ? callRecords(answer.calls, deps.limits.callsPerStep, tools) : [];
  const requestedModel = built.request.preferredModel ?? deps.provider.model;
  const seenMessages = turn.messages.length;
  const kept = carry === undefined || calls.length === 0 ? {} : { carry };
  const instead = insteadBecause === undefined ? {} : { insteadBecause };
  const asked = { seenMessages, untrusted, model, requestedModel, ...instead, ...counted, at: Date.now() };
  const isAnnounced = mayCall && calls.length === 0 && stop === "end" && isAnnouncement(text, turn, tools);
  const announced = isAnnounced ? { isAnnouncement: true as const } : {};
  turn.steps.push({ text, calls, ...kept, stop, ...asked, ...announced });
  // Together, so that the ledger writes both in one commit.
  await Promise.all([run.save(), written]);
  return undefined;
}

/** Also after it was asked once more, and by the last of several models. */
function isEmpty({ code, cause }: RemoraError): boolean {
  const last = code === "provider.all-failed" ? cause : undefined;
  return code === "provider.empty" || (last instanceof RemoraError && last.code === "provider.empty");
}

/** What the turn's calls, or earlier turns, have read in a folder that the settings give may be in others' words. */
function mayRepeatFiles(run: TurnRun, built: BuiltContext): boolean {
  const { turn, deps } = run;
  return deps.isGivenFolder(turn.workingFolder) && (turn.steps.length > 0 || hasEarlierTurns(run, built));
}

function hasEarlierTurns({ turn }: TurnRun, { request }: BuiltContext): boolean {
  return request.messages.filter(({ role }) => role === "assistant").length > turn.steps.length;
}

const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/**
 * A call that failed before it began to answer costs nothing, as far as is known. One that was refused costs what the service
 * has counted, which may be nothing.
 */
async function countBroken(
  run: TurnRun,
  permit: AdmittedCall,
  { estimatedTokens: promptTokens }: BuiltContext,
  { model, text, usage = noUsage }: BrokenText,
): Promise<void> {
  const isCounted = tokensOf(usage) > 0 || (usage.cost ?? 0) > 0;
  if (text === "" && !isCounted) return;
  const call = { model, usage, addedMs: 0, promptTokens, answerCharacters: text.length, isBroken: !isCounted };
  const { cost, written } = permit.count(call);
  await written;
  if (cost !== undefined) run.turn.brokenCost = (run.turn.brokenCost ?? 0) + cost;
}

/** Another model must not carry on with what one declined in the middle of. Reading changes nothing. */
function hasChangedSomething({ turn, deps }: TurnRun): boolean {
  const specs = deps.toolbox.specs(turn.conversationId);
  const reading = new Set(specs.filter(({ isReadOnly }) => isReadOnly).map(({ name }) => name));
  return callsOf(turn).some(({ startedAt, raw }) => startedAt !== undefined && !reading.has(raw.name));
}

/** Gives invalid calls, and calls beyond `maxCalls`, a result that describes the problem. */
function callRecords(calls: readonly ParsedCall[], maxCalls: number, tools: readonly ToolSpec[]): CallRecord[] {
  const tooMany = `Too many tool calls in one step: ${calls.length} calls, and at most ${maxCalls} run. Make the other calls in the next step.`;
  return calls.map((parsed, index) => {
    if (index >= maxCalls) return invalid(parsed.raw, tooMany);
    if ("call" in parsed) return { raw: parsed.raw, call: parsed.call };
    // The problem may describe the tool.
    const origins = originsOfDescriptions(tools.filter(({ name }) => name === parsed.raw.name));
    return invalid(parsed.raw, parsed.problem, origins);
  });
}

function invalid(raw: ParsedCall["raw"], text: string, origins: Origin[] = []): CallRecord {
  const record: CallRecord = { raw };
  refuse(record, "invalid", text, origins);
  return record;
}

interface OfferedTools {
  tools: ToolSpec[];
  mayCall: boolean;
  notes: string[];
}

/** Returns the next step's tools. Once a limit is reached, none may be called any more, and a note tells the model so. */
function offeredTools(run: TurnRun, declinedBy: string | undefined): OfferedTools {
  const tools = run.deps.toolbox.specs(run.turn.conversationId);
  const note = limitNote(run, tools, declinedBy);
  return note === undefined ? { tools, mayCall: true, notes: [] } : { tools, mayCall: false, notes: [note] };
}

function limitNote(run: TurnRun, tools: ToolSpec[], declinedBy: string | undefined): string | undefined {
  const { turn, deps } = run;
  if (declinedBy !== undefined)
    return "The budget for this is nearly used up, and people decided not to add to it, so no more tools now: answer in text, and say what is left to do.";
  // Whoever wrote what the model has read could otherwise end the person's own task by calls that are sure to be refused.
  const steps = turn.steps.filter((step) => withoutRememberedPeople(untrustedBefore(run, step)).length === 0);
  const refusals = steps
    .flatMap(({ calls }) => calls)
    .filter((call) => call.result?.status === "denied" || call.result?.status === "blocked");
  if (refusals.length >= deps.limits.refusals)
    return `${refusals.length} tool calls of this turn were refused, so no more tools now: answer in text.`;
  if (turn.steps.length >= deps.limits.steps)
    return "The tool steps of this turn are used up: answer now in text, and say what is left to do.";
  return isStuck(turn, tools) ? stuckNote : undefined;
}

async function readAnswer(run: TurnRun, request: ModelRequest, tools: ToolSpec[]): Promise<ReadAnswer> {
  const { turn, deps, delivery, progress, signal } = run;
  const before = textOf(openSegment(turn));
  const usedIds = new Set(callsOf(turn).map((call) => call.raw.id));
  deps.events.emit("llm.request", { ...run.fields, step: turn.steps.length + 1, tools: tools.length });
  const stream: AsyncIterable<ModelEvent> = deps.provider.stream(request, signal);
  return await deps.readModel(stream, tools, usedIds, {
    onText(text) {
      progress.phase(undefined);
      delivery.show(joinParagraphs(before, text));
    },
    onNotice: (text) => progress.phase(text),
  });
}
