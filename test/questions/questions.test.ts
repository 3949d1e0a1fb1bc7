import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TurnAbort } from "../../src/lib/abort.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Author } from "../../src/ports/message.ts";
import type { QuestionAnswer, QuestionCard, QuestionRequest, Questions } from "../../src/ports/question.ts";
import { createQuestions } from "../../src/questions/questions.ts";
import { createInMemoryBus } from "../../src/storage/in-memory-cluster.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { turnRecord } from "../doubles/records.ts";

const ann: Author = { id: "ann", name: "Ann", isBot: false, roles: [] };
const target = { platform: "test", conversationId: "test:c1", turnId: "t1", messageId: "m1" };
const never = new AbortController().signal;
const openNote = "Only Ann can answer. An answer approves nothing.";
const chosenNote = "Ann chose “live”, as an answer to the plugin deploy.";

let ledger: ReturnType<typeof createSqliteLedger>;
let shown: QuestionCard[];
let questions: Questions;
beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
  shown = [];
  questions = create();
});
afterEach(() => ledger.close());

function create(
  bus = createInMemoryBus(silentLog),
  show = async (card: QuestionCard): Promise<void> => void shown.push(card),
): Questions {
  const redact = (text: string) => text.replaceAll("hunter2", "[redacted]");
  return createQuestions({
    directTarget: async (target) => target,
    ledger,
    bus,
    show,
    redact,
    barredBecause: async () => undefined,
    log: silentLog,
  });
}

type Asked = { question?: string; options?: QuestionRequest["answers"] };

function ask({ options, ...changes }: Asked = {}, signal = never, on = questions): Promise<QuestionAnswer> {
  const request = {
    target,
    jobId: "t1-call1",
    number: 0,
    requester: ann,
    tool: "deploy_run",
    skill: "deploy",
    question: "Where to?",
    answers: options ?? ["staging", "live"],
  };
  return on.ask({ ...request, ...changes }, signal);
}

async function asked(): Promise<QuestionCard> {
  await expect.poll(() => shown.length).toBeGreaterThan(0);
  const [card] = shown;
  if (card === undefined) throw new Error("nothing is shown");
  return card;
}

function pick(questionId: string, option: number, by: Author = ann, on = questions) {
  return on.answer({ platform: "test", conversationId: "test:c1", questionId, option, by, at: 1 });
}

describe("a question's card", () => {
  /** The service is away for all but the first showing, until the test says otherwise. */
  function createFailing() {
    const service = { isAway: true };
    const show = async (card: QuestionCard) => {
      if (service.isAway && !card.isOpen) throw new Error("the service is away");
      shown.push(card);
    };
    return { service, on: create(createInMemoryBus(silentLog), show) };
  }

  test("that could not be rewritten after the answer is rewritten by a sweep, once", async () => {
    await ledger.create("turn", "t1", { state: "running", body: turnRecord(), group: "test:c1" });
    const { service, on } = createFailing();
    const answer = ask({}, never, on);
    const { id } = await asked();
    expect(await pick(id, 1, ann, on)).toMatchObject({ accepted: true });
    expect(await answer).toBe("live");
    await on.sweep(Date.now());
    expect(shown).toHaveLength(1);
    service.isAway = false;
    await on.sweep(Date.now());
    await on.sweep(Date.now());
    expect(shown.map(({ note }) => note)).toEqual([openNote, chosenNote]);
  });

  test("of a question that was withdrawn just before the process died is rewritten by the next one", async () => {
    await ledger.create("turn", "t1", { state: "done", body: turnRecord(), group: "test:c1" });
    const { service, on } = createFailing();
    const died = new AbortController();
    const answer = ask({}, died.signal, on);
    const { id } = await asked();
    await on.sweep(Date.now());
    expect(shown).toHaveLength(1);
    service.isAway = false;
    await create().sweep(Date.now());
    expect(shown.at(-1)).toMatchObject({ id, isOpen: false, note: "Closed without an answer." });
    died.abort(new TurnAbort("shutdown"));
    await expect(answer).rejects.toBeInstanceOf(TurnAbort);
  });

  test("that can't be rewritten for a day, as where the channel is gone, is left as it is", async () => {
    const { on } = createFailing();
    const stop = new AbortController();
    const answer = ask({}, stop.signal, on);
    const { id } = await asked();
    stop.abort(new TurnAbort("stopped"));
    await expect(answer).rejects.toBeInstanceOf(TurnAbort);
    await on.sweep(Date.now() + 86_400_001);
    expect((await ledger.get("question", id))?.state).toBe("closed");
  });
});

