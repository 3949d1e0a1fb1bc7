/** Recordings and questions to memory are paid for by those who ask, and not made after their budget is used up. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { createQuestionVectors } from "../../src/memory/question-vectors.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { type DollarLimits, payerOf, usageSubject } from "../../src/ports/usage.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createPaidTranscription } from "../../src/usage/paid-transcription.ts";
import { createUsageMeter } from "../../src/usage/usage.ts";
import { turnRecord } from "../doubles/records.ts";
import { noDollarLimits, noLimits } from "../doubles/turn-deps.ts";

const never = new AbortController().signal;
const payer = payerOf(turnRecord());
const recording = { path: "/voice.ogg", name: "voice.ogg", mimeType: "audio/ogg", bytes: 1_000, seconds: 60, payer };
let ledger: Ledger;

beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
});
afterEach(() => ledger.close());

function meterWith(dollars: Partial<DollarLimits>) {
  return createUsageMeter({
    ...{ ledger, log: silentLog, busyWaitMs: 0, priceOf: (model) => (model === "e/words" ? price : undefined) },
    limits: { ...noLimits, dollars: { ...noDollarLimits, ...dollars } },
  });
}
const price = { input: 100_000, output: 0 };

describe("a recording", () => {
  function listening(dollars: Partial<DollarLimits>, heard: object = { text: "hello", isHeard: true, seconds: 30 }) {
    const meter = meterWith(dollars);
    const listened: string[] = [];
    const transcribe = createPaidTranscription({
      ...{ model: "openai/whisper-1", dollarsPerMinute: 1, usage: meter },
      async listen({ name }) {
        listened.push(name);
        return heard as never;
      },
    });
    return { meter, transcribe, listened };
  }

  test("counts for the person, the channel, the conversation and the turn, by the seconds that were heard", async () => {
    const { meter, transcribe } = listening({ user: 5, channel: 5, turn: 5 });
    expect(await transcribe(recording, never)).toEqual({ text: "hello" });
    const subjects = [
      usageSubject.user("test", "ann"),
      usageSubject.scope("test", "channel:c1"),
      usageSubject.conversation("test:c1"),
      usageSubject.model("openai/whisper-1"),
      usageSubject.everyone,
    ];
    for (const subject of subjects) {
      const [entry] = await ledger.list("usage", { group: subject });
      expect(entry?.body.cost, subject).toBeCloseTo(0.5);
      expect(entry?.body.held ?? [], subject).toEqual([]);
    }
    expect((await meter.budgets(payer)).map(({ used }) => used)).toEqual([0.5, 0.5, 0.5]);
  });

  test("is not listened to once a budget is used up, and people read why", async () => {
    const { transcribe, listened } = listening({ user: 0.5 });
    await transcribe(recording, never);
    expect(await transcribe(recording, never)).toEqual({
      problem: expect.stringMatching(
        /^I did not listen to this recording\. The budget of Ann for today is used up: \$0\.50 of \$0\.50\. It resets .* Send it again later, or write\.$/,
      ),
    });
    expect(listened).toHaveLength(1);
  });

  test("of many at once, no more are listened to than the budget has room for", async () => {
    const { meter, transcribe, listened } = listening({ channel: 2 }, { text: "x", isHeard: true, seconds: 60 });
    await Promise.all(Array.from({ length: 8 }, () => transcribe(recording, never)));
    expect(listened).toHaveLength(2);
    expect(await meter.budgets(payer)).toMatchObject([{ used: 2 }]);
  });

  test("without words costs too, and one that failed costs nothing", async () => {
    const silent = listening({ user: 5 }, { problem: "no words", isHeard: true, seconds: 60 });
    expect(await silent.transcribe(recording, never)).toEqual({ problem: "no words" });
    expect(await silent.meter.budgets(payer)).toMatchObject([{ used: 1 }]);
    const broken = listening({ user: 5 }, { problem: "unreachable", isHeard: false });
    await broken.transcribe(recording, never);
    expect(await broken.meter.budgets(payer)).toMatchObject([{ used: 1 }]);
  });
});

describe("a question to memory", () => {
  function asking(dollars: Partial<DollarLimits>) {
    const meter = meterWith(dollars);
    const asked: string[] = [];
    const vectorOf = createQuestionVectors({
      embedder: {
        ...{ model: "e/words", address: "test" },
        async embed(texts, _use, _signal, onTokens) {
          asked.push(...texts);
          onTokens?.(texts.join("").length);
          return texts.map(() => new Float32Array([1]));
        },
      },
      health: { worked: () => {}, failed: () => {} },
      ...{ now: Date.now, ended: never },
      async admit(by, promptTokens) {
        const permit = await meter.admitAside(by, { model: "e/words", promptTokens, waits: false });
        if (permit.type !== "admitted") return undefined;
        const usageOf = (inputTokens: number) => ({
          ...{ inputTokens, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
        });
        return {
          count: (tokens) => permit.count({ model: "e/words", usage: usageOf(tokens), addedMs: 0 }).written,
          end: permit.end,
        };
      },
    });
    return { meter, vectorOf, asked };
  }

  test("counts for who asks; a known one costs nothing", async () => {
    const { meter, vectorOf } = asking({ user: 5 });
    expect(await vectorOf("12345", payer)).toBeDefined();
    expect(await vectorOf("12345", payer)).toBeDefined();
    await expect.poll(async () => (await meter.budgets(payer))[0]?.used).toBeCloseTo(0.5);
    const [ofAnn] = await ledger.list("usage", { group: usageSubject.user("test", "ann") });
    // Steps are the calls that people know.
    expect(ofAnn?.body).toMatchObject({ calls: 0, inputTokens: 5 });
  });

  test("uses words only once the budget is used up, without a rest for those who have one", async () => {
    const { meter, vectorOf, asked } = asking({ user: 0.5 });
    await vectorOf("12345", payer);
    await expect.poll(async () => (await meter.budgets(payer))[0]?.used).toBeCloseTo(0.5);
    expect(await vectorOf("another", payer)).toBeUndefined();
    const ben = { ...payer, user: { id: "ben", name: "Ben" } };
    expect(await vectorOf("another", ben)).toBeDefined();
    expect(await vectorOf("of nobody in particular")).toBeDefined();
    expect(asked).toEqual(["12345", "another", "of nobody in particular"]);
  });
});
