import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createWithLock } from "../../src/lib/with-lock.ts";
import type { ModelMessage, ModelRequest } from "../../src/ports/provider.ts";
import type { StepRecord, TurnRecord } from "../../src/ports/turn.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { createWorld, shares, textOfMessage, type World } from "./world.ts";

let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => world.remove());

const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const base = { stop: "end" as const, model: "m", requestedModel: "m", usage, at: 1 };

function answer(text: string): StepRecord {
  return { ...base, text, calls: [] };
}

function toolStep(result: string, inputJson = "{}"): StepRecord {
  const raw = { id: "call_1", name: "read_file", inputJson };
  const rest = { name: raw.name, attempts: 1, durationMs: 1, files: [] };
  return { ...base, text: "", calls: [{ raw, result: { callId: raw.id, status: "ok", text: result, ...rest } }] };
}

function exchange(id: string, said: string, steps: StepRecord[], changes: Partial<TurnRecord> = {}): TurnRecord {
  return turnRecord({ id, messages: [inboundMessage({ id, text: said })], steps, endedAt: 1, ...changes });
}

async function next(builder = world.builder()): Promise<ModelRequest> {
  const turn = turnRecord({ id: "next", messages: [inboundMessage({ id: "next", text: "and now?" })] });
  return (await builder.build({ turn, step: 1, tools: [], notes: [] })).request;
}

function outline(request: ModelRequest): string[] {
  return request.messages.map((message) => `${message.role}: ${textOfMessage(message).split("\n")[0]}`);
}