describe("a question", () => {
  test("is shown once the service accepts messages again", async () => {
    const away = new RemoraError({ code: "platform.away", place: "platform test", message: "is down" });
    let tries = 0;
    const on = create(createInMemoryBus(silentLog), async (card) => {
      tries += 1;
      if (tries === 1) throw away;
      shown.push(card);
    });
    const answer = ask({}, never, on);
    const { id } = await asked();
    await pick(id, 1, ann, on);
    expect(await answer).toBe("live");
    expect(shown.map(({ note }) => note)).toEqual([openNote, chosenNote]);
  });

  test("of a call that runs again after a crash is the same, also if it was answered meanwhile", async () => {
    void ask().catch(() => {});
    const { id } = await asked();
    const again = ask({}, never, create());
    await expect.poll(() => shown.length).toBe(2);
    expect(shown[1]?.id).toBe(id);
    await pick(id, 1);
    expect(await again).toBe("live");
    expect(await ask({}, never, create())).toBe("live");
    expect(await ledger.list("question", {})).toHaveLength(1);
  });

  test("that nobody waits for any more is withdrawn with the end of its call", async () => {
    await ledger.create("turn", "t1", { state: "parked", body: turnRecord(), group: "test:c1" });
    void ask().catch(() => {});
    const { id } = await asked();
    await questions.sweep(Date.now());
    expect((await ledger.get("question", id))?.state).toBe("open");
    const body = { turnId: "t1", tool: "deploy_run" };
    await ledger.create("call", "t1-call1", { state: "unknown", body: body as never, group: "t1" });
    await questions.sweep(Date.now());
    expect((await ledger.get("question", id))?.state).toBe("closed");
  });

  test("that was withdrawn while its card was being posted is closed on the card", async () => {
    const on = create(createInMemoryBus(silentLog), async (card) => {
      if (card.isOpen) await ledger.transition("question", card.id, ["open"], "withdrawn");
      shown.push(card);
    });
    void ask({}, AbortSignal.timeout(60_000), on).catch(() => {});
    await expect.poll(() => shown.map(({ note }) => note)).toEqual([openNote, "Closed without an answer."]);
  });

  test("is answered by the first click of the person it is for, and its card says so", async () => {
    const answer = ask();
    const { id, options } = await asked();
    expect(options).toEqual(["staging", "live"]);
    expect(await pick(id, 1)).toMatchObject({ accepted: true });
    expect(await answer).toBe("live");
    expect(shown.at(-1)).toMatchObject({ id, isOpen: false, note: chosenNote });
    expect(await pick(id, 0)).toMatchObject({ accepted: false });
  });

  test("is nobody else's to answer, nor a bot's", async () => {
    const answer = ask();
    const { id } = await asked();
    const ben = { ...ann, id: "ben", name: "Ben" };
    expect(await pick(id, 0, ben)).toMatchObject({ accepted: false, text: expect.stringContaining("Ann") });
    expect(await pick(id, 0, { ...ann, isBot: true })).toMatchObject({ accepted: false });
    await pick(id, 0);
    expect(await answer).toBe("staging");
  });

  test("takes no option that it does not have, and no click from another conversation", async () => {
    const answer = ask();
    const { id } = await asked();
    expect(await pick(id, 2)).toMatchObject({ accepted: false });
    const elsewhere = { platform: "test", conversationId: "test:c2", questionId: id, option: 0, by: ann, at: 1 };
    expect(await questions.answer(elsewhere)).toMatchObject({ accepted: false });
    expect(await pick("unknown", 0)).toMatchObject({ accepted: false });
    await pick(id, 0);
    expect(await answer).toBe("staging");
  });

  test("is answered in another process too, also when the word of it is lost", async () => {
    const answer = ask();
    const { id } = await asked();
    expect(await pick(id, 0, ann, create(createInMemoryBus(silentLog)))).toMatchObject({ accepted: true });
    expect(await answer).toBe("staging");
  });

  test("is withdrawn when the tool stops waiting", async () => {
    const stop = new AbortController();
    const answer = ask({}, stop.signal);
    const { id } = await asked();
    stop.abort(new TurnAbort("stopped"));
    await expect(answer).rejects.toBeInstanceOf(TurnAbort);
    expect(shown.at(-1)).toMatchObject({ id, isOpen: false, note: "Closed without an answer." });
    expect(await pick(id, 0)).toMatchObject({ accepted: false });
  });

  test("that nobody waits for any more is withdrawn with the end of its turn", async () => {
    await ledger.create("turn", "t1", { state: "running", body: turnRecord(), group: "test:c1" });
    const stop = new AbortController();
    const answer = ask({}, stop.signal);
    const { id } = await asked();
    await questions.sweep(Date.now());
    expect((await ledger.get("question", id))?.state).toBe("open");
    await ledger.transition("turn", "t1", ["running"], "done");
    await questions.sweep(Date.now());
    expect((await ledger.get("question", id))?.state).toBe("closed");
    stop.abort(new TurnAbort("stopped"));
    await expect(answer).rejects.toBeInstanceOf(TurnAbort);
  });

  test("shows no secret and no invisible character", async () => {
    const answer = ask({ question: "Use hunter2\u202e now?", options: ["y\u200bes"] });
    const { id, question, options } = await asked();
    expect([question, options]).toEqual(["Use [redacted] now?", ["yes"]]);
    await pick(id, 0);
    await answer;
  });

  test.each([
    ["no options", { options: [] }, "1 to 5"],
    ["six options", { options: ["a", "b", "c", "d", "e", "f"] }, "1 to 5"],
    ["an empty option", { options: ["a", " "] }, "empty"],
    ["no text", { question: " " }, "no text"],
    ["too much text", { question: "x".repeat(1_001) }, "1001 characters"],
  ])("with %s is refused with the reason", async (_name, changes, reason) => {
    await expect(ask(changes)).rejects.toThrow(reason);
    expect(shown).toEqual([]);
  });
});

