/** A turn from its message to its end: answers, failures, stops and steering. */
import { describe, expect, test } from "vitest";
import { createInbox } from "../../src/engine/conversation/inbox.ts";
import { runTurn } from "../../src/engine/turn/run-turn.ts";
import { TurnAbort } from "../../src/lib/abort.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import type { Attachment } from "../../src/ports/message.ts";
import type { ModelEvent } from "../../src/ports/provider.ts";
import { failure } from "../../src/providers/classify-failure.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { calls, fails, hangs, says } from "../doubles/scripted-provider.ts";
import { keepTurn } from "../doubles/turn-deps.ts";
import { doubles, namesOf, never, run, start, useDoubles } from "./run-turn-world.ts";

useDoubles();

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

  test("an answer that broke off for good costs what the service had counted, and no estimate besides", async () => {
    const priceOf = () => ({ input: 1, output: 1_000, cacheRead: 0, cacheWrite: 0 });
    const usage = { inputTokens: 1_000, outputTokens: 0, cacheReadTokens: 500, cacheWriteTokens: 0 };
    const [cut] = fails("provider.cut", "the connection broke", true);
    const counted = { ...(cut ?? expect.fail()), used: [{ model: "scripted/one", usage }] } as ModelEvent;
    const { turn } = await run({ priceOf, steps: [[{ type: "text-delta", text: "The first half" }, counted]] });
    expect(doubles.reply.segments.at(-1)).toMatch(/^The first half\n\n⚠️/);
    expect(turn.brokenCost).toBeCloseTo(0.001, 6);
  });

  test("that broke off twice shows what was said, once", async () => {
    const cut = fails("provider.cut", "the connection broke", true);
    await run({ steps: [[{ type: "text-delta", text: "The first half" }, ...cut]] });
    expect(doubles.reply.segments.at(-1)).toMatch(/^The first half\n\n⚠️ The model could not answer: .*broke/);
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

describe("failures", () => {
  test("of the model are visible, with what was said before", async () => {
    const { end } = await run({
      tools: [toolSpec("act")],
      steps: [calls({ name: "act", text: "Let me see." }), fails("provider.overloaded", "overloaded")],
    });
    expect(end).toBe("failed");
    expect(doubles.reply.end).toBe("failed");
    expect(doubles.reply.segments.at(-1)).toMatch(
      /^Let me see\.[\s\S]*⚠️ The model could not answer: too much is asked of it/,
    );
    expect(doubles.episodes).toMatchObject([{ outcome: "failed" }]);
  });

  test("of the model are said in plain words, without the place in the code and what the service sent", async () => {
    const place = { name: "openai", model: "gpt-6-luna", baseUrl: "https://example.com/v1" };
    const settings = { keySetting: "OPENAI_API_KEY", urlSetting: "OPENAI_BASE_URL", modelSetting: "REMORA_MODEL" };
    const page = failure({ ...place, ...settings }, "serverError", { said: "500 <html>oops</html>" });
    expect(page.message).toBe("[provider openai] the service failed (`500 <html>oops</html>`); try again later");
    await run({ steps: [[{ type: "error", error: page }]] });
    expect(doubles.reply.segments.at(-1)).toBe(
      "⚠️ The model could not answer: its service failed. Please try again in a few minutes.",
    );
    const long = failure({ ...place, ...settings }, "tooLong", { said: '400 {"error":{"n_ctx":8192}}' });
    expect(long.message).toContain("lower context.tokens");
    await run({ steps: [[{ type: "error", error: long }]] });
    const sentence = "this is too long for it. Please write less, or send it in parts.";
    expect(doubles.reply.segments.at(-1)).toBe(`⚠️ The model could not answer: ${sentence}`);
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

  test.each([
    [true, "Stopped."],
    [false, "Stopped. I don't know whether `act` took effect, so check before you ask again."],
  ])("a call that leaves nothing behind (%s) needs no check", async (isContained, said) => {
    const controller = new AbortController();
    const turn = await start({
      tools: [toolSpec("act")],
      steps: [calls({ name: "act" })],
      async runTool() {
        controller.abort(new TurnAbort("stopped"));
        return { status: "interrupted" };
      },
    });
    const containment = { ...doubles.stages.containment, isContained: () => isContained };
    expect(await runTurn(turn, { ...doubles.stages, containment }, controller.signal)).toBe("stopped");
    expect(doubles.reply.segments.at(-1)).toBe(said);
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

test.each([
  ["was stopped", "stopped", ["Stopped."]],
  ["lost its message, which people see gone,", "withdrawn", [""]],
] as const)("a turn that %s before it ran ends without a step", async (_, cause, said) => {
  const { end } = await run({ steps: [] }, turnRecord(), AbortSignal.abort(new TurnAbort(cause)));
  expect(end).toBe("stopped");
  expect(doubles.reply.segments).toEqual(said);
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

describe("what comes later of the turn's own message", () => {
  const file = (name: string) => ({ name, mimeType: "text/plain", bytes: 5, text: `text of ${name}` });
  const preview = { ...file("link preview"), isPreview: true as const };

  /** A turn with two calls; `change` happens while the first one's step is about to be asked for. */
  async function runWhile(
    change: (edit: (text: string, ...files: Attachment[]) => Promise<unknown>) => Promise<unknown>,
  ) {
    const message = inboundMessage({ id: "m1", text: "hello", attachments: [file("a.txt")] });
    let steps = 0;
    const turn = await start(
      {
        tools: [toolSpec("act"), toolSpec("more")],
        steps: [calls({ name: "act" }), calls({ name: "more" }), says("Done.")],
        async takeSteering() {
          const inbox = createInbox(doubles.ledger);
          if (steps++ === 0) await change((text, ...files) => inbox.edit("test:m1", text, files));
          return [];
        },
      },
      turnRecord({ messages: [structuredClone(message)] }),
    );
    const inbox = createInbox(doubles.ledger);
    await inbox.keep(message);
    await inbox.take([message]);
    await runTurn(turn, doubles.stages, never);
    const asked = doubles.provider.requests.map(({ messages }) => JSON.stringify(messages));
    return { asked, files: turn.messages.map(({ attachments }) => attachments.map(({ name }) => name)) };
  }

  test("an edit and a file that came with it are read at the next step, once", async () => {
    const { asked, files } = await runWhile((edit) => edit("hello Ben", file("a.txt"), file("b.txt")));
    expect(asked[0]).not.toContain("hello Ben");
    for (const each of asked.slice(1))
      expect(each.split("[I have edited my message. It says now:]\\nhello Ben")).toHaveLength(2);
    expect(files).toEqual([["a.txt"], ["b.txt"]]);
  });

  test("a file alone is read, and the words are not said again", async () => {
    const { asked, files } = await runWhile((edit) => edit("hello", file("a.txt"), file("b.txt")));
    expect(asked[1]).toContain("[This came with my message a moment later.]");
    expect(files).toEqual([["a.txt"], ["b.txt"]]);
  });

  test("a preview of a link, other blanks, or the same again is no news", async () => {
    const { asked } = await runWhile(async (edit) => {
      await edit("hello", file("a.txt"), preview);
      await edit("hello ", file("a.txt"));
    });
    expect(asked[1]).not.toMatch(/a moment later|edited my message|link preview/);
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
      "I'll do it.\n\n⚠️ Something went wrong inside Remora while I worked on this. Please ask again; Details says why.",
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
