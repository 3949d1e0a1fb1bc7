/**
 * The tool calls of one step, in the order the model gave them:
 *
 *   1. the gate judges every call; a blocked one gets its refusal as result
 *   2. all calls that must be asked for go on one card, and the turn parks until a person has answered
 *   3. what may run is run; neighbouring read-only calls run side by side
 *
 * Everything is journalled before the next thing happens, and every part may be repeated after a crash.
 */
import { setImmediate } from "node:timers/promises";
import { abortCauseOf } from "../../lib/abort.ts";
import { messageOf } from "../../lib/errors.ts";
import type { GateMatch, Verdict } from "../../ports/gate.ts";
import {
  isFromOutside,
  type Origin,
  originOfPerson,
  originText,
  taintTags,
  withoutRememberedPeople,
} from "../../ports/origin.ts";
import { networkOf, type ToolCall, type ToolJob, type ToolSpec, type ToolStatus } from "../../ports/tool.ts";
import { type CallRecord, requesterOf, type StepRecord, type TurnRecord } from "../../ports/turn.ts";
import { untrustedIn } from "../../ports/turn-origins.ts";
import type { TurnRun } from "./turn-store.ts";

const maxNamedOrigins = 5;
const maxGivenAddresses = 50;
const maxSearchedCharacters = 20_000;

export async function runCalls(run: TurnRun, step: StepRecord): Promise<"done" | "parked"> {
  await judge(run, step);
  await ask(run, step);
  for (let next = nextGroup(run, step); next.length > 0; next = nextGroup(run, step)) {
    const permits = await Promise.all(next.map((record) => permitOf(run, record)));
    const waiting = next.find((_record, index) => permits[index] === "waiting");
    if (waiting !== undefined) return await park(run, waiting.cardId ?? "");
    await Promise.all(next.map((record, index) => (permits[index] === "run" ? execute(run, step, record) : undefined)));
    await run.save();
    await run.stages.taskFiles.save(run.turn, "running");
    if (run.signal.aborted) break;
  }
  return "done";
}

async function judge(run: TurnRun, step: StepRecord): Promise<void> {
  const { stages, fields } = run;
  const untrusted = untrustedOf(run, step);
  const unjudged = step.calls.filter((record) => record.result === undefined && isToBeJudged(record));
  if (unjudged.length === 0) return;
  const specs = stages.toolbox.specs(run.turn.conversationId);
  const offered = new Set(specs.map((spec) => spec.name));
  for (const record of unjudged) {
    const call = parsedCall(record);
    // The rules of a tool that is not known now are not known either.
    if (!offered.has(call.name)) {
      refuse(record, "invalid", `There is no tool called ${call.name} here (any more), so it was not run.`);
      continue;
    }
    const wasJudged = record.verdict !== undefined;
    const spec = specs.find(({ name }) => name === call.name);
    // Asked about as such: a folder that grows later does not take a call out of its view.
    record.isUnconfined = await stages.containment.isUnconfined(spec, run.turn.workingFolder);
    const verdict = asking(
      stages.gate.classify(call.name, call.input, tagsOf(spec, call, untrusted)),
      stages.containment.reasons(spec, call.input, { isUnconfined: record.isUnconfined, untrusted }),
    );
    // Many calls with long arguments together must not hold up everybody else.
    await setImmediate();
    // From here on the call is what was judged: the same bytes are shown, hashed, queued and executed.
    if (verdict.input !== undefined) record.call = { ...call, input: verdict.input };
    record.verdict = { class: verdict.class, matches: verdict.matches, tags: verdict.tags };
    const problem = verdict.class === "block" ? undefined : stages.containment.problem(spec, call.input);
    if (problem !== undefined) {
      refuse(record, "invalid", `Not run: ${problem}`);
      continue;
    }
    const at = { ...fields, callId: call.id, tool: call.name };
    if (verdict.class === "safe" && !wasJudged) stages.events.emit("safety.allowed", at);
    if (verdict.class === "block") {
      stages.events.emit("safety.blocked", { ...at, ...judgedOf(run, record) });
      refuse(record, "blocked", blockedText(verdict));
      await recordFeedback(run, step, record, "blocked");
    }
  }
  await run.save();
}

