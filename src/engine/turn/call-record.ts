/** Helpers for the records of a step's calls. */
import { messageOf } from "../../lib/errors.ts";
import { isFromOutside, type Origin, taintTags } from "../../ports/origin.ts";
import { networkOf, type ToolCall, type ToolSpec, type ToolStatus } from "../../ports/tool.ts";
import { nameInPrompts } from "../../ports/tool-offer.ts";
import { type CallRecord, requesterOf, type StepRecord, type TurnRecord } from "../../ports/turn.ts";
import { untrustedIn } from "../../ports/turn-origins.ts";
import type { TurnRun } from "./turn-store.ts";

const maxGivenAddresses = 50;
const maxSearchedCharacters = 20_000;

export function parsedCall(record: CallRecord): ToolCall {
  if (record.call === undefined) throw new TypeError(`call ${record.raw.id} was never parsed`);
  return record.call;
}

export function callSpec({ turn, deps }: TurnRun, tool: string): ToolSpec | undefined {
  return deps.toolbox.specs(turn.conversationId).find(({ name }) => name === tool);
}

/** Returns the origins of untrusted text in this step's prompt, without those of text that the turn has read since. */
export function untrustedBefore({ turn, deps }: TurnRun, step: StepRecord): Origin[] {
  return untrustedIn(turn, step, deps.toolbox.specs(turn.conversationId));
}

export function callTags(spec: ToolSpec | undefined, { input }: ToolCall, untrusted: readonly Origin[]): string[] {
  const isOutward = spec === undefined || spec.isOutward || networkOf(spec, input).length > 0;
  return taintTags(untrusted, isOutward);
}

export function refuse(record: CallRecord, status: ToolStatus, text: string, origins: Origin[] = []): void {
  const { id: callId, name } = record.raw;
  const read = origins.length === 0 ? {} : { origins };
  record.result = { callId, name, status, text, attempts: 0, durationMs: 0, files: [], ...read };
}

/** Records feedback once per call and outcome, even if repeated after a crash. Never rejects: the call stands. */
export async function recordFeedback(
  run: TurnRun,
  step: StepRecord,
  record: CallRecord,
  outcome: string,
): Promise<void> {
  const { turn, deps } = run;
  const { id: turnId, scope } = turn;
  const call = parsedCall(record);
  const spec = callSpec(run, call.name);
  const id = `${turnId}-${call.id}:${outcome}`;
  // Later prompts show this summary, so it must not repeat what outsiders may have written to the model.
  const summary = isFromOutside(untrustedBefore(run, step))
    ? "(asked for after reading text from outside)"
    : callSummary(call);
  await deps.memory
    .recordFeedback({
      id,
      turnId,
      scope,
      at: Date.now(),
      tool: spec === undefined ? call.name : nameInPrompts(spec),
      summary,
      outcome,
    })
    .catch((thrown: unknown) => {
      deps.log.warn({ turnId, callId: call.id, error: messageOf(thrown) }, "could not record how a call ended");
    });
}

export function verdictFields({ turn, deps }: TurnRun, record: CallRecord) {
  const matches = record.verdict?.matches ?? [];
  return {
    callHash: deps.approvals.hashOf(parsedCall(record), turn.workingFolder),
    rules: matches.map(({ skill, pattern, file, line, form }) => ({ skill, pattern, file, line, form })),
    reasons: matches.map((match) => match.reason ?? `${match.skill}: ${match.pattern}`),
  };
}

export function callSummary(call: ToolCall): string {
  return JSON.stringify(call.input);
}

/** Web addresses that the requester wrote, as complete URLs. */
export function givenAddressesIn(turn: TurnRecord): string[] {
  const { id } = requesterOf(turn);
  const said = turn.messages
    .filter(({ author }) => author.id === id)
    .map(({ text }) => text.slice(0, maxSearchedCharacters));
  const found = said.flatMap((text) => text.match(/https?:\/\/[^\s<>"'`|)\]}]+/gi) ?? []);
  const addresses = found.map((address) => URL.parse(address.replace(/[.,;:!?]+$/, ""))?.href);
  return [...new Set(addresses.filter((address) => address !== undefined))].slice(0, maxGivenAddresses);
}
