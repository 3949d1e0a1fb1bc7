/** Lists what keeping a draft would change, with counts for people and a hash for the approval. */
import type { Effect, Effects, EffectTotals, EffectType } from "./effect.ts";
import type { EntryState } from "./entry-state.ts";
import { fileTypeOf, isScriptName } from "./file-type.ts";
import { type DraftFolders, type LayerChange, readLayerChanges, type VisitChange } from "./layer-changes.ts";
import {
  defaultAskBytes,
  defaultAskFiles,
  defaultWalkLimits,
  type TooLarge,
  type WalkLimits,
  withinLimits,
} from "./limits.ts";
import { countEdits, createLineBudget, diffLines, splitLines } from "./line-diff.ts";
import { modeNotes } from "./mode-notes.ts";
import { displayPath } from "./raw-path.ts";

export interface EffectLimits extends WalkLimits {
  askFiles: number;
  askBytes: number;
}

export const defaultEffectLimits: EffectLimits = {
  ...defaultWalkLimits,
  askFiles: defaultAskFiles,
  askBytes: defaultAskBytes,
};

const maxCountingMs = 1_500;
const maxCountedLines = 50_000;

/** `visit` gets each effect with the very bytes that the hash covers. */
export type VisitEffect = (effect: Effect, ...change: Parameters<VisitChange>) => void;

export function listEffects(
  folders: DraftFolders,
  signal: AbortSignal,
  limits: EffectLimits = defaultEffectLimits,
  visit?: VisitEffect,
): Promise<Effects | TooLarge> {
  return withinLimits(async () => {
    const found: Effect[] = [];
    const counter = createLineCounter();
    const { hash } = await readLayerChanges(folders, limits, signal, async (change, contents) => {
      const effect = { ...describeChange(change), ...kindOf(change, contents) };
      found.push({ ...effect, ...(effect.isBinary ? {} : counter.count(contents)) });
      visit?.(effect, change, contents);
    });
    groupFolders(found);
    const effects = sortEffects(found);
    const totals = totalsOf(effects);
    const files = totals.deleted + totals.changed + totals.added;
    return {
      type: "effects",
      effects,
      totals,
      hash,
      isLarge: files > limits.askFiles || Math.max(totals.bytes, lostBytes(effects)) > limits.askBytes,
    };
  });
}

function describeChange(change: LayerChange): Effect {
  const { path, from, to } = change;
  const action = to.type === "absent" ? "deleted" : from.type === "absent" ? "added" : "changed";
  const type = typeOf(to) ?? typeOf(from) ?? "special";
  const previousType = typeOf(from);
  return {
    path: displayPath(path),
    raw: path,
    action,
    type,
    bytes: bytesOf(to),
    previousBytes: bytesOf(from),
    files: type === "folder" ? 0 : 1,
    notes: modeNotes(change),
    isBinary: false,
    ...(action === "changed" && previousType !== undefined && previousType !== type ? { previousType } : {}),
    ...(to.type === "link" ? { linkTarget: displayPath(to.target) } : {}),
    ...(from.type === "link" ? { previousLinkTarget: displayPath(from.target) } : {}),
  };
}

type Contents = Parameters<VisitChange>[1];

/** What was text stays text, and so does what programs run or read as text. */
function kindOf(change: LayerChange, { from, to }: Contents): Partial<Effect> & Pick<Effect, "isBinary"> {
  const content = to ?? from;
  if (content === undefined || [from, to].some((each) => each?.isText) || isScriptName(change.path))
    return { isBinary: false };
  return { isBinary: true, fileType: fileTypeOf(content.start), notes: binaryNotes(change) };
}

/** Of a program that was executable before, too. */
function binaryNotes(change: LayerChange): string[] {
  const notes = modeNotes(change);
  const { to } = change;
  const isExecutable = to.type === "file" && (to.mode & 0o111) !== 0;
  return isExecutable && !notes.includes("executable") ? ["executable", ...notes] : notes;
}

function createLineCounter() {
  let spentMs = 0;
  const budget = createLineBudget();
  return {
    count({ from, to }: Contents): Pick<Effect, "linesAdded" | "linesRemoved" | "losesText"> {
      if (from === undefined || to === undefined) {
        const added = to === undefined ? {} : { linesAdded: to.lines };
        return { ...added, ...(from === undefined ? {} : { linesRemoved: from.lines }) };
      }
      if (from.hash === to.hash) return {};
      if (from.whole === undefined || to.whole === undefined || spentMs > maxCountingMs) return {};
      if (Math.max(from.lines, to.lines) > maxCountedLines) return {};
      const start = performance.now();
      const { added, removed } = countEdits(diffLines(linesOf(from.whole), linesOf(to.whole), budget));
      const losesText = visibleLength(to.whole) * 2 < visibleLength(from.whole);
      spentMs += performance.now() - start;
      return { linesAdded: added, linesRemoved: removed, ...(losesText ? { losesText } : {}) };
    },
  };
}

function visibleLength(content: Buffer): number {
  return content.toString("utf8").replace(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\s\u2800]+/gu, "").length;
}

/** Latin-1 maps bytes one to one so that texts in any encoding differ exactly where their bytes do. */
function linesOf(content: Buffer): string[] {
  return splitLines(content.toString("latin1"));
}

/** Adds up the contents of each added or deleted folder. Folders must come before their contents. */
function groupFolders(effects: readonly Effect[]): void {
  let group: Effect | undefined;
  for (const effect of effects) {
    if (group !== undefined && effect.raw.startsWith(`${group.raw}/`)) {
      effect.within = group.raw;
      group.files += effect.files;
      group.bytes += effect.bytes;
      group.previousBytes += effect.previousBytes;
    } else {
      group = isWholeFolder(effect) ? effect : undefined;
    }
  }
}

function isWholeFolder({ action, type }: Effect): boolean {
  return type === "folder" && action !== "changed";
}

function sortEffects(effects: readonly Effect[]): Effect[] {
  const actions = ["deleted", "changed", "added"] as const;
  return actions.flatMap((action) => effects.filter((effect) => effect.action === action));
}

function totalsOf(effects: readonly Effect[]): EffectTotals {
  const totals = { deleted: 0, changed: 0, added: 0, bytes: 0, linesAdded: 0, linesRemoved: 0 };
  for (const effect of effects) {
    if (isWholeFolder(effect)) continue;
    totals[effect.action]++;
    totals.bytes += effect.bytes;
    totals.linesAdded += effect.linesAdded ?? 0;
    totals.linesRemoved += effect.linesRemoved ?? 0;
  }
  return totals;
}

/** Sums the sizes of old contents, which only the undo journal has once the changes are kept. */
function lostBytes(effects: readonly Effect[]): number {
  return effects.reduce((sum, effect) => sum + (isWholeFolder(effect) ? 0 : effect.previousBytes), 0);
}

function typeOf(state: EntryState): EffectType | undefined {
  return state.type === "absent" ? undefined : state.type;
}

function bytesOf(state: EntryState): number {
  return state.type === "file" ? state.bytes : 0;
}