/** The stricter of the gate's verdict and the reasons that lie in what the call could do. */
function asking(verdict: Verdict, reasons: GateMatch[]): Verdict {
  if (reasons.length === 0 || verdict.class === "block") return verdict;
  return { ...verdict, class: "confirm", matches: [...verdict.matches, ...reasons] };
}

/**
 * What was safe when the step began may have waited for a person's answer to another call, or for the next start, and the
 * rules may have changed meanwhile. A call that asks is judged again when its approval is redeemed.
 */
function isToBeJudged({ verdict, startedAt }: CallRecord): boolean {
  return verdict === undefined || (verdict.class === "safe" && startedAt === undefined);
}

/** What the prompt that led to the step's calls held, whatever the turn has read since. */
function untrustedOf({ turn, stages }: TurnRun, step: StepRecord): Origin[] {
  return untrustedIn(turn, step, stages.toolbox.specs(turn.conversationId));
}

function tagsOf(spec: ToolSpec | undefined, { input }: ToolCall, untrusted: readonly Origin[]): string[] {
  const isOutward = spec === undefined || spec.isOutward || networkOf(spec, input).length > 0;
  return taintTags(untrusted, isOutward);
}

/** Opens one card for all calls that must be asked for; asking again after a crash shows the same card. */
async function ask(run: TurnRun, step: StepRecord): Promise<void> {
  const { turn, stages, fields } = run;
  const asked = step.calls.filter((record) => record.verdict?.class === "confirm" && record.result === undefined);
  if (asked.length === 0) return;
  const untrusted = untrustedOf(run, step);
  const counted = withoutRememberedPeople(untrusted);
  if (asked.some((record) => record.approvalId === undefined)) {
    const { card, approvalIds } = await stages.approvals.open({
      turnId: turn.id,
      target: turn.target,
      scope: turn.scope,
      requester: requesterOf(turn),
      workingFolder: turn.workingFolder,
      calls: await Promise.all(
        asked.map(async (record) => ({
          call: parsedCall(record),
          matches: record.verdict?.matches ?? [],
          extraTags: tagsOf(specOf(run, record.raw.name), parsedCall(record), untrusted),
          isTainted: counted.length > 0,
          facts: [...(await factsOf(run, parsedCall(record))), ...readBefore(counted)],
        })),
      ),
    });
    for (const [index, record] of asked.entries()) {
      const approvalId = approvalIds[index] ?? "";
      record.approvalId = approvalId;
      // What a grant covers, or nobody may answer, is settled already: it is not asked for. The card can't tell: its rows
      // stand for all identical calls, also of other turns.
      if ((await stages.ledger.get("approval", approvalId))?.state !== "open") continue;
      record.cardId = card.id;
      const at = { ...fields, callId: record.raw.id, tool: record.raw.name, approvalId };
      stages.events.emit("safety.confirm", { ...at, ...judgedOf(run, record) });
    }
    await run.save();
    await stages.taskFiles.save(turn, "parked");
  }
  await post(run, asked);
}

async function factsOf(run: TurnRun, call: ToolCall): Promise<string[]> {
  const { turn, stages } = run;
  return await stages.containment.facts(specOf(run, call.name), call.input, turn.conversationId);
}

function specOf({ turn, stages }: TurnRun, tool: string): ToolSpec | undefined {
  return stages.toolbox.specs(turn.conversationId).find(({ name }) => name === tool);
}

/** What others may have written, and that the model had read when it asked for the call. */
function readBefore(untrusted: readonly Origin[]): string[] {
  if (untrusted.length === 0) return [];
  const named = untrusted.slice(0, maxNamedOrigins).map(originText).join(", ");
  const more = untrusted.length > maxNamedOrigins ? ` and ${untrusted.length - maxNamedOrigins} more` : "";
  return [`Read before: ${named}${more}`];
}

