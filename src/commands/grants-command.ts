/** `/remora` commands over what stands between the agent and its acts: grants, and skills. */

import { describePattern } from "../lib/text/describe-rule.ts";
import type { ApprovalDesk, GrantRecord } from "../ports/approval.ts";
import type { CommandHandler } from "../ports/command.ts";
import type { InboundCommand } from "../ports/message.ts";
import type { SkillSet } from "../ports/skill.ts";

export function grantCommand(approvals: Pick<ApprovalDesk, "listGrants" | "revokeGrant">): CommandHandler {
  /** Of the conversation, and of all others of its channel: not every service knows commands in a thread. */
  async function grantsAround({ conversationId, scope }: Place): Promise<GrantRecord[]> {
    const grants = await approvals.listGrants();
    return grants.filter((grant) => grant.conversationId === conversationId || grant.origin.scope === scope);
  }

  return {
    usage: "grants [revoke ID]",
    description: "what is allowed here for a while, and how to take it back",
    async run(command) {
      const grants = await grantsAround(command);
      const [, grantId] = /^revoke\s+(\S+)$/.exec(command.rest.trim()) ?? [];
      if (grantId !== undefined) {
        const place = grants.find((grant) => grant.id === grantId)?.conversationId ?? command.conversationId;
        return (await approvals.revokeGrant(grantId, place, command.by)).text;
      }
      if (grants.length === 0) return "Nothing is allowed in advance here: every risky call asks.";
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

type Place = Pick<InboundCommand, "conversationId" | "scope">;

/** A pattern may have backticks in it, so its code span is fenced with more of them. */
function grantText({ skill, pattern, reason }: GrantRecord): string {
  if (reason !== undefined) return `calls of which skill ${skill} says “${reason}”`;
  const shown = describePattern(pattern);
  const longestRun = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longestRun + 1);
  const room = longestRun === 0 ? "" : " ";
  return `calls that fit ${fence}${room}${shown}${room}${fence} of skill ${skill}`;
}

const mostSkills = 50;
const mostProblems = 20;

/** `visible`: what a conversation may use; what is wrong is shown of all skills. */
export function skillsCommand(visible: (conversationId: string) => SkillSet): CommandHandler {
  return {
    usage: "skills [WORDS]",
    description: "the skills that can be used here, and what is wrong with others",
    async run({ conversationId, rest }) {
      const { skills, diagnostics } = visible(conversationId);
      const words = rest
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== "");
      const fitting = skills.filter(({ name, description }) => {
        const text = `${name} ${description}`.toLowerCase();
        return words.every((word) => text.includes(word));
      });
      const lines = fitting.map((skill) => `- **${skill.name}** — ${skill.description}`);
      const problems = diagnostics.map(
        ({ path, line, message }) => `- \`${line === 0 ? path : `${path}:${line}`}\` ${message}`,
      );
      return [
        ...(lines.length === 0 ? ["No skill fits."] : shortened(lines, mostSkills)),
        ...(problems.length === 0 ? [] : ["", "Problems:", ...shortened(problems, mostProblems)]),
      ].join("\n");
    },
  };
}

function shortened(lines: string[], most: number): string[] {
  return lines.length <= most ? lines : [...lines.slice(0, most), `- … and ${lines.length - most} more`];
}
