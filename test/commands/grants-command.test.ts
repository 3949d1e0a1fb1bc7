import { describe, expect, test } from "vitest";
import { grantsCommand } from "../../src/commands/grants-command.ts";
import { describePattern, describeRule } from "../../src/lib/text/describe-rule.ts";
import type { ApprovalDesk, GrantRecord } from "../../src/ports/approval.ts";

describe("a pattern, as people are shown it", () => {
  test("is whole up to 60 characters, and cut with a mark beyond, never within a character", () => {
    expect(describePattern("a".repeat(60))).toBe("a".repeat(60));
    expect(describePattern("a".repeat(61))).toBe(`${"a".repeat(59)}…`);
    expect(describePattern("💥".repeat(61))).toBe(`${"💥".repeat(59)}…`);
  });

  test("stands for its rule where there is no reason", () => {
    expect(describeRule({ pattern: "\\brm\\b", reason: "removes files" })).toBe("“removes files”");
    expect(describeRule({ pattern: "\\brm\\b" })).toBe("“\\brm\\b”");
  });
});

describe("/remora grants", () => {
  const grant = {
    ...{ id: "a1b2", platform: "test", conversationId: "test:C1", skill: "shell", pattern: "x" },
    by: { id: "U1", name: "Ann", isBot: false, roles: [] },
    ...{ createdAt: 0, givenAt: 0, expiresAt: Date.UTC(2026, 10, 21, 9, 30) },
    origin: { approvalId: "p", cardId: "c", turnId: "t", userId: "U1", scope: "channel:C1", tool: "shell_exec" },
  } satisfies GrantRecord;

  async function said(grants: GrantRecord[], rest: string): Promise<string> {
    const desk: Pick<ApprovalDesk, "listGrants" | "revokeGrant"> = {
      listGrants: async () => grants,
      revokeGrant: async (id, conversationId) => ({ accepted: true, text: `revoked ${id} of ${conversationId}` }),
    };
    const where = { platform: "test", conversationId: "test:C1", scope: "channel:C1", by: grant.by } as const;
    return await grantsCommand(desk).run({ ...where, name: "grants", rest, at: 0 });
  }

  const listed = (more: Partial<GrantRecord>) => said([{ ...grant, ...more }], "");

  test("says why a rule asks, who allowed it and until when", async () => {
    expect(await listed({ reason: "changes files" })).toBe(
      "- `a1b2` shell: “changes files”, allowed by Ann until 09:30 UTC",
    );
  });

  test("shows and takes back what is allowed in threads of the channel, where no command can be given, and nothing of others", async () => {
    const inThread = { ...grant, id: "c3d4", conversationId: "test:C1:17" };
    const elsewhere = {
      ...grant,
      id: "e5f6",
      conversationId: "test:C2",
      origin: { ...grant.origin, scope: "channel:C2" as const },
    };
    const text = await said([grant, inThread, elsewhere], "");
    expect(text).toMatch(/`a1b2` .*09:30 UTC\n/);
    expect(text).toMatch(/`c3d4` .*09:30 UTC, in another thread here$/);
    expect(text).not.toContain("e5f6");
    expect(await said([grant, inThread], "revoke c3d4")).toBe("revoked c3d4 of test:C1:17");
    expect(await said([elsewhere], "revoke e5f6")).toBe("revoked e5f6 of test:C1");
    expect(await said([elsewhere], "")).toBe("Nothing is allowed in advance here.");
  });

  test("shows a pattern as code that its backticks don't end", async () => {
    expect(await listed({ pattern: "[;&|({`]" })).toContain("shell: calls that match `` [;&|({`] ``");
    expect(await listed({ pattern: "\\brm\\b" })).toContain("shell: calls that match `\\brm\\b`");
  });
});
