/** Judges calls by the gate's rules and by their possible effects. Refuses blocked, impossible and unknown calls. */
import { setImmediate } from "node:timers/promises";
import type { GateMatch, Verdict } from "../../ports/gate.ts";
import type { CallRecord, StepRecord } from "../../ports/turn.ts";
import {
  callTags,
  givenAddressesIn,
  parsedCall,
  recordFeedback,
  refuse,
  untrustedBefore,
  verdictFields,
} from "./call-record.ts";
import type { TurnRun } from "./turn-store.ts";
import { isRepeated, repeatedText } from "./vain-calls.ts";

export async function judgeCalls(run: TurnRun, step: StepRecord): Promise<void> {
  const { deps, fields } = run;
  const untrusted = untrustedBefore(run, step);
  const unjudged = step.calls.filter((record) => record.result === undefined && needsVerdict(record));
  if (unjudged.length === 0) return;
  const specs = deps.toolbox.specs(run.turn.conversationId);
  const givenAddresses = givenAddressesIn(run.turn);
  const offered = new Set(specs.map((spec) => spec.name));
  for (const record of unjudged) {
    const call = parsedCall(record);
    // The tool is missing, so its rules are unknown.
    if (!offered.has(call.name)) {
      refuse(record, "invalid", `Not run: there is no tool ${call.name} here.`);
      continue;
    }
    if (isRepeated(run.turn, step, record, specs)) {
      refuse(record, "invalid", repeatedText);
      continue;
    }
    const wasJudged = record.verdict !== undefined;
    const spec = specs.find(({ name }) => name === call.name);
    if (spec?.isPrivate === true && !run.turn.messages.every(({ isDirect }) => isDirect)) {
      refuse(record, "invalid", await deps.askDirectly(run.turn, `the results of ${call.name}`));
      continue;
    }
    // Decided only once so that a call keeps its view even if the folder grows later.
    record.isUnconfined = await deps.containment.isUnconfined(spec, run.turn.workingFolder);
    const byRules = deps.gate.classify(call.name, call.input, callTags(spec, call, untrusted));
    const { isUnconfined } = record;
    const state = { isUnconfined, untrusted, givenAddresses, isAsked: byRules.class === "confirm" };
    const verdict = stricter(byRules, deps.containment.reasons(spec, call.input, state));
    // Let other conversations proceed, because judging many long calls takes time.
    await setImmediate();
    // From here on, exactly this call is shown, hashed, queued and executed.
    if (verdict.input !== undefined) record.call = { ...call, input: verdict.input };
    record.verdict = { class: verdict.class, matches: verdict.matches, tags: verdict.tags };
    const problem = verdict.class === "block" ? undefined : deps.containment.problem(spec, call.input);
    if (problem !== undefined) {
      refuse(record, "invalid", `Not run: ${problem}`);
      continue;
    }
    const at = { ...fields, callId: call.id, tool: call.name };
    if (verdict.class === "safe" && !wasJudged) deps.events.emit("safety.allowed", at);
    if (verdict.class === "block") {
      deps.events.emit("safety.blocked", { ...at, ...verdictFields(run, record) });
      refuse(record, "blocked", blockedText(verdict));
      await recordFeedback(run, step, record, "blocked");
    }
  }
  await run.save();
}

function stricter(verdict: Verdict, reasons: GateMatch[]): Verdict {
  if (reasons.length === 0 || verdict.class === "block") return verdict;
  return { ...verdict, class: "confirm", matches: [...verdict.matches, ...reasons] };
}

/** Safe calls need a new verdict, because rules may have changed. Redeeming an approval judges the others. */
function needsVerdict({ verdict, startedAt }: CallRecord): boolean {
  return verdict === undefined || (verdict.class === "safe" && startedAt === undefined);
}

/** Names the skill but not the rule so that the model does not work around the rule. */
function blockedText(verdict: Verdict): string {
  const skills = [...new Set(verdict.matches.filter((match) => match.kind === "danger").map((match) => match.skill))];
  return `Blocked by the safety rules${skills.length === 0 ? "" : ` of ${skills.join(", ")}`}: this call was not run and can't be approved. Tell the person, and do not try it in another form.`;
}
