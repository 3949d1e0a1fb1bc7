/** Copies a layer for a background job. Folders are new; files are shared by hard links. */
import { chmodSync, mkdirSync } from "node:fs";
import { rename } from "node:fs/promises";
import { copyEntry, tryLink } from "./copy-entry.ts";
import { isWhiteout, modeOf } from "./entry-state.ts";
import { type OpenFolder, openChild, openRoot } from "./open-folder.ts";
import { createPace } from "./pace.ts";
import { removeTree } from "./remove-tree.ts";
import { createWhiteoutMaker } from "./whiteout.ts";

/** Atomic. `to` must be on the layer's file system. Afterwards, replace the layer's files but never write to them. */
export async function snapshotLayer(layer: string, to: string, signal: AbortSignal): Promise<void> {
  const pace = createPace(signal);
  const partial = `${to}.partial`;
  const scratch = `${to}.whiteout`;
  for (const folder of [partial, scratch]) {
    await removeTree(folder);
    mkdirSync(folder, { mode: 0o700 });
  }
  const whiteouts = createWhiteoutMaker(scratch);

  async function copy(from: OpenFolder, target: OpenFolder) {
    for (const name of from.names()) {
      if (pace.isDue()) await pace.rest();
      const stat = from.stat(name);
      if (stat === undefined) continue;
      if (!stat.isDirectory()) {
        if (!tryLink(from.path(name), target.path(name))) {
          if (isWhiteout(stat)) await whiteouts.make(target.path(name));
          else await copyEntry({ folder: from, name }, target.path(name));
        }
        continue;
      }
      mkdirSync(target.path(name), { mode: 0o700 });
      const [inner, innerTarget] = [openChild(from, name), openChild(target, name)];
      try {
        if (inner !== undefined && innerTarget !== undefined) await copy(inner, innerTarget);
      } finally {
        inner?.close();
        innerTarget?.close();
      }
      chmodSync(target.path(name), modeOf(stat));
    }
  }

  const [from, target] = [openRoot(layer, "peek"), openRoot(partial, "read")];
  try {
    await copy(from, target);
    await rename(partial, to);
  } finally {
    from.close();
    target.close();
    await removeTree(scratch);
    await removeTree(partial);
  }
}
