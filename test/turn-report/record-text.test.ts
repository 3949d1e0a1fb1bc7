/** What people read about a turn. */
import { expect, test } from "vitest";
import { toMrkdwn } from "../../src/platforms/slack/outbound/mrkdwn.ts";
import type { CallReport, TurnReport } from "../../src/ports/turn-report.ts";
import { recordFile, recordText } from "../../src/turn-report/record-text.ts";
import { createRecords, goneText } from "../../src/turn-report/show-record.ts";
import { turnRecord } from "../doubles/records.ts";

const at = Date.UTC(2026, 10, 22, 14, 2);
const usage = { inputTokens: 200, outputTokens: 300, cacheReadTokens: 4_100, cacheWriteTokens: 900 };

function call(changes: Partial<CallReport> = {}): CallReport {
  return {
    ...{ id: "c1", tool: "shell_exec", headline: "Ran `npm install`", callText: 'shell_exec\ncommand: "npm install"' },
    ...{ verdict: "allowed", why: [], rules: [], outcome: "ok", startedAt: at, durationMs: 8_000, attempts: 1 },
    ...{ result: "exit code 0", isResultCut: false, files: [] },
    ...changes,
  } as CallReport;
}

function report(calls: CallReport[], changes: Partial<TurnReport> = {}): TurnReport {
  return {
    ...{ turnId: "t1", platform: "test", conversationId: "test:c1", scope: "channel:c1", asked: "hello" },
    ...{ requester: { id: "ann", name: "Ann" }, state: "done", startedAt: at, workedMs: 9_000, waitedMs: 0 },
    ...{
      waitedFor: [],
      tokens: 5_500,
      cost: 0.03,
      unpricedSteps: 0,
      changes: [],
      othersTexts: [],
      isSafeToRetry: false,
    },
    steps: [{ number: 1, at, model: "anthropic/claude", usage, calls }],
    ...changes,
  } as TurnReport;
}

test("reads like a person's account: what, who approved, what was blocked, what changed", () => {
  const approval = { state: "approved", askedAt: at, decidedAt: at + 60_000, isInAdvance: false } as const;
  const text = recordText(
    report(
      [
        call({
          verdict: "asked",
          why: ["installs packages", "It reaches the network."],
          approval: { ...approval, by: [{ name: "Ben", at, isOperator: false }] },
        }),
        call({
          headline: "Run `rm -rf /`",
          verdict: "blocked",
          why: ["deletes everything"],
          outcome: "blocked",
          startedAt: undefined,
          durationMs: undefined,
        } as never),
      ],
      { changes: [{ title: "website: 2 changed", state: "kept", result: "Kept", files: [], moreFiles: 0 }] },
    ),
    { withResults: true, withCost: true },
  );
  expect(text.split("\n")).toEqual([
    "**What I did for Ann** at 14:02 UTC (9 s, $0.03)",
    "1. Ran `npm install` (8 s). I asked first, because: `installs packages`, `It reaches the network`. Ben approved at 14:03 UTC.",
    "   Result: `exit code 0`",
    "2. Run `rm -rf /`. **Blocked**: this is never allowed (`deletes everything`).",
    "- Files: `website: 2 changed` — kept.",
    "- Model: `anthropic/claude`, 1 request. Tokens: 5,200 in, 300 out; 4,100 of 5,200 from the cache (78 %), 900 written to it.",
  ]);
});

test("only the requester sees results, nobody sees a turn that they can't read, and a pruned one says so", async () => {
  const turn = turnRecord();
  const whole = report([call({ result: "the secret of another channel" })]);
  const show = (by: string, reader: boolean, { stored = true, platform = "test", isListed = true } = {}) =>
    createRecords({
      ledger: { get: async () => (stored ? { body: turn } : undefined), list: async () => [] } as never,
      reports: { read: async () => whole } as never,
      mayRead: async () => reader,
      barredBecause: async () => (isListed ? undefined : "I can't do that: you are barred."),
      withCost: () => true,
    }).show("t1", platform, { id: by, name: by, isBot: false, roles: [] });
  expect((await show("ann", true)).text).toContain("the secret");
  expect((await show("ben", true)).text).not.toContain("the secret");
  expect(await show("ben", false)).toMatchObject({ accepted: false, text: expect.stringContaining("can't read") });
  expect(await show("ann", true, { isListed: false })).toEqual({
    accepted: false,
    text: "I can't do that: you are barred.",
  });
  // The same id on another platform is another person.
  expect(await show("ann", true, { platform: "other" })).toMatchObject({ accepted: false });
  expect(await show("ann", true, { stored: false })).toEqual({ accepted: false, text: goneText });
});

test("a thousand calls are the beginning in chat and all of them in a file, and hostile text stays code", async () => {
  const hostile = "``` @everyone **bold**";
  const whole = report(Array.from({ length: 1_000 }, () => call({ callText: hostile, headline: hostile })));
  const receipt = await createRecords({
    ledger: { get: async () => ({ body: turnRecord() }), list: async () => [] } as never,
    reports: { read: async () => whole } as never,
    mayRead: async () => true,
    barredBecause: async () => undefined,
    withCost: () => true,
  }).show("t1", "test", { id: "ann", name: "Ann", isBot: false, roles: [] });
  expect(receipt.text.length).toBeLessThan(3_200);
  expect(receipt.text).toContain("All of it is in the file");
  expect(receipt.file?.text.match(/^## \d/gm)).toHaveLength(1_000);
  expect(recordFile(whole, { withResults: false, withCost: true })).toContain("````text\n``` @everyone");
});

test("a person's name can't format, link or mention", () => {
  const name = "[**Ben**](https://evil.example) <@U1> @here";
  const approval = { state: "approved", askedAt: at, decidedAt: at, isInAdvance: false } as const;
  const hostile = report([call({ approval: { ...approval, by: [{ name, at, isOperator: false }] } })], {
    requester: { id: "ann", name },
  });
  const text = recordText(hostile, { withResults: true, withCost: true });
  expect(text).toContain("\\[\\*\\*Ben\\*\\*\\](https\\://evil.example) \\<\\@U1\\> \\@here approved");
  expect(text.split("\n")[0]).toMatch(/^\*\*What I did for \\\[/);
  expect(toMrkdwn(text)).not.toMatch(/<https|<@|\*Ben\*/);
});
