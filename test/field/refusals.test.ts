/** What people read when a model refuses or its service fails: one plain sentence. The reason is in Details and goes to the owners. */
import { describe, expect, test } from "vitest";
import { createModelWatch } from "../../src/health/model-watch.ts";
import { problemsOf } from "../../src/health/owner-notice-text.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Provider } from "../../src/ports/provider.ts";
import type { TurnReport } from "../../src/ports/turn-report.ts";
import { failure } from "../../src/providers/classify-failure.ts";
import type { FailureKind } from "../../src/providers/failure-kinds.ts";
import { createTurnReports } from "../../src/turn-report/create-report.ts";
import { doubles, run, useDoubles } from "../engine/run-turn-world.ts";

useDoubles();

const place = {
  ...{ name: "openai", model: "gpt-6-luna", baseUrl: "https://example.com/v1" },
  ...{ keySetting: "OPENAI_API_KEY", urlSetting: "OPENAI_BASE_URL", modelSetting: "models.openai.model" },
};
const operators = "Whoever runs me has to fix that; Details says why.";
const closed = `its service does not let me in. ${operators}`;
const used = `my account with its service is used up. ${operators}`;
const wrong = `it is not set up as it should be. ${operators}`;
const busy = "too much is asked of it at the moment. Please try again in a few minutes.";
const away = "I can't reach it at the moment. Please try again in a few minutes.";
const broken = "its answer broke off. Please try again.";
const slow = "it took too long. Please try again.";
const refused = "its service refused this request. Please ask in other words, or start over with /remora new.";
const long = "this is too long for it. Please write less, or send it in parts.";
const endless = "its answer did not end, so I stopped it. Please ask in other words, or for less at once.";

/** A new kind needs a sentence here. */
const sentences: Record<Exclude<FailureKind, "refused">, string> = {
  ...{ wrongKey: closed, impossibleKey: closed, closedAccount: closed, region: closed, forbidden: closed },
  ...{ noCredit: used, spendLimit: used },
  ...{ unknownModel: wrong, unknownPath: wrong, endedModel: wrong, noTools: wrong, toolsOff: wrong, wrongApi: wrong },
  ...{ notAnApi: wrong, badUrl: wrong, moved: wrong, badCertificate: wrong, noMemory: wrong },
  ...{ tooLong: long, limitOverContext: long },
  ...{ blocked: refused, outputLimit: refused, brokenHistory: refused, toolRefused: refused, badRequest: refused },
  badCall: "it made a mistake that its service could not read. Please try again.",
  ...{ rateLimited: busy, overloaded: busy, serverFull: busy },
  loading: "it is still starting. Please try again in a minute.",
  serverError: "its service failed. Please try again in a few minutes.",
  ...{ offline: away, unreachable: away, outOfFiles: away, connectTimeout: away },
  ...{ cut: broken, malformed: broken },
  empty: "its answer was empty. Please try again, or ask in other words.",
  ...{ endless, repeating: endless },
  ...{ firstTokenTimeout: slow, firstTokenTooLate: slow, idleTimeout: slow },
  aborted: "the request was stopped.",
};

/** Tags of places, names of settings and variables, and what only an operator understands. */
const notForPeople =
  /\[|models\.|context\.tokens|limits\.|skills\.|[A-Z]{3,}_|https?:|HTTP|\b[45]\d\d\b|provider|E[A-Z]{5,}|--|the log/;

const asIs = (text: string) => text;

/** As Details shows it. */
async function reportOf(): Promise<TurnReport> {
  const { ledger } = doubles;
  const texts = { line: asIs, lines: asIs, call: ({ name }: { name: string }) => name };
  return (await createTurnReports({ ledger, texts }).read("t1")) ?? expect.fail("no turn");
}

describe("each way in which a model can fail", () => {
  test.each(Object.entries(sentences))(
    "%s is said in one plain sentence, with the reason in Details",
    async (kind, sentence) => {
      const said = "401 Unauthorized: see https://example.com/errors";
      const error = failure(place, kind as FailureKind, { said, note: "500" });
      await run({ steps: [[{ type: "error", error }]] });
      const shown = doubles.reply.segments.at(-1) ?? "";
      expect(shown).toBe(`⚠️ The model could not answer: ${sentence}`);
      expect(shown).not.toMatch(notForPeople);
      const report = await reportOf();
      expect(report.failure).toBe(error.plain);
      expect(report.isSafeToRetry).toBe(true);
    },
  );

  test("a code that nobody knows is said safely, whether or not another try may help", async () => {
    for (const isRetryable of [true, false]) {
      const message = "set models.quux.key (HTTP 418) to something";
      const error = new RemoraError({ code: "provider.quux", place: "provider quux", message, isRetryable });
      await run({ steps: [[{ type: "error", error }]] });
      const shown = doubles.reply.segments.at(-1) ?? "";
      expect(shown).toMatch(/^⚠️ The model could not answer: something went wrong with its service\. Please try again/);
      expect(shown).not.toMatch(notForPeople);
      expect((await reportOf()).failure).toBe(message);
    }
  });

  test("several models that fail are one sentence, and Details has the reason of each", async () => {
    const plain =
      "No model could answer:\n- a/one: the key was refused; set a valid one in A_KEY.\n- b/two: the service failed (500)";
    const error = new RemoraError({
      code: "provider.all-failed",
      place: "models",
      message: plain,
      plain,
      isRetryable: true,
    });
    await run({ steps: [[{ type: "error", error }]] });
    expect(doubles.reply.segments.at(-1)).toBe(
      "⚠️ None of my models could answer. Please try again in a few minutes; Details says why.",
    );
    expect((await reportOf()).failure).toContain("set a valid one in A_KEY");
  });

  test("a part of Remora that fails is one sentence without its place, and Details has the reason", async () => {
    const error = new RemoraError({ code: "x", place: "provider x", message: "set models.x.key to a key" });
    await run({ steps: [], files: { fetch: () => Promise.reject(error) }, takeSteering: () => Promise.reject(error) });
    const shown = doubles.reply.segments.at(-1) ?? "";
    expect(shown).toBe(
      "⚠️ Something went wrong inside Remora while I worked on this. Please ask again; Details says why.",
    );
    expect((await reportOf()).failure).toBe("set models.x.key to a key");
  });
});

describe("the owners", () => {
  const provider: Provider = {
    ...{ name: "openai", model: "openai/gpt-6-luna" },
    async *stream() {
      yield { type: "error", error: failure(place, "badRequest", { said: "tools.3.name: too long" }) };
    },
  };

  test("hear once of requests that a service refuses, with what it says, and nobody else reads its words", async () => {
    let now = 1_000;
    const watch = createModelWatch({ log: silentLog, refusal: () => undefined, now: () => now });
    const { stream } = watch.observe(provider);
    const ask = async () => {
      for await (const _event of stream({} as never, AbortSignal.timeout(1_000)));
    };
    const toldNow = () => problemsOf(watch.checks(), []).filter(({ isTold = false }) => !isTold);
    expect(toldNow()).toEqual([]);
    for (let times = 0; times < 5; times += 1) await ask();
    expect(toldNow()).toMatchObject([{ text: expect.stringContaining("tools.3.name: too long") }]);
    expect(JSON.stringify(watch.checks().map(({ what }) => what))).not.toContain("tools.3");
    now += 2 * 3_600_000;
    expect(toldNow()).toEqual([]);
  });
});
