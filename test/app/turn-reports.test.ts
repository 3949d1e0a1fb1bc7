/** What the app knows about tools when it tells what a call did, and whether a request may be started again by a click. */
import { expect, test } from "vitest";
import { buildTurnReports } from "../../src/app/turn-reports.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import type { ToolSpec } from "../../src/ports/tool.ts";
import type { TurnReport } from "../../src/ports/turn-report.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { toolSpec, turnRecord } from "../doubles/records.ts";

async function reportOf(specs: ToolSpec[], input: JsonObject = {}): Promise<TurnReport> {
  const ledger = createSqliteLedger({ path: ":memory:" });
  const reports = buildTurnReports({ ledger, mask: (text) => text }, () => specs);
  const call = { id: "c1", name: "mail_send", input };
  const result = { callId: "c1", name: "mail_send", status: "ok", text: "", attempts: 1, durationMs: 1, files: [] };
  const record = { raw: { id: "c1", name: "mail_send", inputJson: "{}" }, call, startedAt: 1, result } as const;
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const step = { text: "", calls: [record], stop: "tools", model: "m", requestedModel: "m", usage, at: 1 } as never;
  const report = await reports.of(turnRecord({ steps: [step], endedAt: 2 }), "failed");
  await ledger.close();
  return report;
}

const isSafe = async (specs: ToolSpec[]) => (await reportOf(specs)).isSafeToRetry;

test("what a call did is told with marks for line breaks and for what can't be seen", async () => {
  const phrases = { doing: "Sending {text}", done: "Sent {text}", many: "Sent {count}" };
  const report = await reportOf([toolSpec("mail_send", { phrases })], { text: "one\r\ntwo\u202e \u200bthree" });
  expect(report.steps[0]?.calls[0]?.headline).toBe("Sent `one ⏎ two\\u{202E} \\u{200B}three`");
});

test("a call of a tool that is gone since may have acted outside, so there is no Retry after it", async () => {
  expect(await isSafe([toolSpec("mail_send")])).toBe(true);
  expect(await isSafe([toolSpec("mail_send", { isOutward: true })])).toBe(false);
  expect(await isSafe([])).toBe(false);
});
