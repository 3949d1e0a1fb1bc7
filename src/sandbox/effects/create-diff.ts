/** Creates the unified diff of a draft in git's format, deletions first. */
import { formatBytes } from "../../lib/text/format-bytes.ts";
import type { Effect, Effects } from "./effect.ts";
import { type EntryState, type FoundEntry, readEntry } from "./entry-state.ts";
import type { FileContent } from "./file-content.ts";
import type { DraftFolders } from "./layer-changes.ts";
import { diffLines, maxDiffLines, splitLines } from "./line-diff.ts";
import { createFolderCursor, type FolderCursor } from "./open-folder.ts";
import { createPace, type Pace } from "./pace.ts";
import { decodePath } from "./raw-path.ts";
import { formatHunks } from "./unified-hunks.ts";

export interface DiffLimits {
  maxTextLength: number;
  maxFileLines: number;
  maxLineLength: number;
  maxMs: number;
}

export interface EffectsDiff {
  /** Lines are as in the files. Whoever shows them must escape hidden characters. */
  text: string;
  isCut: boolean;
}

const defaultDiffLimits: DiffLimits = {
  maxTextLength: 256 * 1024,
  maxFileLines: 2_000,
  maxLineLength: 1_000,
  maxMs: 2_000,
};

/** Reads the files again. Approvals must use the hash of `effects` so that keeping fails if a file has changed. */
export async function createDiff(
  { base, layer }: DraftFolders,
  { effects }: Pick<Effects, "effects">,
  signal: AbortSignal,
  limits: DiffLimits = defaultDiffLimits,
): Promise<EffectsDiff> {
  const pace = createPace(signal);
  const cursors = { base: createFolderCursor(base, "peek"), layer: createFolderCursor(layer, "peek") };
  const end = performance.now() + limits.maxMs;
  const parts: string[] = [];
  let length = 0;
  let isCut = false;
  try {
    for (const [at, effect] of effects.entries()) {
      if (pace.isDue()) await pace.rest();
      const diff = await effectDiff(cursors, effect, performance.now() < end ? limits : undefined, pace);
      isCut ||= diff.isCut;
      const room = limits.maxTextLength - length;
      if (diff.text.length > room) {
        const left = effects.length - at - 1;
        const more = left > 0 ? `… and ${left} more paths\n` : "";
        return { text: `${parts.join("")}${cutAtLine(diff.text, room)}… cut here\n${more}`, isCut: true };
      }
      parts.push(diff.text);
      length += diff.text.length;
    }
  } finally {
    cursors.base.close();
    cursors.layer.close();
  }
  return { text: parts.join(""), isCut };
}

async function effectDiff(
  cursors: { base: FolderCursor; layer: FolderCursor },
  effect: Effect,
  limits: DiffLimits | undefined,
  pace: Pace,
): Promise<EffectsDiff> {
  const from = effect.action === "added" ? undefined : await readAt(cursors.base, effect, pace);
  const to = effect.action === "deleted" ? undefined : await readAt(cursors.layer, effect, pace);
  const head = diffHead(effect, from?.state, to?.state);
  const [before, after] = [entryText(from), entryText(to)];
  if (before === after && from?.state.type === to?.state.type) return { text: head, isCut: false };
  if ((before === "" && to === undefined) || (after === "" && from === undefined)) return { text: head, isCut: false };
  if (effect.isBinary) return { text: `${head}Binary file ${sizes(effect)}\n`, isCut: false };
  if (before === undefined || after === undefined || limits === undefined || isTooLong(from) || isTooLong(to)) {
    return { text: `${head}File ${sizes(effect)}: too large to compare\n`, isCut: true };
  }
  const hunks = formatHunks(diffLines(splitLines(before), splitLines(after)), limits);
  const name = (prefix: string, entry: FoundEntry | undefined) =>
    entry === undefined || entry.state.type === "folder" ? "/dev/null" : gitName(prefix, effect);
  const names = hunks.text === "" ? "" : `--- ${name("a", from)}\n+++ ${name("b", to)}\n`;
  return { text: `${head}${names}${hunks.text}`, isCut: hunks.isCut };
}

async function readAt(cursor: FolderCursor, effect: Effect, pace: Pace): Promise<FoundEntry | undefined> {
  const parts = decodePath(effect.raw);
  const name = parts.pop() as Buffer;
  const folder = cursor.at(parts);
  const entry = folder && (await readEntry(folder, name, pace));
  return entry?.state.type === "absent" ? undefined : entry;
}

/** Git shows a link as a line of text without a line break. */
function entryText(entry: FoundEntry | undefined): string | undefined {
  if (entry === undefined || entry.state.type === "folder" || entry.state.type === "special") return "";
  if (entry.state.type === "link") return entry.state.target;
  return entry.content?.whole?.toString("utf8");
}

function isTooLong(entry: FoundEntry | undefined): boolean {
  const content: FileContent | undefined = entry?.content;
  return content !== undefined && content.lines > maxDiffLines;
}

function diffHead(effect: Effect, from: EntryState | undefined, to: EntryState | undefined): string {
  const lines = [`diff --git ${gitName("a", effect)} ${gitName("b", effect)}`];
  if (from === undefined && to !== undefined) lines.push(`new ${kindAndMode(to)}`);
  else if (to === undefined && from !== undefined) lines.push(`deleted ${kindAndMode(from)}`);
  else if (from !== undefined && to !== undefined && kindAndMode(from) !== kindAndMode(to)) {
    lines.push(`old ${changedMode(from)}`, `new ${changedMode(to)}`);
  }
  for (const note of effect.notes) if (note.includes("not kept")) lines.push(`note: ${note}`);
  return `${lines.join("\n")}\n`;
}

function kindAndMode(state: EntryState): string {
  switch (state.type) {
    case "file":
      return `file mode 100${octal(state.mode & 0o777)}`;
    case "folder":
      return `folder mode 040${octal(state.mode & 0o777)}`;
    case "link":
      return "file mode 120000";
    case "special":
      return "socket, pipe or device";
    case "absent":
      return "nothing";
    default:
      return state satisfies never;
  }
}

/** Omits the type, because git shows it only for added and deleted files. */
function changedMode(state: EntryState): string {
  return kindAndMode(state).replace(/^(file|folder) /, "");
}

function octal(mode: number): string {
  return mode.toString(8).padStart(3, "0");
}

function gitName(prefix: string, { path }: Effect): string {
  const name = `${prefix}/${path}`;
  return /["\\]/.test(name) ? `"${name.replaceAll('"', '\\"')}"` : name;
}

function sizes({ action, previousBytes, bytes }: Effect): string {
  if (action === "deleted") return `deleted, ${formatBytes(previousBytes)}`;
  if (action === "added") return `added, ${formatBytes(bytes)}`;
  return `changed, ${formatBytes(previousBytes)} → ${formatBytes(bytes)}`;
}

function cutAtLine(text: string, length: number): string {
  return text.slice(0, text.lastIndexOf("\n", length) + 1);
}