describe("a question for words and files", () => {
  const file = (name: string) => ({ name, mimeType: "text/csv", bytes: 3, source: { id: name } });
  const say = (questionId: string, text: string, names: string[] = [], by = ann) =>
    questions.answer({
      ...{ platform: "test", conversationId: "test:c1", questionId, by, at: 1 },
      said: { text, attachments: names.map(file) },
    });

  test("takes words and files of the kinds it asks for, and says what is wrong with others", async () => {
    const answer = ask({ options: { maxFiles: 2, fileTypes: [".CSV", "image", ".csv"] } });
    const { id, words, options } = await asked();
    expect({ words, options }).toEqual({ words: { maxFiles: 2, fileTypes: [".csv", "image"] }, options: [] });
    const refusals: [string, string[], string][] = [
      [" ", [], "The answer is empty. Write something, or give a file."],
      ["x".repeat(2_001), [], "The answer can have at most 2000 characters."],
      ["x", ["a.csv", "b.csv", "c.csv"], "At most 2 files can be given."],
      ["x", ["a.csv", "evil\n.exe"], "evil .exe is of another kind than was asked for: .csv, image."],
      ["x", ["csv"], "csv is of another kind than was asked for: .csv, image."],
    ];
    for (const [text, names, why] of refusals)
      expect(await say(id, text, names)).toEqual({ accepted: false, text: why });
    expect(await pick(id, 0)).toMatchObject({ accepted: false });
    expect(await say(id, "mine", [], { ...ann, id: "u2", name: "Ben" })).toMatchObject({ accepted: false });
    expect(await say(id, " all of it ", ["A.CSV", "b.jpeg"])).toMatchObject({ accepted: true });
    expect(await say(id, "again")).toMatchObject({ accepted: false });
    expect(await answer).toEqual({
      text: "all of it",
      attachments: [file("A.CSV"), file("b.jpeg")],
      messageId: `question-${id}`,
    });
    expect(shown.at(-1)?.note).toBe("Ann answered the plugin deploy in words, with 2 files.");
    // A call that runs again after a crash finds its answer.
    expect(await ask({ options: { maxFiles: 2 } }, never, create())).toMatchObject({ text: "all of it" });
  });

  test("a question with options takes no words", async () => {
    void ask().catch(() => {});
    const { id } = await asked();
    expect(await say(id, "staging")).toEqual({ accepted: false, text: "There is no such option." });
  });

  test.each([
    [{ maxFiles: 11 }],
    [{ maxFiles: -1 }],
    [{ maxFiles: 1, fileTypes: ["pdf"] }],
    [{ maxFiles: 1, fileTypes: Array.from({ length: 11 }, (_, at) => `.a${at}`) }],
    [{} as { maxFiles: number }],
    ["staging" as unknown as string[]],
  ])("a plugin that asks with the form %j is told what is wrong", async (options) => {
    await expect(ask({ options })).rejects.toMatchObject({ code: "question.invalid" });
  });
});
