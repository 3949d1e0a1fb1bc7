/** The smaller context for a model that refuses the prompt as too long. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { estimateTokens } from "../../src/context/tokens.ts";
import type { ModelRequest } from "../../src/ports/provider.ts";
import type { StepRecord, TurnRecord } from "../../src/ports/turn.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { createWorld, textOfMessage, type World } from "./world.ts";

let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => world.remove());

const at = Date.UTC(2026, 10, 21, 8, 0);
const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

function turnOf(id: string, text: string, steps: StepRecord[]): TurnRecord {
  return turnRecord({ id, messages: [inboundMessage({ id: `m-${id}`, text, at })], startedAt: at, steps });
}

function step(text: string, callId?: string, result = ""): StepRecord {
  const raw = { id: callId ?? "", name: "look", inputJson: "{}" };
  const base = { callId: raw.id, name: "look", status: "ok" as const, attempts: 1, durationMs: 1, files: [] };
  const calls =
    callId === undefined
      ? []
      : [{ raw, call: { id: callId, name: "look", input: {} }, result: { ...base, text: result } }];
  const stop = callId === undefined ? ("end" as const) : ("tool-calls" as const);
  return { text, calls, stop, model: "test/model", requestedModel: "test/model", usage, at, seenMessages: 1 };
}

const tokensOf = (request: ModelRequest) => estimateTokens(JSON.stringify([request.system, request.messages]));

test("keeps the system prompt, the newest messages and this turn's results, and drops old exchanges", async () => {
  world.write("brain/prefrontal/identity.md", "You are Remora.");
  const builder = world.builder();
  for (let index = 0; index < 12; index += 1)
    await builder.remember(turnOf(`h${index}`, `old question ${index}`, [step(`answer ${index} `.repeat(400))]));
  const turn = turnOf("t1", "the newest question", [
    step("first", "c1", `small result`),
    step("second", "c2", `a long result, line by line\n`.repeat(600)),
  ]);
  const tools = [toolSpec("look")];
  const built = await builder.build({ turn, step: 3, tools, notes: [] });
  const shorter = built.shorter?.();
  if (shorter === undefined) throw new Error("no shorter request");

  expect(shorter.system[0]).toEqual(built.request.system[0]);
  expect(shorter.tools).toEqual(tools);
  const text = shorter.messages.map(textOfMessage).join("\n");
  for (const kept of ["the newest question", "small result", "a long result"]) expect(text).toContain(kept);
  expect(built.request.messages.map(textOfMessage).join("\n")).toContain("old question 5");
  expect(text).not.toContain("old question 5");
  const [results, calls] = [
    shorter.messages.flatMap((message) => (message.role === "tool" ? message.callId : [])),
    shorter.messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls.map(({ id }) => id) : [])),
  ];
  expect([results, calls]).toEqual([
    ["call00001", "call00002"],
    ["call00001", "call00002"],
  ]);
  expect(tokensOf(shorter)).toBeLessThan(tokensOf(built.request) * 0.65);
  // The same every time, so that a retry after a crash asks the same.
  expect(built.shorter?.()).toEqual(shorter);
  expect(tokensOf(built.shorter?.(2_000) ?? shorter)).toBeLessThan(tokensOf(shorter));

  builder.flush();
  const folder = join(world.workspace, "brain/prefrontal/.debug");
  const snapshots = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  expect(snapshots.join("\n")).toContain("asked again with half the tokens");
});

test("a model that takes less gets a request that fits, with the question, and one that takes enough the whole request", async () => {
  world.write("brain/prefrontal/identity.md", "You are Remora.");
  const builder = world.builder();
  for (let index = 0; index < 12; index += 1)
    await builder.remember(turnOf(`h${index}`, `old question ${index}`, [step(`answer ${index} `.repeat(400))]));
  const built = await builder.build({ turn: turnOf("t1", "the newest question", []), step: 1, tools: [], notes: [] });
  expect(built.fitting?.(built.estimatedTokens)).toBe(built.request);
  const fitting = built.fitting?.(2_500) ?? expect.fail("no request that fits");
  expect(tokensOf(fitting)).toBeLessThan(2_750);
  const text = fitting.messages.map(textOfMessage).join("\n");
  expect(text).toContain("the newest question");
  expect(text).toContain("old question 11");
  expect(text).not.toContain("old question 5");
});
