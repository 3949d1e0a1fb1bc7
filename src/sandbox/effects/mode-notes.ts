/** Describes the changes to a file's mode that matter to people. */
import type { EntryState } from "./entry-state.ts";
import type { LayerChange } from "./layer-changes.ts";

const executeBits = 0o111;
/** Restricts who can delete what is in a folder. */
const stickyBit = 0o1000;

export function modeNotes({ from, to, droppedBits }: LayerChange): string[] {
  const notes: string[] = [];
  const [before, after] = [permissionsOf(from), permissionsOf(to)];
  if (to.type === "file" && after !== undefined) {
    const [wasExecutable, isExecutable] = [((before ?? 0) & executeBits) !== 0, (after & executeBits) !== 0];
    if (isExecutable && !wasExecutable) notes.push("executable");
    if (!isExecutable && wasExecutable && from.type === "file") notes.push("no longer executable");
  }
  if (from.type === to.type && before !== undefined && after !== undefined && notes.length === 0 && before !== after) {
    notes.push(`mode ${before.toString(8)} → ${after.toString(8)}`);
  }
  if (from.type !== to.type && ((after ?? 0) & stickyBit) !== 0) notes.push("sticky bit");
  if ((droppedBits & 0o4000) !== 0) notes.push("its setuid bit is not kept");
  if ((droppedBits & 0o2000) !== 0) notes.push("its setgid bit is not kept");
  return notes;
}

function permissionsOf(state: EntryState): number | undefined {
  return state.type === "file" || state.type === "folder" ? state.mode : undefined;
}
