/** Random commands in real views: the views, the draft, the kept folder and the undone folder all agree. */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { keepEffects } from "../../../src/sandbox/effects/keep-effects.ts";
import { readLayerChanges } from "../../../src/sandbox/effects/layer-changes.ts";
import { defaultWalkLimits } from "../../../src/sandbox/effects/limits.ts";
import { listEffects } from "../../../src/sandbox/effects/list-effects.ts";
import { applyMerge } from "../../../src/sandbox/effects/merge-layer.ts";
import { planMerge } from "../../../src/sandbox/effects/merge-plan.ts";
import { snapshotLayer } from "../../../src/sandbox/effects/snapshot-layer.ts";
import { createUndoJournal } from "../../../src/sandbox/effects/undo-journal.ts";
import { runs } from "../../faults/share.ts";
import { removeFolder } from "../remove-folder.ts";
import { createDraft, type Draft, never, openView, readTree, runScript, type Tree } from "./overlay-view.ts";

const name = fc.constantFrom("a", "b", "c", "$'\\xff'", "$'n\\nl'", "'ü %41'");
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
const text = fc.constantFrom("one", "two", "three\\nfour");
const mode = fc.constantFrom("644", "600", "755", "700", "444", "555");
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(path, text).map(([p, t]) => `mkdir -p $(dirname ${p}); [ -p ${p} ] || printf '${t}' > ${p}`),
  },
  { weight: 2, arbitrary: fc.tuple(path, text).map(([p, t]) => `[ -p ${p} ] || printf '${t}' >> ${p}`) },
  { weight: 3, arbitrary: path.map((p) => `mkdir -p ${p}`) },
  { weight: 3, arbitrary: path.map((p) => `rm -rf ${p}`) },
  { weight: 2, arbitrary: path.map((p) => `rm -rf ${p}; mkdir ${p}`) },
  { weight: 2, arbitrary: fc.tuple(path, path).map(([p, q]) => `mv -T ${p} ${q}`) },
  { weight: 1, arbitrary: fc.tuple(path, path).map(([p, q]) => `ln -s ${p} ${q}`) },
  // Leads out of base but stays in the test's folder, because commands may write through it.
  { weight: 1, arbitrary: path.map((p) => `ln -sfn ../outside ${p}`) },
  { weight: 1, arbitrary: fc.tuple(path, path).map(([p, q]) => `ln ${p} ${q}`) },
  { weight: 2, arbitrary: fc.tuple(mode, path).map(([m, p]) => `chmod ${m} ${p}`) },
  { weight: 1, arbitrary: path.map((p) => `rm -rf ${p}; printf x > ${p}`) },
  { weight: 1, arbitrary: path.map((p) => `touch ${p}; rm -f ${p}`) },
  { weight: 1, arbitrary: path.map((p) => `touch ${p}`) },
  { weight: 1, arbitrary: fc.tuple(path, path).map(([p, q]) => `cp -a ${p} ${q}`) },
  { weight: 1, arbitrary: path.map((p) => `rm -f ${p}; mkfifo ${p}`) },
);
const script = fc.array(operation, { minLength: 1, maxLength: 8 }).map((lines) => lines.join("\n"));
const scripts = fc.record({ setup: script, commands: fc.array(script, { minLength: 1, maxLength: 3 }) });

/** Base with the draft's changes applied, as this library reads them. */
async function draftPaths({ base, layer }: Draft): Promise<Record<string, string>> {
  const { changes } = await readLayerChanges({ base, layer }, defaultWalkLimits, never);
  return Object.fromEntries(changes.map(({ path, to }) => [path, to.type]));
}

async function checkKept(draft: Draft, shown: Tree): Promise<void> {
  const before = readTree(draft.base);
  const effects = await listEffects(draft, never);
  if (effects.type !== "effects") throw new Error("too large");
  const differs = JSON.stringify(sorted(before)) !== JSON.stringify(sorted(shown));
  expect(effects.effects.length > 0).toBe(differs);
  const kept = await keepEffects({ ...draft, undoFolder: draft.journal, id: "k1", expectedHash: effects.hash }, never);
  expect(kept).toMatchObject({ type: "kept", left: [] });
  expect(readTree(draft.base)).toEqual(shown);
  expect(await draftPaths(draft)).toEqual({});
  if (effects.effects.length === 0) return;
  const journal = createUndoJournal(draft.journal);
  expect((await journal.list()).map(({ id }) => id)).toEqual(["k1"]);
  expect(await journal.undo("k1", never)).toMatchObject({ type: "undone" });
  expect(readTree(draft.base)).toEqual(before);
  expect(await journal.list()).toEqual([]);
  const again = await listEffects(draft, never);
  expect(again).toMatchObject({ type: "effects", hash: effects.hash });
}

