/** A folder as base and layer show it together, below what a command wrote. */
import { isWhiteout } from "./entry-state.ts";
import { type OpenFolder, openChild } from "./open-folder.ts";

/** Undefined where it is not a folder. */
export interface LowerFolders {
  layer: OpenFolder | undefined;
  base: OpenFolder | undefined;
}

/**
 * The same folder in layer and base, for one that is a folder above them. Base counts even where the layer covers it with a
 * deletion or a file: once the layer has a folder there, what is in base shows through again unless it is deleted by name.
 */
export function openLower({ layer, base }: LowerFolders, name: Buffer): LowerFolders {
  return { layer: layer && openChild(layer, name), base: base && openChild(base, name) };
}

/** What layer and base show together in one folder. */
export function lowerNames({ layer, base }: LowerFolders): Buffer[] {
  const inLayer = layer?.names() ?? [];
  const covered = new Set(inLayer.map((name) => name.toString("latin1")));
  const fromBase = (base?.names() ?? []).filter((name) => !covered.has(name.toString("latin1")));
  const fromLayer = inLayer.filter((name) => {
    const stat = layer?.stat(name);
    return stat !== undefined && !isWhiteout(stat);
  });
  return [...fromLayer, ...fromBase].sort(Buffer.compare);
}