describe("history", () => {
  test("is what was said before, in the order in which it ended, also after a restart", async () => {
    await world.builder().remember(exchange("t1", "first", [answer("one")]));
    await world.builder().remember(exchange("t2", "second", [answer("two")]));
    const { messages } = await next();
    expect(messages.map(textOfMessage).join("\n")).toMatch(/first[\s\S]*one[\s\S]*second[\s\S]*two[\s\S]*and now\?/);
  });

  test("leaves out what a model declined to answer, and says which tools had run before", async () => {
    const ran = toolStep("secret result", '{"path":"secret.txt"}');
    const steps = [{ ...ran, calls: ran.calls.map((call) => ({ ...call, startedAt: 1 })) }];
    await world.builder().remember(exchange("t1", "the refused question", steps, { isRefused: true, failure: "No." }));
    const text = (await next()).messages.map(textOfMessage).join("\n");
    expect(text).toContain("a model declined to answer it");
    expect(text).toContain("These tools had run before: read_file.");
    expect(text).not.toMatch(/refused question|secret/);
  });

  test("says which model declined, as long as the prompt has what it declined to answer", async () => {
    const step = { ...answer("one"), insteadBecause: "provider.refused", requestedModel: "a/one", model: "b/two" };
    await world.builder().remember(exchange("t1", "first", [step]));
    expect((await next()).declinedBy).toEqual(["a/one"]);
    await world.builder().forget("test:c1");
    expect(await next()).not.toHaveProperty("declinedBy");
  });

  test("asks a model that declined first again, once what it declined to answer has left the prompt", async () => {
    const passedBy = { insteadBecause: "provider.declined-earlier", requestedModel: "a/one", model: "b/two" };
    await world.builder().remember(exchange("t1", "second", [{ ...answer("two"), ...passedBy }]));
    expect(await next()).not.toHaveProperty("declinedBy");
  });

  test("keeps what another process added while one stalled until its lock had expired", async () => {
    const held = new Map<string, AbortController>();
    const withLock = createWithLock({
      async acquire(name) {
        const lost = new AbortController();
        if (held.has(name)) return undefined;
        held.set(name, lost);
        return { signal: lost.signal, release: async () => void (held.get(name) === lost && held.delete(name)) };
      },
      close: async () => {},
    });
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let reads = 0;
    const get: World["store"]["get"] = async (key) => {
      const found = await world.store.get(key);
      reads += 1;
      if (reads > 1) return found;
      begun.resolve();
      await ended.promise;
      return found;
    };
    const stalled = world.history({ withLock, store: { ...world.store, get } }).add(exchange("t1", "first", []), []);
    await begun.promise;
    for (const [name, lost] of held) {
      held.delete(name);
      lost.abort();
    }
    await world.history({ withLock }).add(exchange("t2", "second", []), []);
    ended.resolve();
    await stalled;
    const { exchanges } = await world.history().read("test:c1", "", []);
    expect(exchanges.map(({ turnId }) => turnId)).toEqual(["t2", "t1"]);
  });

  test("has nothing of what a model wants back within a turn alone", async () => {
    const step = { ...toolStep("a result"), carry: { kind: "thinking", blocks: ["secret thought"] } };
    await world.builder().remember(exchange("t1", "first", [step, answer("one")]));
    const { messages } = await next();
    expect(messages.map(textOfMessage)).toContain("one");
    expect(JSON.stringify([messages, [...world.store.values]])).not.toContain("secret thought");
  });

  test("belongs to one conversation", async () => {
    await world.builder().remember(exchange("t1", "secret", [answer("one")], { conversationId: "test:other" }));
    expect((await next()).messages.length).toBe(2);
  });

  test("has the same turn once, as it was remembered last and where it was", async () => {
    const builder = world.builder();
    await builder.remember(exchange("t1", "first", [answer("draft")]));
    await builder.remember(exchange("t2", "second", [answer("two")]));
    await builder.remember(exchange("t1", "first", [answer("final")]));
    expect(outline(await next()).filter((line) => line.startsWith("assistant"))).toEqual([
      "assistant: final",
      "assistant: two",
    ]);
  });

  test("keeps every turn when several end at once", async () => {
    const builder = world.builder();
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => builder.remember(exchange(`t${index}`, "x", [answer("y")]))),
    );
    expect((await next()).messages.length).toBe(62);
  });

  test("a history stays as it was sent until it outgrows its limit; then its older half goes at once, and older results become stubs", async () => {
    const result = `begin ${"line of a file\n".repeat(100)} end`;
    const builder = world.builder({ history: world.history({ maxTokens: 4_000 }) });
    let before: ModelMessage[] = [];
    let cuts = 0;
    for (let index = 0; index < 24; index++) {
      const { messages } = await next(builder);
      const sent = messages.slice(0, -2);
      const isLonger = JSON.stringify(sent).startsWith(JSON.stringify(before).slice(0, -1));
      if (!isLonger) {
        cuts += 1;
        const results = sent.filter((message) => message.role === "tool").map(({ text }) => text);
        expect(results.at(-1)).toContain(result);
        for (const older of results.slice(0, -1)) {
          expect(older.length).toBeLessThan(450);
          expect(older).toContain("an old result; call the tool again if you need it");
        }
      }
      before = sent;
      await builder.remember(exchange(`t${index}`, "read", [toolStep(result), answer("done")]));
    }
    expect(cuts).toBeGreaterThan(1);
    expect(cuts).toBeLessThan(6);
  });

  test("numbers calls, so that ids are unique, although a small server gives the same ones in each turn", async () => {
    const builder = world.builder();
    await builder.remember(exchange("t1", "read", [toolStep("one"), answer("done")]));
    await builder.remember(exchange("t2", "read", [toolStep("two"), answer("done")]));
    const ids = (await next()).messages.flatMap((message) => (message.role === "tool" ? [message.callId] : []));
    expect(ids).toEqual(["call00001", "call00002"]);
  });

  test("keeps arguments valid JSON, however they were written and however long they are", async () => {
    const inputs = [
      `{"text":"${"x".repeat(90_000)}"}`,
      '{"broken',
      "[1]",
      "",
      `{${Array.from({ length: 30_000 }, (_, n) => `"k${n}":${n}`)}}`,
    ];
    const builder = world.builder();
    for (const [index, input] of inputs.entries()) {
      await builder.remember(exchange(`t${index}`, "go", [toolStep("ok", input), answer("done")]));
    }
    const calls = (await next()).messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
    expect(calls.length).toBe(5);
    for (const call of calls) {
      expect(JSON.parse(call.inputJson)).toBeTypeOf("object");
      expect(call.inputJson.length).toBeLessThan(30_000);
    }
  });

  test("says how a turn without an answer ended", async () => {
    const builder = world.builder();
    await builder.remember(exchange("t1", "go", [toolStep("ok")], { failure: "Stopped." }));
    await builder.remember(exchange("t2", "go", [answer("half")], { failure: "The model went away." }));
    expect((await next()).messages.map(textOfMessage).join("\n")).toMatch(
      /\[This turn ended without an answer: Stopped\.\][\s\S]*half\n\n\[The model went away\.\]/,
    );
  });

  test("never trims the last exchange, even alone over the budget, and drops older ones whole", async () => {
    const config = { contextTokens: 2_000, shares, maxOutputTokens: 100 };
    const builder = world.builder({ config });
    await builder.remember(exchange("t1", "old", [answer("gone")]));
    const long = "a long question ".repeat(1_000).trim();
    await builder.remember(exchange("t2", long, [answer("kept answer")]));
    const { messages } = await next(builder);
    expect(messages.map(textOfMessage).slice(1, 3)).toEqual([long, "kept answer"]);
    expect(messages.length).toBe(5);
  });

  test("a stored history is bounded, whatever is said", async () => {
    const builder = world.builder();
    for (let index = 0; index < 130; index++) {
      await builder.remember(exchange(`t${index}`, "x".repeat(20_000), [answer("y")]));
    }
    expect(Math.max(...[...world.store.values.values()].map((value) => value.length))).toBeLessThan(450_000);
  });

  test("keeps no images, and of attached text as much as of a result", async () => {
    const turn = exchange("t1", "look", [answer("seen")]);
    turn.messages[0]?.attachments.push(
      { name: "a.png", mimeType: "image/png", bytes: 3, imageBase64: "IMAGEBYTES" },
      { name: "b.txt", mimeType: "text/plain", bytes: 3, text: `ATTACHED ${"x".repeat(90_000)}` },
    );
    await world.builder().remember(turn);
    const stored = [...world.store.values.values()].join("");
    expect(stored).not.toContain("IMAGEBYTES");
    expect(stored.length).toBeLessThan(30_000);
    const text = textOfMessage((await next()).messages[0]);
    expect(text).toContain('<attachment name="a.png"');
    expect(text).toContain("ATTACHED");
  });

  test("keeps the paths of files, and reads entries of versions that had none", async () => {
    const turn = exchange("t1", "look", [answer("seen")]);
    const path = "inbox/local-m1/a.csv";
    turn.messages[0]?.attachments.push(
      { name: "a.csv", mimeType: "text/csv", bytes: 3, path, summary: "3 COLUMNS" },
      { name: "old.txt", mimeType: "text/plain", bytes: 3 },
    );
    await world.builder().remember(turn);
    const text = textOfMessage((await next()).messages[0]);
    expect(text).toContain(
      `<attachment name="a.csv" type="text/csv" bytes="3" path="${path}" shown="as a summary">\n3 COLUMNS`,
    );
    expect(text).toContain('<attachment name="old.txt" type="text/plain" bytes="3" shown="no"/>');
  });

  test("starts anew after forget, and after a silence when that is set", async () => {
    const builder = world.builder();
    await builder.remember(exchange("t1", "first", [answer("one")], { endedAt: 1_000 }));
    const seenAt = (now: number) => world.builder({ history: world.history({ idleMs: 5_000, now: () => now }) });
    expect((await next(seenAt(6_000))).messages.length).toBe(5);
    expect((await next(seenAt(6_001))).messages.length).toBe(2);
    await builder.forget("test:c1");
    expect((await next(builder)).messages.length).toBe(2);
  });

  test.each([["a word"], [{ version: 2 }], [{ version: 1, exchanges: [{ turnId: 1 }] }], [null]])(
    "that is not readable (%j) starts anew and heals",
    async (stored) => {
      await world.store.set("history:test:c1", stored);
      expect((await next()).messages.length).toBe(2);
      await world.builder().remember(exchange("t1", "first", [answer("one")]));
      expect((await next()).messages.length).toBe(5);
    },
  );
});
