/** Decides whether a person's answer counts for an approval. */
import type { Author } from "../ports/message.ts";
import { fits, reaches, requesterOf } from "./authority.ts";
import type { ApprovalRow } from "./card.ts";
import type { Click } from "./click.ts";
import { type ApprovalsContext, isExpired, ruleNow } from "./context.ts";
import { hasVoted } from "./has-voted.ts";

/** True if an approval or a denial by this person would count now. */
export function mayStillAnswer(
  context: ApprovalsContext,
  row: ApprovalRow,
  by: Author,
  platform = row.body.target.platform,
): boolean {
  if (row.state !== "open" || isExpired(row.body, context.now()) || by.isBot) return false;
  if (hasVoted(row, { by, isOperator: false, platform })) return false;
  return (["approve", "deny"] as const).some((choice) =>
    mayAnswer(context, row, { choice, by, isOperator: false, platform }),
  );
}

/** The person must satisfy both the rule recorded with the request and the current rule. */
export function mayAnswer(
  context: ApprovalsContext,
  { body }: Pick<ApprovalRow, "body">,
  { by, isOperator, choice, platform = body.target.platform }: Pick<Click, "by" | "isOperator" | "choice" | "platform">,
): boolean {
  const rule = ruleNow(context, body);
  if (isOperator) return body.approvers.length > 0 && rule.approvers.length > 0;
  const requester = requesterOf(body);
  if (!reaches(platform, requester.platform)) return false;
  const person = { platform, by };
  const wanted = choice === "deny" ? "deny" : "approve";
  return fits(body, person, requester, wanted) && fits(rule, person, requester, wanted);
}
