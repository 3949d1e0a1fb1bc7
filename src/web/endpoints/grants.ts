/** Advance approvals in force, which the operator can end. */
import type { Hono } from "hono";
import { z } from "zod";
import { describeRule } from "../../lib/text/describe-rule.ts";
import { oneLine } from "../../lib/text/sanitize.ts";
import type { ApprovalDesk } from "../../ports/approval.ts";
import type { Operate } from "./operate.ts";
import { acting, reading } from "./respond.ts";

export interface GrantRow {
  id: string;
  /** What the grant allows, in words for people. */
  allows: string;
  skill: string;
  conversationId: string;
  /** Who allowed it, and who may use it. */
  by: string;
  givenAt: number;
  expiresAt: number;
  turnId: string;
}

const maxRows = 200;
const maxTextCharacters = 300;

export function mountGrants(
  app: Hono,
  { approvals, operate }: { approvals: Pick<ApprovalDesk, "listGrants" | "revokeGrant">; operate: Operate },
): void {
  reading(app, "/dashboard/data/grants", z.object({}), async () => {
    const grants = await approvals.listGrants();
    const newest = grants.toSorted((one, other) => other.givenAt - one.givenAt).slice(0, maxRows);
    return {
      grants: newest.map((grant): GrantRow => {
        const { id, skill, conversationId, by, givenAt, expiresAt, origin } = grant;
        const allows = oneLine(describeRule(grant), maxTextCharacters);
        return {
          ...{ id, allows, skill, conversationId, givenAt, expiresAt },
          by: oneLine(by.name, maxTextCharacters),
          turnId: origin.turnId,
        };
      }),
      more: Math.max(0, grants.length - maxRows),
    };
  });
  acting(app, "/dashboard/grants/end", {
    schema: z.strictObject({ id: z.string().min(1).max(200) }),
    invalid: "To end a grant, send its id.",
    act: ({ id }, visitor) => operate(visitor, { action: "grant.end", subject: id }, () => approvals.revokeGrant(id)),
  });
}
