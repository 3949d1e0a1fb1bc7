/** Which changes are kept when a person keeps a part: those that were chosen, and those that they can't be without. */
import type { LayerChange } from "./layer-changes.ts";
import type { RawPath } from "./raw-path.ts";

/**
 * A chosen folder that is added, deleted or replaced takes along what is in it; a chosen path takes along the folders above
 * it that are new. `left` is the rest.
 */
export function selectChanges(
  changes: readonly LayerChange[],
  paths: readonly RawPath[],
): { chosen: LayerChange[]; left: LayerChange[] } {
  const chosen = new Set<RawPath>();
  const byPath = new Map(changes.map((change) => [change.path, change]));
  const asked = new Set(paths);
  for (const change of changes) {
    const above = foldersAbove(change.path);
    const isInside = above.some(
      (path) => isWhole(byPath.get(path)) && (asked.has(path) || isTakenAway(byPath, path, chosen)),
    );
    if (asked.has(change.path) || isInside) addWithFolders(change, above);
  }

  function addWithFolders(change: LayerChange, above: RawPath[]) {
    chosen.add(change.path);
    for (const path of above) {
      const folder = byPath.get(path);
      if (folder?.to.type === "folder" && folder.from.type !== "folder") chosen.add(path);
    }
  }

  // A file that becomes a folder on behalf of one path in it is replaced as a whole, but its other contents stay out.
  return {
    chosen: changes.filter(({ path }) => chosen.has(path)),
    left: changes.filter(({ path }) => !chosen.has(path)),
  };
}

function isWhole(change: LayerChange | undefined): boolean {
  return change !== undefined && change.from.type !== change.to.type;
}

/** A folder that goes has to be empty. */
function isTakenAway(byPath: Map<RawPath, LayerChange>, path: RawPath, chosen: Set<RawPath>): boolean {
  return chosen.has(path) && byPath.get(path)?.from.type === "folder";
}

function foldersAbove(path: RawPath): RawPath[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, depth) => parts.slice(0, depth + 1).join("/"));
}
