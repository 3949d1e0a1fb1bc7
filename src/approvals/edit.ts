/**
 * Edited arguments: parsed, checked against the tool's schema, and judged by the gate like any call. What passes takes the
 * place of the call in its records, which keep what was asked for; what does not is refused, and the card stays open.
 */
import type { GateMatch } from "../core/gate.ts";
import type { JsonObject } from "../core/message.ts";
import { shownPattern } from "../core/rule-text.ts";
import type { Click } from "./answer.ts";
import type { ApprovalRow } from "./card.ts";
import { type ApprovalsContext, hashOfCall, settle } from "./context.ts";

export type EditResult =
  | { type: "refused"; text: string }
  /** The same call in other words: an ordinary approval. */
  | { type: "same" }
  | { type: "edited"; settle(row: ApprovalRow): Promise<ApprovalRow | undefined> };

/** `rows` are of identical calls. */
export async function editRows(context: ApprovalsContext, rows: ApprovalRow[], click: Click): Promise<EditResult> {
  const [row] = rows;
  if (row === undefined) return { type: "refused", text: "There is nothing to edit." };
  const { call, extraTags, callHash, workingFolder, conversationId } = row.body;
  const parsed = parseArguments(click.editedJson ?? "");
  if (typeof parsed === "string") return { type: "refused", text: `${parsed} Nothing was changed.` };
  const problem = await context.checkInput?.(conversationId, call.name, parsed);
  if (problem !== undefined) return { type: "refused", text: `${problem} Nothing was changed.` };
  const verdict = context.gate.classify(call.name, parsed, extraTags);
  const { input, matches } = verdict;
  if (verdict.class === "block" || input === undefined) {
    const why = blockedBecause(matches);
    return { type: "refused", text: `The edited call is blocked by the safety rules (${why}). Nothing was changed.` };
  }
  if (hashOfCall(context, { name: call.name, input }, workingFolder) === callHash) return { type: "same" };
  const at = context.now();
  const { by, isOperator } = click;
  return {
    type: "edited",
    settle: (one) =>
      settle(context, one, ["open"], "approved", (body) => {
        if (body.callHash !== callHash || body.votes.length > 0) return undefined;
        const edited = { ...body.call, input };
        const decision = { votes: [{ by, at, isOperator }], decidedBy: by, decidedAt: at };
        const editedHash = hashOfCall(context, edited, body.workingFolder);
        return { ...body, ...decision, call: edited, callHash: editedHash, original: body.call, matches };
      }),
  };
}

/** What only asks is no reason for a block. */
function blockedBecause(matches: GateMatch[]): string {
  const blocking = matches.filter(({ kind }) => kind === "danger");
  const texts = blocking.map(({ reason, skill, pattern }) => reason ?? `${skill}: ${shownPattern(pattern)}`);
  return [...new Set(texts)].join("; ");
}

function parseArguments(json: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return "The arguments must be a JSON object, in braces.";
    }
    return value as JsonObject;
  } catch (thrown) {
    return `That is not valid JSON (${thrown instanceof Error ? thrown.message : "can't be read"}).`;
  }
}