/** A card that nobody can see is a refusal, never a yes. */
async function post(run: TurnRun, asked: CallRecord[]): Promise<void> {
  const cardIds = new Set(asked.flatMap((record) => record.cardId ?? []));
  for (const cardId of cardIds) {
    const card = await run.stages.approvals.card(cardId);
    if (card === undefined) continue;
    // A crash may have come between the posting and the note of it: then it is found again, also when it was answered since.
    const isKnown = (await run.stages.ledger.get("post", `${run.turn.id}:card:${cardId}`)) !== undefined;
    if (isKnown && card.items.every((item) => item.state !== "open")) continue;
    try {
      // A card may be shared with other turns; here it is shown in this one's reply.
      await run.delivery.ask({ ...card, target: run.turn.target });
    } catch (thrown) {
      run.stages.log.warn({ turnId: run.turn.id, error: messageOf(thrown) }, "an approval card could not be posted");
      await run.stages.approvals.cancel(run.turn.id, "the card could not be shown to anyone");
    }
  }
}

/** The calls to run next: one, or several neighbouring read-only ones. */
function nextGroup(run: TurnRun, step: StepRecord): CallRecord[] {
  const open = step.calls.filter((record) => record.result === undefined);
  const [first] = open;
  if (first === undefined) return [];
  const specs = run.stages.toolbox.specs(run.turn.conversationId);
  const isReadOnly = (record: CallRecord) => specs.find((spec) => spec.name === record.raw.name)?.isReadOnly === true;
  const firstOther = open.findIndex((record) => !isReadOnly(record));
  return firstOther === 0 ? [first] : open.slice(0, firstOther === -1 ? open.length : firstOther);
}

/** Redeems the approval of a call that needs one. What runs from here on is the call that was approved. */
async function permitOf(run: TurnRun, record: CallRecord): Promise<"run" | "waiting" | "refused"> {
  if (record.verdict?.class !== "confirm") return "run";
  const outcome = await run.stages.approvals.redeem(
    record.approvalId ?? "",
    parsedCall(record),
    run.turn.workingFolder,
  );
  if (outcome.type === "waiting") return "waiting";
  if (outcome.type === "approved") {
    if (outcome.isEdited) record.editedBy = outcome.by.name;
    record.call = outcome.call;
    return "run";
  }
  const who = outcome.by === undefined ? "" : ` by ${outcome.by.name}`;
  const why = outcome.reason === undefined ? "" : ` Reason given: ${outcome.reason}`;
  const said = { denied: `was denied${who}`, expired: "expired: nobody answered in time", cancelled: "was cancelled" };
  const text = `Not run: the approval of this call ${said[outcome.state]}.${why} Do not try the same call again; say what you did not do.`;
  // Who refused it and when is recorded with the approval. The reason is that person's words.
  const theirs = outcome.by === undefined || outcome.reason === undefined ? [] : [originOfPerson(outcome.by)];
  refuse(record, "denied", text, theirs);
  return "refused";
}

async function park(run: TurnRun, cardId: string): Promise<"parked"> {
  await run.save("parked");
  // The conversation may go on meanwhile, and what waits in it belongs to what is said next.
  await run.stages.context.remember(run.turn).catch((thrown: unknown) => {
    run.stages.log.warn(
      { turnId: run.turn.id, error: messageOf(thrown) },
      "a waiting turn is missing from the history",
    );
  });
  run.stages.events.emit("turn.parked", { ...run.fields, cardId });
  return "parked";
}

async function execute(run: TurnRun, step: StepRecord, record: CallRecord): Promise<void> {
  const { turn, stages, delivery } = run;
  const call = parsedCall(record);
  record.startedAt ??= Date.now();
  await run.save();
  // People may look at the task file while the tool runs; the tool does not wait for it.
  const shown = stages.taskFiles.save(turn, "running").catch((thrown: unknown) => {
    stages.log.warn({ turnId: turn.id, error: messageOf(thrown) }, "a task file could not be written");
  });
  delivery.activity(`Running \`${call.name}\` …`);
  const result = await stages.queue.run(jobOf(run, step, record), run.signal);
  await shown;
  if (delivery.takeAsked()) record.hasAsked = true;
  // What ends with the process is asked for again after the next start: the queue knows how far it came.
  if (result.status === "interrupted" && run.signal.aborted && abortCauseOf(run.signal) === "shutdown") return;
  const note =
    record.editedBy === undefined
      ? ""
      : `(${record.editedBy} changed the arguments before it ran: ${summaryOf(call)})\n`;
  record.result = { ...result, text: note + result.text };
  delivery.activity("");
  await recordFeedback(run, step, record, record.result.status);
}

