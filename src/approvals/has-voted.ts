import type { ApprovalRow } from "./card.ts";
import type { Click } from "./click.ts";

/** The same id on another platform is another person. */
export function hasVoted(
  { body }: Pick<ApprovalRow, "body">,
  { by, isOperator, platform = body.target.platform }: Pick<Click, "by" | "isOperator" | "platform">,
): boolean {
  return body.votes.some(
    (earlier) =>
      earlier.by.id === by.id &&
      earlier.isOperator === isOperator &&
      (earlier.platform ?? body.target.platform) === platform,
  );
}
