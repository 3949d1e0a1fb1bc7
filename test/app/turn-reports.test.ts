/** What the app knows about tools when it decides whether a request may be started again by a click. */
import { expect, test } from "vitest";
import { buildTurnReports } from "../../src/app/turn-reports.ts";
import type { ToolSpec } from "../../src/ports/tool.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { toolSpec, turnRecord } from "../doubles/records.ts";

async function isSafe(specs: ToolSpec[]): Promise<boolean> {
  const ledger = createSqliteLedger({ path: ":memory:" });
  const reports = buildTurnReports({ ledger, mask: (text) => text }, () => specs);
  const call = { id: "c1", name: "mail_send", input: {} };
  const result = { callId: "c1", name: "mail_send", status: "ok", text: "", attempts: 1, durationMs: 1, files: [] };
  const record = { raw: { id: "c1", name: "mail_send", inputJson: "{}" }, call, startedAt: 1, result } as const;
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const step = { text: "", calls: [record], stop: "tools", model: "m", requestedModel: "m", usage, at: 1 } as never;
  const report = await reports.of(turnRecord({ steps: [step], endedAt: 2 }), "failed");
  await ledger.close();
  return report.isSafeToRetry;
}

test("a call of a tool that is gone since may have acted outside, so there is no Retry after it", async () => {
  expect(await isSafe([toolSpec("mail_send")])).toBe(true);
  expect(await isSafe([toolSpec("mail_send", { isOutward: true })])).toBe(false);
  expect(await isSafe([])).toBe(false);
});
