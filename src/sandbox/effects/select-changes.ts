/** Selects the changes that a person chose, and the changes that these depend on. */
import type { LayerChange } from "./layer-changes.ts";
import type { RawPath } from "./raw-path.ts";

/** Choosing an added, deleted or replaced folder includes its contents. Choosing a path includes new parent folders. */
export function selectChanges(
  changes: readonly LayerChange[],
  paths: readonly RawPath[],
): { chosen: LayerChange[]; left: LayerChange[] } {
  const chosen = new Set<RawPath>();
  const byPath = new Map(changes.map((change) => [change.path, change]));
  const requested = new Set(paths);
  for (const change of changes) {
    const above = foldersAbove(change.path);
    const isInside = above.some(
      (path) => isWhole(byPath.get(path)) && (requested.has(path) || isRemovedFolder(byPath, path, chosen)),
    );
    if (requested.has(change.path) || isInside) addWithFolders(change, above);
  }

  function addWithFolders(change: LayerChange, above: RawPath[]) {
    chosen.add(change.path);
    for (const path of above) {
      const folder = byPath.get(path);
      if (folder?.to.type === "folder" && folder.from.type !== "folder") chosen.add(path);
    }
  }

  return {
    chosen: changes.filter(({ path }) => chosen.has(path)),
    left: changes.filter(({ path }) => !chosen.has(path)),
  };
}

function isWhole(change: LayerChange | undefined): boolean {
  return change !== undefined && change.from.type !== change.to.type;
}

/** A folder must be empty to be removed, so its contents are removed too. */
function isRemovedFolder(byPath: Map<RawPath, LayerChange>, path: RawPath, chosen: Set<RawPath>): boolean {
  return chosen.has(path) && byPath.get(path)?.from.type === "folder";
}

function foldersAbove(path: RawPath): RawPath[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, depth) => parts.slice(0, depth + 1).join("/"));
}
