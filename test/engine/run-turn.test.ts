import { afterEach, describe, expect, test } from "vitest";
import { runTurn } from "../../src/engine/turn/run-turn.ts";
import { TurnAbort } from "../../src/lib/abort.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import type { ModelEvent } from "../../src/ports/provider.ts";
import { createRecordingReply } from "../doubles/recording-reply.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { calls, fails, hangs, says } from "../doubles/scripted-provider.ts";
import { createStageDoubles, keepTurn, type StageDoubleOptions, type StageDoubles } from "../doubles/turn-deps.ts";

const never = new AbortController().signal;
let doubles: StageDoubles;
afterEach(() => doubles.close());

async function start(options: StageDoubleOptions, turn = turnRecord()) {
  doubles = createStageDoubles(options);
  return await keepTurn(doubles.ledger, turn);
}

async function run(options: StageDoubleOptions, turn = turnRecord(), signal = never) {
  const kept = await start(options, turn);
  const end = await runTurn(kept, doubles.stages, signal);
  return { end, turn: kept };
}

const namesOf = () => doubles.events.map((event) => event.name);

describe("an answer without tools", () => {
  test("is shown, remembered, and ends the turn", async () => {
    const { end } = await run({ steps: [says("Hello Ann!")] });
    expect(end).toBe("done");
    expect(doubles.reply).toMatchObject({ segments: ["Hello Ann!"], end: "finished" });
    expect(doubles.episodes).toMatchObject([{ userText: "hello", response: "Hello Ann!", outcome: "done" }]);
    expect((await doubles.ledger.get("turn", "t1"))?.state).toBe("done");
    expect(namesOf()).toEqual(["context.built", "llm.request", "llm.response", "turn.finished"]);
  });

  test("that is empty is a visible failure", async () => {
    const { end } = await run({ steps: [says("")] });
    expect(end).toBe("failed");
    expect(doubles.reply.segments.at(-1)).toMatch(/answer/);
  });

  test("of another model than the first says which one it was", async () => {
    await run({ steps: [says("Hi.", "other/two")] });
    expect(doubles.reply.segments.at(-1)).toBe("Hi.\n\n*(answered by other/two)*");
  });

  test("says why another model answered, once in a conversation until the first one is back", async () => {
    const instead = (text: string, insteadBecause: string): ModelEvent[] =>
      says(text, "other/two").map((event) => (event.type === "end" ? { ...event, insteadBecause } : event));
    const steps = [
      instead("One.", "provider.wrong-key"),
      instead("Two.", "provider.wrong-key"),
      instead("Three.", "provider.no-credit"),
      says("Four."),
      instead("Five.", "provider.no-credit"),
    ];
    const turn = await start({ steps });
    const answers: (string | undefined)[] = [];
    for (const [index] of steps.entries()) {
      const next = index === 0 ? turn : await keepTurn(doubles.ledger, turnRecord({ id: `t${index + 1}` }));
      await runTurn(next, doubles.stages, never);
      answers.push(doubles.reply.segments.at(-1));
    }
    expect(answers).toEqual([
      "One.\n\n*(answered by other/two, because the key for scripted/one was refused)*",
      "Two.",
      "Three.\n\n*(answered by other/two, because the account for scripted/one has no credit left)*",
      "Four.",
      "Five.\n\n*(answered by other/two, because the account for scripted/one has no credit left)*",
    ]);
  });

  test("that broke off and began again reads as one answer, and the broken one counts as used", async () => {
    const priceOf = () => ({ input: 1, output: 1_000, cacheRead: 0, cacheWrite: 0 });
    const { turn } = await run({
      priceOf,
      steps: [
        [
          { type: "text-delta", text: "The first half" },
          { type: "restart", model: "scripted/one" },
          ...says("All of it."),
        ],
      ],
    });
    expect(doubles.reply.segments).toEqual(["All of it."]);
    expect(doubles.episodes).toMatchObject([{ response: "All of it." }]);
    expect(turn.brokenCost).toBeGreaterThan(0);
  });

  test("that broke off twice shows what was said, once", async () => {
    const cut = fails("provider.cut", "the connection broke", true);
    await run({ steps: [[{ type: "text-delta", text: "The first half" }, ...cut]] });
    expect(doubles.reply.segments.at(-1)).toMatch(/^The first half\n\n⚠️ The model could not answer: .*broke/);
  });
});

