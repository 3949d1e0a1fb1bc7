/** Lists what a call would see in a working folder: the draft's layer over the real folder. */
import { codeOf } from "../../lib/errors.ts";
import { type EntryState, isWhiteout, readEntry, stampOf } from "../effects/entry-state.ts";
import { createFolderCursor, type FolderCursor, type OpenFolder, openChild, openRoot } from "../effects/open-folder.ts";
import { createPace, type Pace } from "../effects/pace.ts";
import { decodePath, joinPath, type RawPath } from "../effects/raw-path.ts";

export interface MergedFolders {
  base: string;
  /** Absent if there is no draft. */
  layer: string | undefined;
}

export interface ListedEntry {
  type: "file" | "folder" | "link" | "special";
  isInLayer: boolean;
  bytes: number;
}

export interface FolderListing {
  entries: ReadonlyMap<RawPath, ListedEntry>;
  /** The folder has more entries than are listed. */
  isCut: boolean;
}

const maxEntries = 300_000;
/** Prose, tables, pictures and archives name nothing that a program opens. */
const documents =
  /\.(?:md|mdx|rst|adoc|txt|csv|tsv|log|pdf|docx?|xlsx?|pptx?|odt|ods|png|jpe?g|gif|webp|svg|ico|mp[34]|wav|ogg|zip|gz|tgz|xz|bz2|7z|lock)$/i;

function isGitObject(path: RawPath): boolean {
  return /(?:^|\/)\.git\/objects\/(?:[\da-f]{2}\/[\da-f]{38,62}|pack\/pack-[\da-f]+\.\w+)$/.test(path);
}

export function isDocument(path: RawPath): boolean {
  return documents.test(path);
}

/** Leaves out git's objects, which are many, and whose names say what is in them. */
export async function listMerged({ base, layer }: MergedFolders): Promise<FolderListing> {
  const pace = createPace();
  const entries = new Map<RawPath, ListedEntry>();
  let isCut = false;

  async function walk(layerFolder: OpenFolder | undefined, baseFolder: OpenFolder | undefined, path: RawPath) {
    const names = new Map<string, Buffer>();
    for (const name of [...namesIn(layerFolder), ...namesIn(baseFolder)]) names.set(name.toString("latin1"), name);
    for (const [, name] of [...names].sort(([one], [other]) => (one < other ? -1 : 1))) {
      if (pace.isDue()) await pace.rest();
      const inLayer = layerFolder?.stat(name);
      const stat = inLayer ?? baseFolder?.stat(name);
      const child = joinPath(path, name);
      if (stat === undefined || (inLayer !== undefined && isWhiteout(inLayer)) || isGitObject(child)) continue;
      if (entries.size >= maxEntries) {
        isCut = true;
        return;
      }
      const type = stat.isFile() ? "file" : stat.isDirectory() ? "folder" : stat.isSymbolicLink() ? "link" : "special";
      entries.set(child, { type, isInLayer: inLayer !== undefined, bytes: Number(stat.size) });
      if (type !== "folder") continue;
      const innerLayer = inLayer === undefined ? undefined : layerFolder && tryOpen(layerFolder, name);
      const innerBase = baseFolder && tryOpen(baseFolder, name);
      try {
        await walk(innerLayer, innerBase, child);
      } finally {
        innerLayer?.close();
        innerBase?.close();
      }
    }
  }

  const baseRoot = openRoot(base, "read");
  const layerRoot = layer === undefined ? undefined : openRoot(layer, "peek");
  try {
    await walk(layerRoot, baseRoot, "");
  } finally {
    layerRoot?.close();
    baseRoot.close();
  }
  return { entries, isCut };
}

/** A folder that denies reading to the agent is closed to commands as well. */
function tryOpen(parent: OpenFolder, name: Buffer): OpenFolder | undefined {
  try {
    return openChild(parent, name);
  } catch (thrown) {
    if (codeOf(thrown) === "EACCES") return undefined;
    throw thrown;
  }
}

function namesIn(folder: OpenFolder | undefined): Buffer[] {
  try {
    return folder?.names() ?? [];
  } catch (thrown) {
    if (codeOf(thrown) === "EACCES") return [];
    throw thrown;
  }
}

export interface FoundContent {
  state: EntryState;
  whole: Buffer | undefined;
  folder: OpenFolder;
  name: Buffer;
}

export interface MergedReader {
  /** `folder` is open until the next call. Undefined if it has gone. */
  read(path: RawPath, entry: ListedEntry, maxBytes: number): Promise<FoundContent | undefined>;
  pace: Pace;
  close(): void;
}

export function createMergedReader({ base, layer }: MergedFolders): MergedReader {
  const pace = createPace();
  const inBase = createFolderCursor(base, "read");
  const inLayer: FolderCursor | undefined = layer === undefined ? undefined : createFolderCursor(layer, "peek");
  return {
    pace,
    async read(path, entry, maxBytes) {
      if (pace.isDue()) await pace.rest();
      const parts = decodePath(path);
      const name = parts.pop() as Buffer;
      const folder = (entry.isInLayer ? inLayer : inBase)?.at(parts);
      if (folder === undefined) return undefined;
      const stat = folder.stat(name);
      if (stat?.isFile() && Number(stat.size) > maxBytes) {
        const { inode, bytes, mtimeNs, ctimeNs, mode } = stampOf(stat);
        const hash = `stamp ${inode} ${bytes} ${mtimeNs} ${ctimeNs}`;
        return { state: { type: "file", mode, bytes, hash }, whole: undefined, folder, name };
      }
      const { state, content } = await readEntry(folder, name, pace);
      return state.type === "absent" ? undefined : { state, whole: content?.whole, folder, name };
    },
    close() {
      inLayer?.close();
      inBase.close();
    },
  };
}