function sorted(tree: Tree): [string, string][] {
  return Object.entries(tree).toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** Removes pipes, sockets and devices from base, because the compared trees leave them out. */
const withoutPipes = "\nfind . -type p -delete";

test("what views showed is what is kept, over several commands, and undo restores base", async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async ({ setup, commands }) => {
      const draft = await createDraft(setup + withoutPipes);
      try {
        const before = readTree(draft.base);
        let shown: Tree = before;
        for (const command of commands) ({ shown } = await draft.run(command));
        expect(readTree(draft.base)).toEqual(before);
        await checkKept(draft, shown);
      } finally {
        await draft.remove();
      }
    }),
    {
      numRuns: runs(80),
      // An earlier command deleted the folder, and its contents came back with it.
      examples: [[{ setup: "mkdir b; echo 1 > b/a", commands: ["rm -rf b", "mkdir -p b/b/a"] }]],
    },
  );
}, 300_000);

test("the next view shows what the last one showed", async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async ({ setup, commands }) => {
      const draft = await createDraft(setup + withoutPipes);
      try {
        for (const command of commands) {
          const { shown } = await draft.run(command);
          const copy = join(draft.root, "copy");
          await snapshotLayer(draft.layer, copy, never);
          for (const layer of [draft.layer, copy]) {
            const scratch = join(draft.root, "look");
            const view = await openView({ base: draft.base, layer, scratch, script: ":" });
            expect(readTree(view.merged)).toEqual(shown);
            await view.close();
            await removeFolder(scratch);
          }
          await removeFolder(copy);
        }
      } finally {
        await draft.remove();
      }
    }),
    { numRuns: runs(60) },
  );
}, 300_000);

test("copied folders merge to the same drafts", async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async ({ setup, commands }) => {
      const draft = await createDraft(setup + withoutPipes);
      try {
        const merged = join(draft.root, "merged");
        execFileSync("cp", ["-a", draft.base, merged]);
        let shown: Tree = {};
        for (const command of commands) {
          await runScript(merged, command);
          const { base, layer } = draft;
          const plan = await planMerge({ merged, upper: undefined, base, layer }, never);
          if (plan.type !== "plan") throw new Error("too large");
          shown = readTree(merged);
          await applyMerge(plan, { from: merged, layer, base });
          expect(readTree(merged)).toEqual(shown);
        }
        await checkKept(draft, shown);
      } finally {
        await draft.remove();
      }
    }),
    { numRuns: runs(80) },
  );
}, 300_000);

test("a merge that was cut off anywhere is repeated", async () => {
  await fc.assert(
    fc.asyncProperty(scripts, fc.integer({ min: 0, max: 20 }), async ({ setup, commands }, cut) => {
      const draft = await createDraft(setup + withoutPipes);
      try {
        let shown: Tree = {};
        for (const [at, command] of commands.entries()) {
          const scratch = join(draft.root, `scratch-${at}`);
          mkdirSync(scratch);
          const { base, layer } = draft;
          const view = await openView({ base, layer, scratch, script: command });
          const plan = await planMerge({ merged: view.merged, upper: view.upper, base, layer }, never);
          if (plan.type !== "plan") throw new Error("too large");
          shown = readTree(view.merged);
          await view.close();
          // Apply only the first entries, as after a crash.
          await applyMerge({ ...plan, entries: plan.entries.slice(0, cut) }, { from: view.upper, layer, base });
          await applyMerge(plan, { from: view.upper, layer, base });
          await applyMerge(plan, { from: view.upper, layer, base });
        }
        await checkKept(draft, shown);
      } finally {
        await draft.remove();
      }
    }),
    { numRuns: runs(60) },
  );
}, 300_000);