describe("where nobody would see it any more", () => {
  const closed = () => {
    const reply = createRecordingReply();
    const noRoute = async () => {
      throw new RemoraError({ code: "platform.no-route", place: "platform test", message: "nobody would see it" });
    };
    return Object.assign(reply, { ask: noRoute, finish: noRoute, fail: noRoute });
  };

  test("an answer goes to the requester as a direct message", async () => {
    const direct = createRecordingReply();
    const { end } = await run({ steps: [says("Hello Ann!")], reply: closed(), direct });
    expect(end).toBe("done");
    expect(direct.segments.at(-1)).toMatch(/^\*\(I can't write where you asked.*\)\*\n\nHello Ann!$/);
  });

  test("and by direct message neither, the turn ends and says why on the dashboard", async () => {
    const { end } = await run({ steps: [says("Hello Ann!")], reply: closed(), direct: closed() });
    expect(end).toBe("failed");
    const entry = await doubles.ledger.get("turn", "t1");
    expect(entry).toMatchObject({ state: "failed", body: { failure: expect.stringContaining("nobody would see it") } });
  });
});

describe("while the service accepts nothing", () => {
  const away = new RemoraError({
    code: "platform.away",
    place: "platform test",
    message: "is down",
    isRetryable: true,
  });
  const refusingFirst = (method: "finish" | "fail" | "ask") => {
    const reply = createRecordingReply();
    const accepted = reply[method] as (...args: unknown[]) => Promise<void>;
    let tries = 0;
    reply[method] = (async (...args: unknown[]) => {
      tries += 1;
      if (tries < 3) throw away;
      await accepted(...args);
    }) as never;
    return reply;
  };

  async function runThrice(options: StageDoubleOptions) {
    const turn = await start(options);
    const ends = [];
    for (let round = 0; round < 3; round += 1) {
      const entry = await doubles.ledger.get("turn", turn.id);
      ends.push(await runTurn(entry?.body ?? turn, doubles.stages, never));
      if (round < 2) expect(entry?.state).toBe("running");
    }
    return ends;
  }

  test("an answer is kept, and delivered later without asking the model again", async () => {
    const ends = await runThrice({ steps: [says("Hello Ann!")], reply: refusingFirst("finish") });
    expect(ends).toEqual(["undelivered", "undelivered", "done"]);
    expect(doubles.reply).toMatchObject({ segments: ["Hello Ann!"], end: "finished" });
    expect(doubles.provider.requests).toHaveLength(1);
    expect(doubles.episodes).toHaveLength(1);
    expect((await doubles.ledger.get("turn", "t1"))?.body).not.toHaveProperty("undelivered");
  });

  test("a file that the service can't take is left out after some tries", async () => {
    const reply = createRecordingReply();
    const { finish } = reply;
    reply.finish = async (text, files, footer) => {
      if (files.length > 0) throw away;
      await finish(text, files, footer);
    };
    const file = { name: "chart.png", mimeType: "image/png", path: "/nowhere/chart.png" };
    const steps = [calls({ name: "act" }), says("Here it is.")];
    const turn = await start({ reply, steps, tools: [toolSpec("act")], runTool: async () => ({ files: [file] }) });
    const ends: string[] = [];
    while (ends.at(-1) !== "done" && ends.length < 20) {
      const kept = (await doubles.ledger.get("turn", turn.id))?.body ?? turn;
      ends.push(await runTurn(kept, doubles.stages, never));
    }
    expect(ends).toEqual([...Array.from({ length: 5 }, () => "undelivered"), "done"]);
    expect(reply.segments.at(-1)).toBe("Here it is.\n\n*(I could not attach `chart.png`.)*");
    expect(doubles.ran).toHaveLength(1);
  });

  test("after a day, the turn ends, so that it holds up nobody", async () => {
    const reply = createRecordingReply();
    reply.finish = () => Promise.reject(away);
    const turn = await start({ reply, steps: [says("Hello Ann!")] });
    expect(await runTurn(turn, doubles.stages, never)).toBe("undelivered");
    const kept = (await doubles.ledger.get("turn", turn.id))?.body ?? turn;
    const aged = { since: Date.now() - 25 * 3_600_000, tries: 1_500, because: "is down" };
    expect(await runTurn({ ...kept, undelivered: aged }, doubles.stages, never)).toBe("failed");
    const ended = await doubles.ledger.get("turn", turn.id);
    expect(ended).toMatchObject({ state: "failed", body: { failure: expect.stringContaining("for a day") } });
  });

  test("a failure is kept too, and the model is not asked again", async () => {
    const ends = await runThrice({ steps: [says("")], reply: refusingFirst("fail") });
    expect(ends).toEqual(["undelivered", "undelivered", "failed"]);
    expect(doubles.reply.segments.at(-1)).toMatch(/answer/);
    expect(doubles.provider.requests).toHaveLength(1);
  });
});

describe("tool calls", () => {
  const tools = [toolSpec("look", { isReadOnly: true }), toolSpec("act")];

  test("run in the model's order, and the model reads their results", async () => {
    const { end } = await run({
      tools,
      steps: [
        calls({ name: "act", input: { text: "1" } }, { id: "b", name: "act", input: { text: "2" } }),
        says("Did both."),
      ],
    });
    expect(end).toBe("done");
    expect(doubles.ran.map((job) => [job.id, job.call.input.text])).toEqual([
      ["t1-call-1", "1"],
      ["t1-b", "2"],
    ]);
    expect(doubles.provider.requests[1]?.messages.slice(-2)).toMatchObject([{ text: "ran act" }, { text: "ran act" }]);
    expect(doubles.feedback.map((entry) => entry.outcome)).toEqual(["ok", "ok"]);
  });

  test("a turn without tools leaves its outcome as feedback, once, and without words of anybody", async () => {
    for (const [steps, outcome] of [
      [[says("Hello, I am here.")], "done"],
      [[says("")], "failed"],
      // A call that never ran leaves no line of its own.
      [[calls({ name: "unknown_tool" }), says("Hello, that is no tool.")], "done"],
    ] as const) {
      await run({ tools, steps: [...steps] });
      const [line, ...more] = doubles.feedback;
      expect(line).toMatchObject({ tool: "turn without tools", outcome, id: `t1:${outcome}`, turnId: "t1" });
      expect(more).toEqual([]);
      expect(JSON.stringify(line)).not.toMatch(/Hello/);
      expect(line).not.toHaveProperty("by");
    }
  });

  test("with pictures: the newest eight stay in the record until the turn ends, and none in the call's record", async () => {
    const image = { mimeType: "image/png", base64: "AAAA" };
    const names = ["a", "b", "c", "d"];
    doubles = createStageDoubles({
      tools,
      steps: [...names.map((id) => calls({ id, name: "act" })), says("Drawn.")],
      async runTool({ id, call }) {
        const before = (await doubles.ledger.get("turn", "t1"))?.body.steps ?? [];
        const kept = before.flatMap((step) => step.calls.map(({ result }) => result?.images?.length ?? 0));
        if (call.id === "d") expect(kept).toEqual([0, 3, 3, 0]);
        const result = {
          callId: call.id,
          name: "act",
          status: "ok" as const,
          text: "a chart",
          attempts: 1,
          durationMs: 1,
        };
        const body = { turnId: "t1", callId: call.id, name: "act", attempts: 1, startedAt: 1 };
        const done = { ...result, files: [], images: [image, image, image] };
        await doubles.ledger.create("call", id, { state: "done", body: { ...body, result: done }, group: "t1" });
        return { text: "a chart", images: [image, image, image] };
      },
    });
    const turn = await keepTurn(doubles.ledger, turnRecord());
    expect(await runTurn(turn, doubles.stages, never)).toBe("done");
    const stored = JSON.stringify(await doubles.ledger.get("turn", "t1"));
    expect(stored).not.toContain("AAAA");
    expect(stored.split("no longer shown")).toHaveLength(names.length + 1);
    expect(JSON.stringify(await doubles.ledger.list("call", { group: "t1" }))).not.toContain("AAAA");
  });

  test("that only read run side by side; one that acts waits for those before it", async () => {
    const order: string[] = [];
    let release = () => {};
    const bothStarted = new Promise<void>((resolve) => {
      release = resolve;
    });
    await run({
      tools,
      steps: [calls({ id: "a", name: "look" }, { id: "b", name: "look" }, { id: "c", name: "act" }), says("Done.")],
      async runTool(job) {
        order.push(`start ${job.call.id}`);
        if (job.call.id === "b") release();
        if (job.call.name === "look") await bothStarted;
        order.push(`end ${job.call.id}`);
        return {};
      },
    });
    expect(order.slice(0, 2)).toEqual(["start a", "start b"]);
    expect(order.slice(-2)).toEqual(["start c", "end c"]);
  });

  test("with malformed arguments or unknown names never run; the model reads why", async () => {
    await run({
      tools,
      steps: [calls({ id: "a", name: "act", inputJson: '{"text": ' }, { id: "b", name: "nothing" }), says("Sorry.")],
    });
    expect(doubles.ran).toEqual([]);
    const results = doubles.provider.requests[1]?.messages.filter((message) => message.role === "tool");
    expect(results).toMatchObject([{ isError: true }, { isError: true }]);
  });

  test("are taken away after eight steps, so that there is always an answer", async () => {
    const { turn } = await run({
      tools,
      steps: [
        ...Array.from({ length: 8 }, (_, index) => calls({ id: `c${index}`, name: "act" })),
        says("That is how far I got."),
      ],
    });
    const last = doubles.provider.requests.at(-1);
    expect(doubles.provider.requests).toHaveLength(9);
    expect(last?.tools).toEqual([]);
    expect(last?.system[0]?.text).toContain("used up");
    expect(turn.steps).toHaveLength(9);
    expect(doubles.reply.segments.at(-1)).toContain("That is how far I got.");
  });

  test("beyond 32 in one step are not run, and the model is told to ask for them in the next step", async () => {
    const asked = Array.from({ length: 40 }, (_, index) => calls({ id: `c${index}`, name: "act" }));
    const oneStep = [
      ...asked.flatMap((events) => events.filter(({ type }) => type === "tool-call")),
      ...calls({ id: "last", name: "act" }).filter(({ type }) => type === "end"),
    ];
    const { turn } = await run({ tools, steps: [oneStep, says("The first ones are done.")] });
    expect(doubles.ran).toHaveLength(32);
    const results = turn.steps[0]?.calls.map(({ result }) => result);
    expect(results?.slice(0, 32).every((result) => result?.status === "ok")).toBe(true);
    expect(results?.slice(32)).toEqual(
      Array.from({ length: 8 }, () =>
        expect.objectContaining({
          status: "invalid",
          text: "Too many tool calls in one step: 40 calls, and at most 32 run. Make the other calls in the next step.",
        }),
      ),
    );
  });

  test("that the model makes although it has no tools any more are not run", async () => {
    await run({
      tools,
      limits: { steps: 1 },
      steps: [calls({ name: "act" }), calls({ id: "again", name: "act", text: "One more thing." })],
    });
    expect(doubles.ran).toHaveLength(1);
    expect(doubles.reply.segments.at(-1)).toContain("One more thing.");
  });
});

describe("what a provider wants back with an answer", () => {
  const carry = { kind: "test", blocks: ["a thought"] };
  const carrying = (events: ModelEvent[]) =>
    events.map((event) => (event.type === "end" ? { ...event, carry } : event));

  test("is in the journal with the calls it led to, and not with the answer that ends the turn", async () => {
    const { turn } = await run({
      tools: [toolSpec("act")],
      steps: [carrying(calls({ name: "act" })), carrying(says("Done."))],
    });
    expect(turn.steps.map((step) => step.carry)).toEqual([carry, undefined]);
    expect((await doubles.ledger.get("turn", "t1"))?.body.steps[0]?.carry).toEqual(carry);
  });
});

describe("the gate", () => {
  const tools = [toolSpec("act")];

  test("blocks: the call does not run, and the model reads that it was blocked and by which skill", async () => {
    await run({ tools, judge: () => "block", steps: [calls({ name: "act" }), says("It was blocked.")] });
    expect(doubles.ran).toEqual([]);
    expect(doubles.provider.requests[1]?.messages.at(-1)).toMatchObject({
      text: expect.stringContaining("Blocked by the safety rules of rules"),
    });
    expect(doubles.feedback).toMatchObject([{ outcome: "blocked" }]);
    expect(namesOf()).toContain("safety.blocked");
  });

  test("takes the tools away after three refusals in a turn", async () => {
    const steps = Array.from({ length: 3 }, (_, index) => calls({ id: `c${index}`, name: "act" }));
    await run({ tools, judge: () => "block", steps: [...steps, says("I stop trying.")] });
    expect(doubles.provider.requests.map((request) => request.tools.length)).toEqual([1, 1, 1, 0]);
  });
});

describe("failures", () => {
  test("of the model are visible, with what was said before", async () => {
    const { end } = await run({
      tools: [toolSpec("act")],
      steps: [calls({ name: "act", text: "Let me see." }), fails("provider.overloaded", "overloaded")],
    });
    expect(end).toBe("failed");
    expect(doubles.reply.end).toBe("failed");
    expect(doubles.reply.segments.at(-1)).toMatch(/^Let me see\.[\s\S]*⚠️ The model could not answer: .*overloaded/);
    expect(doubles.episodes).toMatchObject([{ outcome: "failed" }]);
  });

  test("of the memory are a line below the answer, which counts as done", async () => {
    const { end } = await run({
      steps: [says("Here it is.")],
      saveEpisode: () => Promise.reject(new Error("permission denied")),
    });
    expect(end).toBe("done");
    expect(doubles.reply.end).toBe("finished");
    expect(doubles.reply.segments.at(-1)).toBe(
      "Here it is.\n\n*(I could not save this to memory. The log has the details.)*",
    );
  });

  test.each([
    ["ENOSPC", "My disk is full, so I won't remember this."],
    ["EMFILE", "I have too many files open, so I won't remember this."],
  ])("of the memory with %s are said in plain words", async (code, words) => {
    const full = Object.assign(new Error(code), { code });
    const cause = new RemoraError({ code: "memory.unwritable", place: "memory /srv", message: "no", cause: full });
    await run({ steps: [says("Here it is.")], saveEpisode: () => Promise.reject(cause) });
    expect(doubles.reply.segments.at(-1)).toBe(`Here it is.\n\n*(${words})*`);
  });

  test("of one part of the memory wait for the other parts, which are written at the same time", async () => {
    const [place, message] = ["leases redis://here", "gave no answer for 5 s"];
    const away = new RemoraError({ code: "storage.unreachable", place, message, isRetryable: true });
    const turn = await start({ steps: [says("Here it is.")], saveEpisode: () => Promise.reject(away) });
    const begun = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    const remember = () => {
      begun.resolve();
      return written.promise;
    };
    const stages = { ...doubles.stages, context: { ...doubles.stages.context, remember } };
    let end: string | undefined;
    const running = runTurn(turn, stages, never).then((is) => {
      end = is;
    });
    await begun.promise;
    await new Promise((resolve) => setImmediate(resolve));
    expect(end).toBeUndefined();
    written.resolve();
    await running;
    expect(end).toBe("suspended");
  });

  test("of the memory that pass with Redis leave the turn as it is, and a new run ends it without a word of them", async () => {
    const [place, message] = ["leases redis://here", "gave no answer for 5 s"];
    const away = new RemoraError({ code: "storage.unreachable", place, message, isRetryable: true });
    let tries = 0;
    const { end, turn } = await run({
      steps: [says("Here it is.")],
      saveEpisode: () => (++tries === 1 ? Promise.reject(away) : Promise.resolve()),
    });
    expect(end).toBe("suspended");
    const kept = await doubles.ledger.get("turn", turn.id);
    expect(kept?.state).toBe("running");
    expect(await runTurn(kept?.body ?? turn, doubles.stages, never)).toBe("done");
    expect(doubles.reply.segments).toEqual(["Here it is."]);
    expect(doubles.episodes).toMatchObject([{ response: "Here it is.", outcome: "done" }]);
  });

  test.each([
    ["longer than the limit", "x".repeat(1_001), "1,001 characters"],
    ["of control characters only", "\u0000\u0007\u200b \n", "no readable text"],
  ])("a message %s is refused with a reason, without asking the model", async (_name, text, reason) => {
    const { end } = await run({ steps: [] }, turnRecord({ messages: [inboundMessage({ text })] }));
    expect(end).toBe("failed");
    expect(doubles.reply.segments.at(-1)).toContain(reason);
  });

  test("a message of only emoji is answered", async () => {
    const { end } = await run({ steps: [says("👋")] }, turnRecord({ messages: [inboundMessage({ text: "🎉🎉" })] }));
    expect(end).toBe("done");
  });
});

describe("stop", () => {
  test("in mid-stream ends the turn at once, and what was said stays", async () => {
    const controller = new AbortController();
    const turn = await start({ steps: [hangs({ type: "text-delta", text: "I was about to" })] });
    const ended = runTurn(turn, doubles.stages, controller.signal);
    await expect.poll(() => doubles.reply.segments.at(-1)).toBe("I was about to");
    controller.abort(new TurnAbort("stopped"));
    expect(await ended).toBe("stopped");
    expect(doubles.reply.segments.at(-1)).toBe("I was about to\n\nStopped.");
    expect((await doubles.ledger.get("turn", "t1"))?.state).toBe("stopped");
  });

  test("because the process goes down leaves the turn running in the ledger, and a new run finishes it", async () => {
    const controller = new AbortController();
    const turn = await start({ steps: [hangs(), says("After the restart.")] });
    const ended = runTurn(turn, doubles.stages, controller.signal);
    await expect.poll(() => doubles.provider.requests.length).toBe(1);
    controller.abort(new TurnAbort("shutdown"));
    expect(await ended).toBe("suspended");
    const kept = await doubles.ledger.get("turn", "t1");
    expect(kept?.state).toBe("running");
    expect(await runTurn(kept?.body ?? turn, doubles.stages, never)).toBe("done");
    expect(doubles.reply.segments).toEqual(["After the restart."]);
  });
});

test("a turn that was stopped before it ran ends without a step", async () => {
  const { end } = await run({ steps: [] }, turnRecord(), AbortSignal.abort(new TurnAbort("stopped")));
  expect(end).toBe("stopped");
  expect(doubles.reply.segments.at(-1)).toBe("Stopped.");
});

describe("steering", () => {
  test("what is said meanwhile is read at the next step", async () => {
    let said = [inboundMessage({ id: "m2", text: "and be quick" })];
    await run({
      tools: [toolSpec("act")],
      steps: [calls({ name: "act" }), says("Quickly done.")],
      async takeSteering() {
        const now = doubles.ran.length > 0 ? said : [];
        if (now.length > 0) said = [];
        return now;
      },
    });
    expect(doubles.provider.requests[1]?.messages[0]).toMatchObject({ content: [{ text: "hello\nand be quick" }] });
  });
});

describe("when something of ours breaks in the middle", () => {
  const tools = [toolSpec("act")];

  async function breakWith(thrown: Error) {
    const cancelled: [string, string | undefined][] = [];
    const turn = await start({
      tools,
      steps: [calls({ id: "a", name: "act", text: "I'll do it." })],
      judge: () => "confirm",
      approvals: {
        open: () => Promise.reject(thrown),
        cancel: async (id, reason) => void cancelled.push([id, reason]),
      },
    });
    return { end: await runTurn(turn, doubles.stages, never), cancelled };
  }

  test("the turn ends as failed, below what was said, with what to do; nothing of it can be approved any more", async () => {
    const full = new RemoraError({ code: "x", place: "TASK-1.md", message: "the disk is full. Free some space" });
    const { end, cancelled } = await breakWith(full);
    expect(end).toBe("failed");
    expect(doubles.reply.end).toBe("failed");
    expect(doubles.reply.segments.at(-1)).toBe(
      "I'll do it.\n\n⚠️ I could not do this: [TASK-1.md] the disk is full. Free some space",
    );
    expect((await doubles.ledger.get("turn", "t1"))?.state).toBe("failed");
    expect(cancelled).toEqual([["t1", "the turn failed"]]);
  });

  test.each([
    ["ENOSPC", "My disk is full, so I can't work on this now."],
    ["EMFILE", "I have too many files open, so I can't work on this now."],
  ])("%s is said in plain words", async (code, words) => {
    await breakWith(Object.assign(new Error(`${code}: no path is shown, open '/srv/secret'`), { code }));
    expect(doubles.reply.segments.at(-1)).toContain(words);
    expect(doubles.reply.segments.at(-1)).not.toContain("/srv/secret");
  });

  test("an error that says nothing to people is left to the log", async () => {
    await breakWith(new TypeError("undefined is not a function"));
    expect(doubles.reply.segments.at(-1)).toContain("Something went wrong");
    expect(doubles.reply.segments.at(-1)).not.toContain("undefined");
  });
});
