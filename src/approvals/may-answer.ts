/** Decides whether a person's answer counts for an approval. */
import { messageOf } from "../lib/errors.ts";
import { untilAborted } from "../lib/until-aborted.ts";
import type { ApprovalRecord } from "../ports/approval.ts";
import type { Author } from "../ports/message.ts";
import { fits, isDashboardPlatform, reaches, requesterOf } from "./authority.ts";
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

/** The person waits for the receipt, and a service may be slow or limit its requests. */
const maxPresenceMs = 4_000;

/**
 * Whether the person is where the card stands, asked of the service now: somebody who left a private channel may still see
 * its cards. Nobody can leave a direct message. Somebody who got a copy of the card need not be in its conversation.
 */
export async function presenceOf(
  { isPresent, log }: ApprovalsContext,
  { scope, target }: Pick<ApprovalRecord, "scope" | "target">,
  { by, isOperator, isByCopy, platform = target.platform }: Pick<Click, "by" | "isOperator" | "isByCopy" | "platform">,
): Promise<"here" | "gone" | "unknown"> {
  const isSure = isOperator || isByCopy === true || scope.startsWith("dm:") || isDashboardPlatform(platform);
  if (isSure || isPresent === undefined || platform !== target.platform) return "here";
  try {
    const asked = isPresent(by, target);
    return (await untilAborted(asked, AbortSignal.timeout(maxPresenceMs))) ? "here" : "gone";
  } catch (thrown) {
    log.warn({ person: by.id, error: messageOf(thrown) }, "could not check whether a person is still where a card is");
    return "unknown";
  }
}
