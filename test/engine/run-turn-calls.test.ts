/** The tool calls of a turn, and what the gate does to them. */
import { describe, expect, test } from "vitest";
import { runTurn } from "../../src/engine/turn/run-turn.ts";
import { notKeptText } from "../../src/ports/ephemeral.ts";
import { originOf } from "../../src/ports/origin.ts";
import { toolSpec, turnRecord } from "../doubles/records.ts";
import { calls, says } from "../doubles/scripted-provider.ts";
import type { StageDoubleOptions } from "../doubles/turn-deps.ts";
import { doubles, namesOf, never, run, start, useDoubles } from "./run-turn-world.ts";

useDoubles();

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

  test("what may not be stored is searched for again after a restart, and gone when the turn ends, with the thoughts about it", async () => {
    const lost = { callId: "c", name: "look", status: "ok" as const, attempts: 1, durationMs: 1, files: [] };
    const result = { ...lost, text: notKeptText, isEphemeral: true as const };
    const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const models = { model: "scripted/one", requestedModel: "scripted/one" };
    const raw = { id: "c", name: "look", inputJson: "{}" };
    const call = { id: "c", name: "look", input: {} };
    for (const isHeld of [false, true]) {
      const step = {
        text: "",
        calls: [{ raw, call, result }],
        carry: ["a thought"],
        stop: "tool-calls" as const,
        usage,
        at: 1,
      };
      const turn = await start(
        { tools, steps: [says("Here it is.")], runTool: async () => result },
        turnRecord({ steps: [{ ...step, ...models }] }),
      );
      const dropped: string[] = [];
      doubles.stages.ephemeral = { get: () => (isHeld ? "found" : undefined), drop: (key) => void dropped.push(key) };
      expect(await runTurn(turn, doubles.stages, never)).toBe("done");
      expect(doubles.ran.map(({ id }) => id)).toEqual(isHeld ? [] : ["t1-c-again-1"]);
      expect(dropped).toEqual(["result:t1-"]);
      expect(JSON.stringify(await doubles.ledger.get("turn", "t1"))).not.toContain("a thought");
    }
  });

  test("with pictures: the newest eight stay in the record until the turn ends, and none in the call's record", async () => {
    const image = { mimeType: "image/png", base64: "AAAA" };
    const names = ["a", "b", "c", "d"];
    const { end } = await run({
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
    expect(end).toBe("done");
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

  test("may not be made after eight steps, so that there is always an answer", async () => {
    const { turn } = await run({
      tools,
      steps: [
        ...Array.from({ length: 8 }, (_, index) => calls({ id: `c${index}`, name: "act" })),
        says("That is how far I got."),
      ],
    });
    const last = doubles.provider.requests.at(-1);
    expect(doubles.provider.requests).toHaveLength(9);
    expect(last).toMatchObject({ mayCall: false, tools: doubles.provider.requests[0]?.tools });
    expect(last?.system[0]?.text).toContain("used up");
    expect(turn.steps).toHaveLength(9);
    expect(doubles.reply.segments.at(-1)).toContain("That is how far I got.");
  });

  test("that are all that a model says after its steps are used up end the turn with a sentence that says so", async () => {
    const { end } = await run({
      tools,
      steps: Array.from({ length: 9 }, (_, index) => calls({ id: `c${index}`, name: "act" })),
    });
    expect(end).toBe("failed");
    expect(doubles.ran).toHaveLength(8);
    expect(doubles.reply.segments.at(-1)).toContain(
      "I used all 8 steps of one request, and the model ended without an answer. Say “continue”, and I go on.",
    );
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
    expect(doubles.provider.requests.map(({ mayCall }) => mayCall)).toEqual([undefined, undefined, undefined, false]);
    // The same tools, so that the service still has the prompt in its cache.
    expect(doubles.provider.requests.map((request) => request.tools.length)).toEqual([1, 1, 1, 1]);
  });

  test("refused calls that may come from what others wrote don't end the person's task, and the steps still end the turn", async () => {
    const refused = (count: number) =>
      Array.from({ length: count }, (_, index) => calls({ id: `c${index}`, name: "act" }));
    const page = { origins: [originOf("web", "example.com")] };
    const options: Partial<StageDoubleOptions> = {
      tools: [...tools, toolSpec("look", { isReadOnly: true })],
      judge: (tool) => (tool === "act" ? "block" : "safe"),
      runTool: async ({ call }) => (call.name === "look" ? page : {}),
    };
    const own = calls({ id: "own", name: "save" });
    const withSave = { ...options, tools: [...(options.tools ?? []), toolSpec("save")] };
    await run({ ...withSave, steps: [calls({ name: "look" }), ...refused(4), own, says("Saved.")] });
    expect(doubles.ran.map(({ call }) => call.name)).toEqual(["look", "save"]);
    await run({ ...options, steps: [calls({ name: "look" }), ...refused(7), says("I stop trying.")] });
    expect(doubles.provider.requests.map(({ mayCall }) => mayCall).at(-1)).toBe(false);
  });

  test("runs no call of a step that may not call, although the model makes one", async () => {
    const steps = Array.from({ length: 3 }, (_, index) => calls({ id: `c${index}`, name: "act" }));
    const judge = () => (doubles.provider.requests.length <= 3 ? ("block" as const) : ("safe" as const));
    const { end, turn } = await run({
      tools,
      judge,
      steps: [...steps, calls({ id: "d", name: "act", text: "I stop." })],
    });
    expect(end).toBe("done");
    expect(doubles.ran).toEqual([]);
    expect(turn.steps.at(-1)).toMatchObject({ text: "I stop.", calls: [] });
  });
});
