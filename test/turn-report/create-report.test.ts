/** Reports of turns, built from real records of approvals. */
import { describe, expect, test } from "vitest";
import { callText, cleaner, escapeHiddenLines } from "../../src/approvals/card-text.ts";
import { createMasker } from "../../src/lib/redact.ts";
import type { CallRecord, StepRecord, TurnRecord } from "../../src/ports/turn.ts";
import { createTurnReports } from "../../src/turn-report/create-report.ts";
import { footerLine } from "../../src/turn-report/footer.ts";
import { ann, asks, ben, call, click, setUp } from "../approvals/approvals-fixture.ts";
import { turnRecord } from "../doubles/records.ts";

const start = 1_700_000_000_000;
const usage = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
const settings = { footer: "auto", cost: true } as const;

function step(calls: CallRecord[], changes: Partial<StepRecord> = {}): StepRecord {
  const model = "anthropic/claude";
  return { text: "", calls, stop: "end", model, requestedModel: model, usage, at: start, ...changes };
}

function ran(id: string, changes: Partial<CallRecord> = {}, text = "done"): CallRecord {
  return {
    raw: { id, name: "shell_exec", inputJson: "{}" },
    call: call(id),
    verdict: { class: "safe", matches: [], tags: [] },
    startedAt: start,
    result: { callId: id, name: "shell_exec", status: "ok", text, attempts: 1, durationMs: 100, files: [] },
    ...changes,
  };
}

function openReports() {
  const desk = setUp({ policy: { approvers: ["user:ann", "user:ben"] } });
  const mask = createMasker([{ name: "VAULT_KEY", value: "hunter2secret" }]);
  const reports = createTurnReports({
    ledger: desk.ledger,
    texts: {
      line: cleaner(mask),
      lines: (text) => escapeHiddenLines(mask(text)),
      call: (one) => callText(one, mask),
      actsOutside: (tool) => tool === "chat_post",
    },
    now: () => desk.clock.now,
  });
  const turn = (changes: Partial<TurnRecord>) => turnRecord({ startedAt: start, endedAt: start + 9_000, ...changes });
  return { ...desk, reports, turn };
}

