/** The combined view of a folder in base and layer, without the command's own writes. */
import { isWhiteout } from "./entry-state.ts";
import { type OpenFolder, openChild } from "./open-folder.ts";

export interface LowerFolders {
  layer: OpenFolder | undefined;
  base: OpenFolder | undefined;
}

/** Opens base even if the layer has a deletion or file there, because base shows through after the merge. */
export function openLower({ layer, base }: LowerFolders, name: Buffer): LowerFolders {
  return { layer: layer && openChild(layer, name), base: base && openChild(base, name) };
}

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

export function isInLower({ layer, base }: LowerFolders, name: Buffer): boolean {
  const stat = layer?.stat(name);
  return stat === undefined ? base?.stat(name) !== undefined : !isWhiteout(stat);
}
