/** A turn as one row of a list. Texts are on one line, without invisible characters. */
import { oneLine } from "../../lib/text/sanitize.ts";
import type { LedgerEntry } from "../../ports/ledger.ts";
import type { ToolStatus } from "../../ports/tool.ts";
import { callsOf, requesterOf, type TurnRecord, type TurnState } from "../../ports/turn.ts";

export interface TurnRow {
  id: string;
  state: TurnState;
  conversationId: string;
  who: string;
  /** The id of that person on their platform. */
  whoId: string;
  text: string;
  steps: number;
  calls: number;
  /** Calls that failed, that were cut while they ran, and that a person or a rule refused. */
  failedCalls: number;
  interruptedCalls: number;
  deniedCalls: number;
  startedAt: number;
  endedAt: number | null;
  failure: string | null;
}

const maxTextCharacters = 160;
const maxNameCharacters = 80;

export function turnRow({ body, state }: LedgerEntry<"turn">): TurnRow {
  const calls = callsOf(body);
  const withStatus = (statuses: readonly ToolStatus[]) =>
    calls.filter(({ result }) => result !== undefined && statuses.includes(result.status)).length;
  return {
    id: body.id,
    state,
    conversationId: body.conversationId,
    who: oneLine(requesterOf(body).name, maxNameCharacters),
    whoId: requesterOf(body).id,
    text: oneLine(body.messages.at(-1)?.text ?? "", maxTextCharacters),
    steps: body.steps.length,
    calls: calls.length,
    failedCalls: withStatus(["failed", "invalid"]),
    interruptedCalls: withStatus(["interrupted"]),
    deniedCalls: withStatus(["denied", "blocked"]),
    startedAt: body.startedAt,
    endedAt: body.endedAt ?? null,
    failure: body.failure === undefined ? null : oneLine(body.failure, maxTextCharacters),
  };
}

/** What an active turn does, and since when. */
export function doingOf(turn: TurnRecord, state: TurnState): { doing: string; since: number } {
  const last = turn.steps.at(-1);
  const open = (last?.calls ?? []).filter(({ result }) => result === undefined);
  const since = last?.at ?? turn.startedAt;
  if (turn.abort !== undefined) return { doing: "stopping", since };
  if (state === "parked") {
    const names = namesOf(open.filter(({ approvalId }) => approvalId !== undefined));
    return { doing: names === "" ? "waiting for an answer" : `waiting for approval: ${names}`, since };
  }
  const started = open.filter(({ startedAt }) => startedAt !== undefined);
  if (started.length > 0) {
    return { doing: `running ${namesOf(started)}`, since: Math.min(...started.map((call) => call.startedAt ?? since)) };
  }
  if (open.length > 0) return { doing: `checking ${namesOf(open)}`, since };
  return { doing: `asking the model, step ${turn.steps.length + 1}`, since };
}

function namesOf(calls: readonly { raw: { name: string } }[]): string {
  return [...new Set(calls.map(({ raw }) => oneLine(raw.name, maxNameCharacters)))].join(", ");
}
