/** `/remora grants` lists and revokes the grants (calls allowed in advance) that apply here. */
import { describePattern } from "../lib/text/describe-rule.ts";
import { codeSpan } from "../lib/text/sanitize.ts";
import type { ApprovalDesk, GrantRecord } from "../ports/approval.ts";
import type { CommandHandler } from "../ports/command.ts";
import type { InboundCommand } from "../ports/message.ts";

export function grantsCommand(approvals: Pick<ApprovalDesk, "listGrants" | "revokeGrant">): CommandHandler {
  /** Includes the channel's other threads, because not every service allows commands in a thread. */
  async function grantsAround({
    conversationId,
    scope,
  }: Pick<InboundCommand, "conversationId" | "scope">): Promise<GrantRecord[]> {
    const grants = await approvals.listGrants();
    return grants.filter((grant) => grant.conversationId === conversationId || grant.origin.scope === scope);
  }

  return {
    usage: "grants [revoke ID]",
    description: "list what is allowed in advance here, and revoke it",
    async run(command) {
      const grants = await grantsAround(command);
      const [, grantId] = /^revoke\s+(\S+)$/.exec(command.rest.trim()) ?? [];
      if (grantId !== undefined) {
        const place = grants.find((grant) => grant.id === grantId)?.conversationId ?? command.conversationId;
        return (await approvals.revokeGrant(grantId, place, command.by)).text;
      }
      if (grants.length === 0) return "Nothing is allowed in advance here.";
      return grants
        .map((grant) => {
          const until = new Date(grant.expiresAt).toISOString().slice(11, 16);
          const where = grant.conversationId === command.conversationId ? "" : ", in another thread here";
          return `- \`${grant.id}\` ${grantText(grant)}, allowed by ${grant.by.name} until ${until} UTC${where}`;
        })
        .join("\n");
    },
  };
}

function grantText({ skill, pattern, reason }: GrantRecord): string {
  if (reason !== undefined) return `${skill}: “${reason}”`;
  return `${skill}: calls that match ${codeSpan(describePattern(pattern))}`;
}
