/** Turns whose answer can't be delivered: nobody would see it, or the service accepts nothing. */
import { describe, expect, test } from "vitest";
import { workIn } from "../../src/engine/conversation/active-turns.ts";
import { runTurn } from "../../src/engine/turn/run-turn.ts";
import { TurnAbort } from "../../src/lib/abort.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import { type Log, silentLog } from "../../src/lib/log.ts";
import { replyLost } from "../../src/platforms/shared/platform-error.ts";
import { createDelivery } from "../../src/response/deliver.ts";
import { createRecordingReply } from "../doubles/recording-reply.ts";
import { toolSpec, turnRecord } from "../doubles/records.ts";
import { calls, says } from "../doubles/scripted-provider.ts";
import type { StageDoubleOptions } from "../doubles/turn-deps.ts";
import { doubles, never, run, start, useDoubles } from "./run-turn-world.ts";

useDoubles();

test.each([
  ["an answer", "done", never],
  ["that it was stopped", "stopped", AbortSignal.abort(new TurnAbort("stopped"))],
  ["nothing more, as its message is gone,", "stopped", AbortSignal.abort(new TurnAbort("withdrawn"))],
] as const)(
  "once people have seen %s, a turn that is still written to memory is no work in its conversation",
  async (_, state, signal) => {
    const work: string[] = [];
    const look = async () => void work.push(await workIn(doubles.ledger, turnRecord().conversationId));
    const reply = createRecordingReply();
    const { finish, fail } = reply;
    Object.assign(reply, {
      finish: (...shown: Parameters<typeof finish>) => look().then(() => finish(...shown)),
      fail: (...shown: Parameters<typeof fail>) => look().then(() => fail(...shown)),
    });
    const { end } = await run({ steps: [says("Hello Ann!")], saveEpisode: look, reply }, turnRecord(), signal);
    expect(end).toBe(state);
    expect(work).toEqual(["running", "none"]);
  },
);

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
    expect(direct.segments.at(-1)).toMatch(
      /^\*\(I can't write in #general: nobody would see it. So I answer here\.\)\*\n\nHello Ann!$/,
    );
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

  test("that another process may continue the reply is no warning", async () => {
    const reply = createRecordingReply();
    const lost = () => Promise.reject(replyLost("test"));
    const turn = await start({
      reply: Object.assign(reply, { write: lost, finish: lost }),
      steps: [says("Hello Ann!")],
    });
    const logged: string[] = [];
    const log: Log = { ...silentLog, info: () => logged.push("info"), warn: (_, text) => logged.push(text) };
    const deliver = async () => createDelivery({ reply, redact: (text) => text, log });
    expect(await runTurn(turn, { ...doubles.stages, log, deliver }, never)).toBe("undelivered");
    expect(new Set(logged)).toEqual(new Set(["info"]));
  });

  test("a file that the service can't take is left out after some tries", async () => {
    const reply = createRecordingReply();
    const { finish } = reply;
    reply.finish = async (text, files, footer, notes) => {
      if (files.length > 0) throw away;
      await finish(text, files, footer, notes);
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
