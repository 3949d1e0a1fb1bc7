/** Changes by people and other turns are detected; our own earlier attempts are not mistaken for them. */
import { linkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { findChangedBase, stampBase } from "../../../src/sandbox/effects/base-stamps.ts";
import { keepEffects } from "../../../src/sandbox/effects/keep-effects.ts";
import { listEffects } from "../../../src/sandbox/effects/list-effects.ts";
import { recoverKeeps } from "../../../src/sandbox/effects/recover-keeps.ts";
import { createDraft, type Draft, never } from "./overlay-view.ts";

let draft: Draft | undefined;
afterEach(async () => {
  await draft?.remove();
});

test("a keep that was cut off before it changed anything is no change of the files", async () => {
  draft = await createDraft("echo 1 > a; echo 2 > b; mkdir c; echo 3 > c/d");
  await draft.run("echo 11 > a; rm b; echo 33 > c/d");
  const folders = { base: draft.base, layer: draft.layer };
  const listed = await listEffects(folders, never);
  if (listed.type !== "effects") throw new Error("the draft is small");
  const paths = listed.effects.map(({ raw }) => raw);
  const stamps = await stampBase(draft.base, paths, never);
  const onStep = (step: string) => {
    if (step === "staged") throw new Error("the process died here");
  };
  const options = { ...folders, undoFolder: draft.journal, id: "cut-off", expectedHash: listed.hash, onStep };
  await expect(keepEffects(options, never)).rejects.toThrow("the process died here");
  await recoverKeeps(draft.journal);
  expect(await findChangedBase(draft.base, stamps, never)).toEqual([]);
});

test("a backup that links the files is none either; writing to one is", async () => {
  draft = await createDraft("echo 1 > a; echo 2 > b");
  const stamps = await stampBase(draft.base, ["a", "b"], never);
  linkSync(join(draft.base, "a"), join(draft.root, "backup"));
  expect(await findChangedBase(draft.base, stamps, never)).toEqual([]);
  writeFileSync(join(draft.base, "b"), "3\n");
  utimesSync(join(draft.base, "b"), 1, 1);
  expect(await findChangedBase(draft.base, stamps, never)).toEqual(["b"]);
});