function jobOf(run: TurnRun, step: StepRecord, record: CallRecord): ToolJob {
  const { turn, stages } = run;
  const call = parsedCall(record);
  const spec = specOf(run, call.name);
  const untrusted = untrustedOf(run, step);
  const givenAddresses = addressesIn(turn);
  const { id: turnId, conversationId, scope, workingFolder } = turn;
  const isUnconfined = record.isUnconfined === true;
  const isContained = !isUnconfined && stages.containment.isContained(spec, call.input);
  return {
    id: `${turnId}-${call.id}`,
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
    },
    ...(record.approvalId === undefined ? {} : { approvalId: record.approvalId }),
    // A tool that has gone since it was asked for fails in the toolbox, with a reason.
    isIdempotent: spec?.isIdempotent === true || isContained,
    timeoutMs: spec?.timeoutMs ?? 120_000,
  };
}

/** In the requester's own messages; addresses of others are theirs. */
function addressesIn(turn: TurnRecord): string[] {
  const { id } = requesterOf(turn);
  const said = turn.messages
    .filter(({ author }) => author.id === id)
    .map(({ text }) => text.slice(0, maxSearchedCharacters));
  const found = said.flatMap((text) => text.match(/https?:\/\/[^\s<>"'`|)\]}]+/gi) ?? []);
  const addresses = found.map((address) => URL.parse(address.replace(/[.,;:!?]+$/, ""))?.href);
  return [...new Set(addresses.filter((address) => address !== undefined))].slice(0, maxGivenAddresses);
}

function refuse(record: CallRecord, status: ToolStatus, text: string, origins: Origin[] = []): void {
  const { id: callId, name } = record.raw;
  const read = origins.length === 0 ? {} : { origins };
  record.result = { callId, name, status, text, attempts: 0, durationMs: 0, files: [], ...read };
}

/** Once for a call and outcome, also when the journal is gone through again after a crash. */
async function recordFeedback(run: TurnRun, step: StepRecord, record: CallRecord, outcome: string): Promise<void> {
  const { turn, stages } = run;
  const { id: turnId, scope } = turn;
  const call = parsedCall(record);
  const id = `${turnId}-${call.id}:${outcome}`;
  // Every later prompt shows it, and a page could have had its own words written into the arguments.
  const summary = isFromOutside(untrustedOf(run, step))
    ? "(asked for after reading text from outside)"
    : summaryOf(call);
  await stages.memory.recordFeedback({ id, turnId, scope, at: Date.now(), tool: call.name, summary, outcome });
}

/** Says that and by which skill, not how to get around it. */
function blockedText(verdict: Verdict): string {
  const skills = [...new Set(verdict.matches.filter((match) => match.kind === "danger").map((match) => match.skill))];
  return `Blocked by the safety rules${skills.length === 0 ? "" : ` of ${skills.join(", ")}`}: this call was not run and can't be approved. Tell the person, and do not try another spelling of it.`;
}

/** Which call exactly, and why: what events of a verdict say. */
function judgedOf({ turn, stages }: TurnRun, record: CallRecord) {
  const matches = record.verdict?.matches ?? [];
  return {
    callHash: stages.approvals.hashOf(parsedCall(record), turn.workingFolder),
    rules: matches.map(({ skill, pattern, file, line, form }) => ({ skill, pattern, file, line, form })),
    reasons: matches.map((match) => match.reason ?? `${match.skill}: ${match.pattern}`),
  };
}

function summaryOf(call: ToolCall): string {
  return JSON.stringify(call.input);
}

function parsedCall(record: CallRecord): ToolCall {
  if (record.call === undefined) throw new TypeError(`call ${record.raw.id} was never parsed`);
  return record.call;
}
