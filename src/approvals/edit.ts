/** Edits a call. An accepted edit replaces the call in its records, which keep the original too. */
import { isJsonObject } from "../lib/json.ts";
import { describePattern } from "../lib/text/describe-rule.ts";
import type { GateMatch } from "../ports/gate.ts";
import type { JsonObject } from "../ports/message.ts";
import { fits, requesterOf, ruleFor } from "./authority.ts";
import type { ApprovalRow } from "./card.ts";
import { isMasked } from "./card-text.ts";
import type { Click } from "./click.ts";
import { type ApprovalsContext, hashOfCall, settle } from "./context.ts";

export type EditResult =
  | { type: "refused"; text: string }
  /** The edit changed nothing, so it counts as an ordinary approval. */
  | { type: "same" }
  | { type: "edited"; input: JsonObject; settle(row: ApprovalRow): Promise<ApprovalRow | undefined> };

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
  const { by, isOperator, isFromOutside } = click;
  const edited = { ...call, input };
  if (isMasked(edited, context.mask) && !mayApproveMasked(context, row, click))
    return { type: "refused", text: "The edited call contains a configured secret. Nothing was changed." };
  const place = { conversationId, workingFolder };
  // What the call may read is another thing after an edit.
  const bound = await context.files?.bind({ ...place, call: edited });
  const at = context.now();
  return {
    type: "edited",
    input,
    settle: (one) =>
      settle(context, one, ["open"], "approved", (body) => {
        if (body.callHash !== callHash || body.votes.length > 0) return undefined;
        const decision = {
          votes: [{ by, at, isOperator, ...(isFromOutside ? { isFromOutside } : {}) }],
          decidedBy: by,
          decidedAt: at,
        };
        const changed = { ...body.call, input };
        const files = bound === undefined ? {} : { bound };
        const editedHash = hashOfCall(context, changed, body.workingFolder);
        return { ...body, ...decision, call: changed, callHash: editedHash, original: body.call, matches, ...files };
      }),
  };
}

function mayApproveMasked(context: ApprovalsContext, { body }: ApprovalRow, { by, isOperator }: Click): boolean {
  const rule = ruleFor(context.policy, body.call.name, true);
  const requester = requesterOf(body);
  if (isOperator) return rule.approvers.length > 0;
  return fits(rule, { platform: requester.platform, by }, requester, "approve");
}

/** Names only the rules that block, not those that ask. */
function blockedBecause(matches: GateMatch[]): string {
  const blocking = matches.filter(({ kind }) => kind === "danger");
  const texts = blocking.map(({ reason, skill, pattern }) => reason ?? `${skill}: ${describePattern(pattern)}`);
  return [...new Set(texts)].join("; ");
}

function parseArguments(json: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) ? value : "The arguments must be a JSON object, in braces.";
  } catch (thrown) {
    return `That is not valid JSON (${thrown instanceof Error ? thrown.message : "can't be read"}).`;
  }
}
