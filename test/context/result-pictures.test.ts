/** Pictures of tool results in the prompt: what they cost, which go first, and what is left of them in history. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createRuntimeClock } from "../../src/context/sections.ts";
import { shortenTranscript } from "../../src/context/shorten.ts";
import { imageTokens } from "../../src/context/tokens.ts";
import { messageTokens, renderTranscript, transcriptOf } from "../../src/context/transcript.ts";
import type { ModelMessage } from "../../src/ports/provider.ts";
import type { StepRecord } from "../../src/ports/turn.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { createWorld, textOfMessage, type World } from "./world.ts";

const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

function step(name: string, text: string, pictures: number): StepRecord {
  const raw = { id: `call_${name}`, name, inputJson: "{}" };
  const images = Array.from({ length: pictures }, (_, index) => ({ mimeType: "image/png", base64: `${name}${index}` }));
  const shown = pictures === 0 ? {} : { images };
  const result = { callId: raw.id, name, status: "ok" as const, text, attempts: 1, durationMs: 1, files: [], ...shown };
  return { text: "", calls: [{ raw, result }], stop: "tool-calls", model: "m", requestedModel: "m", usage, at: 1 };
}

const rendered = (steps: StepRecord[]) => transcriptOf(turnRecord({ steps }));

const clock = createRuntimeClock();

function picturesIn(messages: readonly ModelMessage[]): string[] {
  return messages.flatMap((message) =>
    message.role === "tool" ? (message.images ?? []).map(({ base64 }) => base64) : [],
  );
}

test("a picture counts as much as a picture that a person sent", () => {
  const tokens = (pictures: number) => messageTokens(renderTranscript(rendered([step("draw", "a chart", pictures)])));
  expect(tokens(2) - tokens(0)).toBe(2 * imageTokens);
});

test("older pictures are left out first, then texts are cut, and the newest picture stays", () => {
  const steps = [step("a", "x ".repeat(900), 1), step("b", "y ".repeat(900), 1), step("c", "a chart", 1)];
  const whole = messageTokens(renderTranscript(rendered(steps)));
  const at = (limit: number) => {
    const { transcript, notes } = shortenTranscript(rendered(steps), clock, limit);
    const messages = renderTranscript(transcript);
    return {
      pictures: picturesIn(messages),
      texts: messages.filter(({ role }) => role !== "user").map(textOfMessage),
      notes,
    };
  };
  expect(at(whole - 100)).toMatchObject({
    pictures: ["c0"],
    notes: ["step 1: pictures are left out", "step 2: pictures are left out"],
  });
  const both = at(whole - imageTokens - 100);
  expect(both.pictures).toEqual(["c0"]);
  expect(both.texts[1]).toContain("x ".repeat(900).trim());
  expect(both.texts[1]).toContain("Its picture is no longer shown. Call the tool again if you need it.");
  const least = at(imageTokens + 500);
  expect(least.pictures).toEqual(["c0"]);
  expect(least.texts.join()).not.toContain("x ".repeat(900));
});

test("whatever fits or not, a picture is either shown or its text says that it is not, and the estimate goes down", () => {
  const anyStep = fc.record({ text: fc.string({ maxLength: 3_000 }), pictures: fc.nat({ max: 3 }) });
  const anySteps = fc.array(anyStep, { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(anySteps, fc.integer({ min: 0, max: 12_000 }), (made, limit) => {
      const steps = made.map(({ text, pictures }, index) => step(`s${index}`, text, pictures));
      const before = renderTranscript(rendered(steps));
      const messages = renderTranscript(shortenTranscript(rendered(steps), clock, limit).transcript);
      expect(messageTokens(messages)).toBeLessThanOrEqual(Math.max(limit, messageTokens(before)));
      for (const [index, { pictures }] of made.entries()) {
        const message = messages.find((each) => each.role === "tool" && each.name === `s${index}`);
        if (message?.role !== "tool") throw new Error("a result is missing");
        if (pictures === 0) expect(message.images).toBeUndefined();
        else if (message.images === undefined) expect(message.text).toContain("no longer shown");
        else expect(message.images).toHaveLength(pictures);
      }
    }),
  );
});

let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => world.remove());

test("the next turn reads in place of the picture that it is no longer shown, and the history stores none", async () => {
  const builder = world.builder();
  await builder.remember(turnRecord({ id: "t0", endedAt: 1, steps: [step("draw", "a chart", 2)] }));
  const turn = turnRecord({ id: "t1", messages: [inboundMessage({ id: "m2", text: "and now?" })] });
  const { request } = await builder.build({ turn, step: 1, tools: [], notes: [] });
  expect(picturesIn(request.messages)).toEqual([]);
  expect(request.messages.map(textOfMessage).join()).toContain("Its picture is no longer shown");
  expect(JSON.stringify([...world.store.values])).not.toContain("draw0");
});

test("the snapshot names the picture by size and hash", async () => {
  const turn = turnRecord({ steps: [step("draw", "a chart", 1)] });
  const { snapshotPath } = await world.builder().build({ turn, step: 2, tools: [], notes: [] });
  const text = await readFile(join(world.workspace, snapshotPath), "utf8");
  expect(text).toMatch(/a chart[\s\S]*image image\/png, 5 base64 characters, sha256 [0-9a-f]{16}/);
  expect(text).not.toContain("draw0");
});
