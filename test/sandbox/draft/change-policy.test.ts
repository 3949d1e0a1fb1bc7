import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DraftEnd, DraftRecord } from "../../../src/ports/draft.ts";
import { type ChangePolicy, decide } from "../../../src/sandbox/draft/change-policy.ts";
import { countFiles } from "../../../src/sandbox/draft/lost-files.ts";
import type { Effect } from "../../../src/sandbox/effects/effect.ts";
import { listEffects } from "../../../src/sandbox/effects/list-effects.ts";

let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "remora-policy-"));
});
afterEach(() => rm(base, { recursive: true, force: true }));

const defaults: ChangePolicy = { own: "keep", given: "ask" };

interface Case {
  kind?: "own" | "given";
  end?: DraftEnd;
  deleted?: number;
  changed?: number;
  isLarge?: boolean;
  changedBase?: string[];
  policy?: Partial<ChangePolicy>;
}

/** The effects of an empty layer with these deletions, because the decision needs no contents. */
async function decided({ kind = "own", end = "done", deleted = 0, changed = 1, ...more }: Case) {
  const layer = await mkdtemp(join(tmpdir(), "remora-layer-"));
  const none = await listEffects({ base, layer }, new AbortController().signal);
  await rm(layer, { recursive: true });
  if (none.type !== "effects") throw new Error("an empty layer is too large");
  const draft: DraftRecord = {
    ...{ id: "d1", platform: "test", conversationId: "test:c1", scope: "channel:c1", folder: base, kind },
    ...{ turnIds: ["t1"], createdAt: 1, changedAt: 1 },
  };
  const { isLarge = false, changedBase = [], policy = {} } = more;
  const totals = { ...none.totals, deleted, changed };
  const effects = Array.from({ length: deleted }, (_, number) => deletedFile(`${number % 2 ? "" : "sub/"}${number}`));
  const autorun: ReadonlySet<string> = new Set();
  const decision = await decide(
    { draft, effects: { ...none, effects, totals, isLarge }, autorun, end, changedBase },
    { ...defaults, ...policy },
  );
  return decision.type === "keep" ? "keep" : decision.why;
}

function deletedFile(path: string): Effect {
  const empty = { bytes: 0, previousBytes: 1, files: 1, notes: [], isBinary: false };
  return { path, raw: path, action: "deleted", type: "file", ...empty };
}

async function files(count: number): Promise<void> {
  await mkdir(join(base, "sub"));
  for (let index = 0; index < count; index += 1) await writeFile(join(base, index % 2 ? "." : "sub", `${index}`), "");
}

describe("the conversation's own folder", () => {
  test.each<[string, Case, string | RegExp]>([
    ["a change", {}, "keep"],
    ["a change, with own: ask", { policy: { own: "ask" } }, /Nothing in the working folder changes until/],
    ["a change, with given: keep", { policy: { given: "keep" } }, "keep"],
    ["more than the limit", { isLarge: true }, /too large to keep without asking/],
    ["a turn that was stopped", { end: "stopped" }, /The turn was stopped, so nothing was kept/],
    ["a turn that failed", { end: "failed" }, /The turn failed, so nothing was kept/],
    ["a file that somebody else changed", { changedBase: ["a", "b", "c", "d"] }, /changed a, b, c in the meantime/],
  ])("%s", async (_what, given, expected) => {
    expect(await decided(given)).toEqual(typeof expected === "string" ? expected : expect.stringMatching(expected));
  });

  test.each([
    [1, 1, "keep"],
    [2, 4, "keep"],
    [3, 5, "This deletes or empties more than half of the folder."],
    [20, 40, "keep"],
    [21, 100, "This deletes or empties more than 20 files."],
  ])("%i of %i files deleted: %s", async (deleted, count, expected) => {
    await files(count);
    expect(await decided({ deleted })).toBe(expected);
  });
});

describe("a folder that people configured", () => {
  test.each<[string, Case, string | RegExp]>([
    ["a change", {}, /Nothing in remora-policy-\w+ changes until somebody approves/],
    ["a change, with given: keep", { policy: { given: "keep" } }, "keep"],
    ["a change, with own: ask", { policy: { own: "ask" } }, /until somebody approves/],
    ["many deletions, with given: keep", { policy: { given: "keep" }, deleted: 21 }, /more than 20 files/],
    ["a stopped turn, with given: keep", { policy: { given: "keep" }, end: "stopped" }, /nothing was kept/],
  ])("%s", async (_what, given, expected) => {
    const decision = await decided({ kind: "given", ...given });
    expect(decision).toEqual(typeof expected === "string" ? expected : expect.stringMatching(expected));
  });
});

test("a large folder is not counted to its end, and links are not followed", async () => {
  await files(30);
  expect(await countFiles(base, 1_000)).toBe(30);
  expect(await countFiles(base, 10)).toBe(11);
  expect(await countFiles(join(base, "missing"), 10)).toBe(0);
});
