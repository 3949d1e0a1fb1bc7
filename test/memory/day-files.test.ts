/** Entries that come together are added without copying the text before them, and the file is the same. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createFileOrder } from "../../src/lib/file-order.ts";
import { createDayFiles, listDayFilesSync } from "../../src/memory/day-files.ts";
import type { OwnedMemory } from "../../src/memory/memory.ts";
import { ann, createMemoryFixture, episode, type MemoryFixture } from "./fixture.ts";

let fixture: MemoryFixture;
beforeEach(() => {
  fixture = createMemoryFixture();
});
afterEach(() => fixture.remove());

const at = episode().at;

test("of entries that come together, only the first of a write edits the whole text of its part", async () => {
  const days = createDayFiles(fixture.workspace, createFileOrder(fixture.workspace));
  const edit = vi.fn((current: string) => `${current === "" ? "# Day" : current.trimEnd()}\n\nentry\n`);
  const change = { kind: "episode" as const, scope: "channel:c" as const, at, edit, addition: "\n\nentry\n" };
  const paths = await Promise.all(Array.from({ length: 50 }, () => days.change(change)));
  expect(readFileSync(paths[0] ?? "", "utf8")).toBe(`# Day\n${"\nentry\n".repeat(50)}`);
  // The first write begins before the others have come.
  expect(edit.mock.calls.length).toBeLessThanOrEqual(2);
});

test("together or one by one, the files are the same", async () => {
  const step = fc.record({
    turnId: fc.constantFrom("t1", "t2", "t3", "t4"),
    text: fc.constantFrom("hello", "blank end  \n\n", "<!-- turn=t1 -->", "x".repeat(40_000)),
    kind: fc.constantFrom("episode", "line", "rated", "withdrawn"),
  });
  type Step = { turnId: string; text: string; kind: string };
  const save = async (memory: OwnedMemory, scope: "channel:a" | "channel:b", { turnId, text, kind }: Step) => {
    if (kind === "episode") return await memory.saveEpisode(episode({ turnId, scope, userText: text, response: text }));
    const line = { id: turnId, turnId, scope, at, tool: "answer", outcome: "good", by: ann, summary: text };
    const replaces = { rated: "with-this" as const, withdrawn: "with-nothing" as const }[kind];
    await memory.recordFeedback(replaces === undefined ? line : { ...line, replaces });
  };
  const textsOf = (scope: string) =>
    ["hippocampus/episodes", "basalganglia"].map((branch) =>
      listDayFilesSync(join(fixture.workspace, "brain", branch, scope)).map((path) =>
        readFileSync(path, "utf8").replaceAll(scope, "channel"),
      ),
    );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      for (const one of steps) await save(fixture.memory, "channel:a", one);
      await Promise.all(steps.map((one) => save(fixture.memory, "channel:b", one)));
      expect(textsOf("channel:b")).toEqual(textsOf("channel:a"));
      fixture.remove();
      fixture = createMemoryFixture();
    }),
    { numRuns: 40 },
  );
});