describe("a report", () => {
  test("names who approved a call, and does not count the waiting as work", async () => {
    const { reports, ask, approvals, clock, turn } = openReports();
    const { approvalId } = await ask("t1", call("c1"));
    clock.now = start + 180_000;
    await approvals.answer(click(approvalId, { by: ben, at: clock.now }));
    const verdict = { class: "confirm", matches: [asks], tags: [] } as const;
    const record = ran("c1", { approvalId, verdict: { ...verdict, matches: [asks], tags: [] } });
    const report = await reports.of(
      turn({
        endedAt: start + 189_000,
        steps: [step([record], { cost: 0.02 }), step([], { cost: 0.01 })],
        brokenCost: 0.04,
      }),
      "done",
    );

    expect(report).toMatchObject({ workedMs: 9_000, waitedMs: 180_000, waitedFor: ["Ben"], cost: 0.07, tokens: 220 });
    expect(report.steps[0]?.calls[0]).toMatchObject({
      verdict: "asked",
      why: ["removes files"],
      rules: ["shell: rm  (/skills/shell/SKILL.md:12)"],
      approval: { state: "approved", by: [{ name: "Ben", at: start + 180_000, isOperator: false }] },
      outcome: "ok",
    });
    expect(footerLine(report, settings)).toBe("1 action · approved by Ben · 9 s, waited 3 min for Ben · $0.07");
    expect(footerLine(report, { footer: "off", cost: true })).toBe("");
    expect(footerLine(report, { footer: "auto", cost: false })).not.toContain("$");
  });

  test.each([
    [86_000, "1 min 26 s"],
    [111_400, "1 min 51 s"],
    [120_000, "2 min"],
    [3_840_000, "1 h 4 min"],
  ])("says below an answer that took %i ms that it took %s", async (workedMs, said) => {
    const { reports, turn } = openReports();
    expect(footerLine(await reports.of(turn({ endedAt: start + workedMs }), "done"), settings)).toBe(
      `no actions · ${said}`,
    );
  });

  test("masks secrets and escapes hidden characters in names, calls, results and failures", async () => {
    const { reports, turn } = openReports();
    const hostile = call("c1", { command: "echo hunter2secret\u202e" }, "tool\u202e\nshell");
    const record = ran(
      "c1",
      { call: hostile, raw: { ...hostile, inputJson: "{}" } },
      "leaks hunter2secret\u200b\nline two",
    );
    const report = await reports.of(turn({ steps: [step([record])], failure: "hunter2secret is wrong" }), "failed");

    const text = JSON.stringify(report);
    expect(text).not.toContain("hunter2secret");
    expect(text).not.toMatch(/[\u202e\u200b]/);
    expect(report.steps[0]?.calls[0]?.tool).not.toContain("\n");
    expect(report.steps[0]?.calls[0]?.result).toContain("\nline two");
  });

  test("shows Windows line endings of a result as line breaks, and those of a call as they are", async () => {
    const { reports, turn } = openReports();
    const record = ran("c1", { call: call("c1", { text: "one\r\ntwo" }) }, "one\r\ntwo\rthree");
    const [shown] = (await reports.of(turn({ steps: [step([record])] }), "done")).steps[0]?.calls ?? [];
    expect(shown?.result).toBe("one\ntwo␍three");
    expect(shown?.callText).toContain("one␍\n");
  });

  test("is bounded for long calls and results, and says that it left something out", async () => {
    const { reports, turn } = openReports();
    const record = ran("c1", { call: call("c1", { text: "x".repeat(100_000) }) }, "y".repeat(100_000));
    const [first] = (await reports.of(turn({ steps: [step([record])] }), "done")).steps;

    expect(first?.calls[0]?.callText.length).toBeLessThan(21_000);
    expect(first?.calls[0]?.callText).toMatch(/\([\d,]+ characters more\)$/);
    expect(first?.calls[0]?.isResultCut).toBe(true);
  });

  test("offers no retry after a call whose outcome nobody knows", async () => {
    const { reports, turn } = openReports();
    const { result: _none, ...started } = ran("c1");
    const cut = ran("c2");
    if (cut.result !== undefined) cut.result.status = "interrupted";

    expect((await reports.of(turn({ steps: [step([ran("c1")])] }), "failed")).isSafeToRetry).toBe(true);
    expect((await reports.of(turn({ steps: [step([started])] }), "failed")).isSafeToRetry).toBe(false);
    expect((await reports.of(turn({ steps: [step([cut])] }), "stopped")).isSafeToRetry).toBe(false);
    expect((await reports.of(turn({ steps: [] }), "done")).isSafeToRetry).toBe(false);
    const contained = await reports.of(turn({ steps: [step([{ ...cut, isContained: true }])] }), "failed");
    expect(contained.isSafeToRetry).toBe(true);
    expect(contained.steps[0]?.calls[0]).toMatchObject({ outcome: "interrupted", isContained: true });
  });

  test("offers no retry of a message that would fail again in the same way", async () => {
    const { reports, turn } = openReports();
    const isSafe = async (changes: Partial<TurnRecord>) =>
      (await reports.of(turn({ steps: [], ...changes }), "failed")).isSafeToRetry;
    expect(await isSafe({})).toBe(true);
    expect(await isSafe({ isFailureFinal: true })).toBe(false);
  });

  test("offers no retry after something has happened, or after the answer", async () => {
    const { reports, turn } = openReports();
    const isSafe = async (calls: CallRecord[], changes: Partial<TurnRecord> = {}) =>
      (await reports.of(turn({ steps: [step(calls)], ...changes }), "failed")).isSafeToRetry;
    const raw = { id: "c1", name: "chat_post", inputJson: "{}" };
    const { startedAt: _at, result: _result, ...notRun } = ran("c1", { raw });

    expect(await isSafe([notRun])).toBe(true);
    expect(await isSafe([ran("c1", { raw })])).toBe(false);
    expect(await isSafe([ran("c1", { verdict: { class: "confirm", matches: [asks], tags: [] } })])).toBe(false);
    expect(await isSafe([ran("c1", { isUnconfined: true })])).toBe(false);
    // For example, because it could not be saved to memory.
    expect(await isSafe([ran("c1")], { isDelivered: true })).toBe(false);
  });

  test("masks a secret that the end of a shortened result would cut", async () => {
    const { reports, turn } = openReports();
    const text = `${"x".repeat(1_490)}hunter2secret${"y".repeat(3_000)}`;
    const report = await reports.of(turn({ steps: [step([ran("c1", {}, text)])] }), "done");
    expect(report.steps[0]?.calls[0]?.result).toMatch(/^x+/);
    expect(report.steps[0]?.calls[0]?.result).not.toContain("hunter");
  });

  test("works for a record of an earlier version, and is absent if the record is gone", async () => {
    const { reports, ledger } = openReports();
    const old = turnRecord({ steps: [step([{ raw: { id: "c1", name: "old", inputJson: "not json" } }])] });
    await ledger.create("turn", "t1", { state: "done", body: old, group: old.conversationId });

    expect(await reports.read("t1")).toMatchObject({ requester: { name: ann.name }, unpricedSteps: 1 });
    expect((await reports.read("t1"))?.steps[0]?.calls[0]).toMatchObject({ outcome: "not-run", verdict: "not-judged" });
    expect(await reports.read("gone")).toBeUndefined();
    expect(await reports.newest(old.conversationId, 5)).toHaveLength(1);
  });

  test("of a thousand calls is built, and a plain quick answer has no line", async () => {
    const { reports, turn } = openReports();
    const calls = Array.from({ length: 1_000 }, (_none, index) => ran(`c${index}`));
    const report = await reports.of(turn({ steps: [step(calls)] }), "done");
    expect(footerLine(report, settings)).toBe("1,000 actions · 9 s");

    const plain = await reports.of(turn({ steps: [step([])] }), "done");
    expect(footerLine(plain, settings)).toBe("");
    expect(footerLine(plain, { footer: "always", cost: true })).toBe("no actions · 9 s");
  });

  test("of a turn in which nothing was done says so, also if the model tried, or needed long", async () => {
    const { reports, turn } = openReports();
    const unknown = ran("c1");
    if (unknown.result !== undefined) unknown.result.status = "invalid";
    const tried = await reports.of(turn({ steps: [step([unknown]), step([])] }), "done");
    expect(footerLine(tried, settings)).toBe("no actions · 9 s");
    const slow = await reports.of(turn({ endedAt: start + 51_000, steps: [step([])] }), "done");
    expect(footerLine(slow, settings)).toMatch(/^no actions · /);
    const both = await reports.of(turn({ steps: [step([unknown, ran("c2")]), step([])] }), "done");
    expect(footerLine(both, settings)).toBe("1 action · 9 s");
  });
});
