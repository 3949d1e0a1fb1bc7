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

/** Ids of the people of the card's own platform who have voted. */
export function votersHere({ body }: Pick<ApprovalRow, "body">): string[] {
  const here = body.votes.filter(
    ({ isOperator, platform }) => !isOperator && (platform ?? body.target.platform) === body.target.platform,
  );
  return here.map(({ by }) => by.id);
}
