/**
 * Runs scenarios that need their own process: as an ordinary user, on a small file system, or to be killed. Prints JSON.
 *
 *   node draft-child.ts user
 *   node draft-child.ts full <folder on the small file system> <setup script> <command>
 *   node draft-child.ts keep <base> <layer> <journal> <hash> <id>
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { keepEffects } from "../../../src/sandbox/effects/keep-effects.ts";
import { listEffects } from "../../../src/sandbox/effects/list-effects.ts";
import { discardLayer } from "../../../src/sandbox/effects/remove-tree.ts";
import { createUndoJournal } from "../../../src/sandbox/effects/undo-journal.ts";
import { createDraft, type Draft, never, readTree } from "./overlay-view.ts";

const [scenario, ...given] = process.argv.slice(2) as [string, ...string[]];

async function keep(draft: Pick<Draft, "base" | "layer" | "journal">, id: string) {
  const effects = await listEffects(draft, never);
  if (effects.type !== "effects") throw new Error("too large");
  const options = { ...draft, undoFolder: draft.journal, id, expectedHash: effects.hash };
  return { effects, result: await keepEffects(options, never) };
}

async function asUser() {
  const setup = "mkdir -p open/inner closed shut; echo 1 > open/f; echo 2 > closed/f; chmod 555 closed";
  const draft = await createDraft(setup);
  const before = readTree(draft.base);
  const script = `mkdir secret; echo s > secret/s; chmod 000 secret
    echo u > unreadable; chmod 000 unreadable
    chmod 755 closed; echo 3 > closed/f; echo new > closed/g; chmod 555 closed
    rm -rf open/inner; mkdir open/inner; chmod 300 open/inner`;
  const { plan } = await draft.run(script);
  // Again, over what is unreadable now.
  await draft.run("chmod 700 secret; echo t > secret/t; chmod 000 secret");
  const { effects, result } = await keep(draft, "k1");
  const modes = Object.fromEntries(
    plan.entries.flatMap((entry) => ("mode" in entry ? [[entry.path, entry.mode]] : [])),
  );
  const keptModes = modesOf(draft.base);
  const undo = await createUndoJournal(draft.journal).undo("k1", never);
  const isBack = JSON.stringify(readTree(draft.base)) === JSON.stringify(before);
  await discardLayer(draft.layer);
  await draft.remove();
  return { paths: effects.effects.map(({ raw }) => raw), modes, keptModes, result, undo, isBack };
}

function modesOf(base: string) {
  const stat = (name: string) => process.getBuiltinModule("node:fs").lstatSync(join(base, name)).mode & 0o777;
  return { secret: stat("secret"), unreadable: stat("unreadable"), closed: stat("closed"), inner: stat("open/inner") };
}

async function onFullDisk(folder: string, setup: string, command: string) {
  const draft = await createDraft(setup, { base: join(folder, "base") });
  await draft.run(command);
  const before = JSON.stringify(readTree(draft.base));
  const { result } = await keep(draft, "k1");
  const isUnchanged = JSON.stringify(readTree(draft.base)) === before;
  const entries = await createUndoJournal(draft.journal).list();
  rmSync(draft.root, { recursive: true });
  return { result, isUnchanged, entries };
}

async function run(): Promise<unknown> {
  const [one = "", two = "", three = "", four = "", five = ""] = given;
  if (scenario === "user") return asUser();
  if (scenario === "full") return onFullDisk(one, two, three);
  return keepEffects({ base: one, layer: two, undoFolder: three, expectedHash: four, id: five }, never);
}

console.log(JSON.stringify(await run()));
