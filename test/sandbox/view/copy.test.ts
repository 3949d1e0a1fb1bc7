/** Without an overlay over the folder, commands work on a copy. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorkbench } from "./workbench.ts";

test("the copy is written at the folder's path, and is gone after close", async () => {
  const { folder, run, sandbox, scratch } = createWorkbench({ forceCopy: true });
  writeFileSync(join(folder, "old"), "old", { mode: 0o640 });
  symlinkSync("old", join(folder, "link"));
  expect(await sandbox.probe()).toMatchObject({ holds: true, layers: "copy" });
  const own = scratch();
  const { view, output } = await run("pwd; cat link; stat -c %a old; echo new > old; rm link", { scratch: own });
  expect(output).toBe(`${folder}\nold640\n`);
  expect(view.upper).toBeUndefined();
  expect(readdirSync(view.merged)).toEqual(["old"]);
  expect(readdirSync(folder).sort()).toEqual(["link", "old"]);
  expect(readFileSync(join(folder, "old"), "utf8")).toBe("old");
  await view.close();
  expect(readdirSync(own)).toEqual([]);
});

test("layers are applied to it: changes, deletions, a folder for a file and a file for a folder", async () => {
  const layered = createWorkbench();
  const { folder } = layered;
  for (const name of ["a", "b", "c"]) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "1"), name);
    writeFileSync(join(folder, name, "2"), name);
  }
  writeFileSync(join(folder, "file"), "file");
  const first = await layered.run(
    "rm -r a; rm b/1; echo changed > b/2; rm file; mkdir file; touch file/in $'bad\\xff'; rm -r c; echo c > c",
  );
  await first.view.close();
  const second = await layered.run("rm -r file; rm c; echo back > file", { layers: [first.view.upper ?? ""] });
  await second.view.close();
  const layers = [second.view.upper ?? "", first.view.upper ?? ""];
  const list = "find . | LC_ALL=C sort; cat b/2 file";
  const copied = createWorkbench({ forceCopy: true });
  const seen = await copied.run(list, { folder, layers });
  expect(seen.output).toBe((await layered.run(list, { folder, layers })).output);
  expect(seen.output).toContain("./b/2");
  expect(seen.output).not.toContain("./a");
  expect(lstatSync(join(folder, "a")).isDirectory()).toBe(true);
});

test("a folder above the limit is refused, and known not to fit before", async () => {
  const { folder, open, sandbox } = createWorkbench({
    forceCopy: true,
    copyLimits: { maxCopiedFiles: 10, maxCopiedBytes: 1_000 },
  });
  expect(await sandbox.fits(folder)).toBe(true);
  for (let index = 0; index < 11; index += 1) writeFileSync(join(folder, `f${index}`), "");
  expect(await sandbox.fits(folder)).toBe(false);
  expect(await createWorkbench().sandbox.fits(folder)).toBe(true);
  await expect(open()).rejects.toMatchObject({ code: "sandbox.folder-too-large" });
  const large = createWorkbench({ forceCopy: true, copyLimits: { maxCopiedFiles: 10, maxCopiedBytes: 1_000 } });
  writeFileSync(join(large.folder, "large"), "x".repeat(1_001));
  await expect(large.open()).rejects.toMatchObject({ code: "sandbox.folder-too-large" });
});

test("limits of what is written do not count the copy itself", async () => {
  const { folder, run } = createWorkbench({ forceCopy: true, limits: { maxLayerFiles: 5 } });
  for (let index = 0; index < 50; index += 1) writeFileSync(join(folder, `f${index}`), "");
  const few = await run("touch a b c");
  expect(few.limit).toBeUndefined();
  const many = await run("touch a b c d e f g");
  expect(many.limit).toBe("files");
});
