/** A folder as base and layer show it together, below what a command wrote. */
import { isWhiteout } from "./entry-state.ts";
import { type OpenFolder, openChild } from "./open-folder.ts";

/** Undefined where it is not a folder, or hidden. */
export interface LowerFolders {
  layer: OpenFolder | undefined;
  base: OpenFolder | undefined;
}

/** The same folder in layer and base, as far as it shows through. */
export function openLower(level: LowerFolders, name: Buffer): LowerFolders {
  const inLayer = level.layer?.stat(name);
  const layer = inLayer?.isDirectory() && level.layer ? openChild(level.layer, name) : undefined;
  const isCovered = inLayer !== undefined && layer === undefined;
  const isBaseFolder = !isCovered && level.base?.stat(name)?.isDirectory() === true;
  return { layer, base: isBaseFolder && level.base ? openChild(level.base, name) : undefined };
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
