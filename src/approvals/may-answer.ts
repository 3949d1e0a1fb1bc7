/** Decides whether a person's answer counts for an approval. */
import { messageOf } from "../lib/errors.ts";
import { untilAborted } from "../lib/until-aborted.ts";
import type { ApprovalRecord } from "../ports/approval.ts";
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

/** The person waits for the receipt, and a service may be slow or limit its requests. */
const maxCheckMs = 4_000;

/** `by` has the roles of now. */
type Standing = { type: "here"; by: Author } | { type: "gone" | "barred" } | { type: "unknown"; why: string };
type StandingRecord = Pick<ApprovalRecord, "scope" | "target" | "turnId" | "requester" | "alsoAsked">;
type Answerer = Pick<Click, "by" | "isOperator" | "isFromOutside" | "platform">;

/**
 * Whether the person still belongs to where the card stands, asked of the service now: somebody who left a private channel,
 * or the whole workspace, may still see its cards and copies. Who asked for a call must also be allowed to ask, now. In doubt, nothing that they click counts.
 */
export async function standingOf(
  context: ApprovalsContext,
  record: StandingRecord,
  answerer: Answerer,
): Promise<Standing> {
  const { by, isOperator } = answerer;
  if (isOperator) return { type: "here", by };
  try {
    const asked = Promise.all([isPresent(context, record, answerer), personNow(context, answerer, record.target)]);
    const [isThere, now] = await untilAborted(asked, AbortSignal.timeout(maxCheckMs));
    if (!isThere || now === undefined) return { type: "gone" };
    return (await isBarred(context, record, { ...answerer, by: now })) ? { type: "barred" } : { type: "here", by: now };
  } catch (thrown) {
    const why = messageOf(thrown);
    context.log.warn({ person: by.id, error: why }, "could not check whether a person may still answer a card");
    return { type: "unknown", why };
  }
}

/** Nobody can leave a direct message. Whom the operator named although they were never in the channel need not be in it. */
async function isPresent(
  { isPresent: asksService }: ApprovalsContext,
  { scope, target }: Pick<ApprovalRecord, "scope" | "target">,
  { by, isFromOutside, platform = target.platform }: Answerer,
): Promise<boolean> {
  const isSure = isFromOutside === true || scope.startsWith("dm:") || platform !== target.platform;
  return isSure || asksService === undefined || (await asksService(by, target));
}

/** Whom the operator named as an approver need not be one of those who use the agent. */
async function isBarred(
  { ledger, barredBecause }: ApprovalsContext,
  { target, turnId, requester, alsoAsked = [] }: StandingRecord,
  { by, platform = target.platform }: Answerer,
): Promise<boolean> {
  const hasAsked = platform === target.platform && [requester.id, ...alsoAsked].includes(by.id);
  if (!hasAsked || barredBecause === undefined) return false;
  const turn = await ledger.get("turn", turnId);
  return turn !== undefined && (await barredBecause(turn.body, by)) !== undefined;
}

/** Undefined if the person has left. A person of another chat service has no place here, so is not looked up. */
export async function personNow(
  { authority }: ApprovalsContext,
  { by, platform }: Pick<Click, "by" | "platform">,
  target: ApprovalRecord["target"],
): Promise<Author | undefined> {
  const isElsewhere = platform !== undefined && !reaches(platform, target.platform);
  if (authority === undefined || isElsewhere) return by;
  const found = await authority(by, platform === undefined ? target : { ...target, platform });
  return found?.id === by.id ? found : undefined;
}
