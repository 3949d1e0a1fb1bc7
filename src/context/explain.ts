/** Finds what the model saw in a turn: its stored snapshots, oldest first. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing } from "../lib/errors.ts";
import { snapshotFolder } from "./snapshot.ts";

export interface SnapshotFile {
  turnId: string;
  step: number;
  /** Relative to the workspace. */
  path: string;
}

const snapshotName = /^[0-9TZ]+-([^-]+)-(\d+)\.md$/;

export async function listSnapshots(workspace: string): Promise<SnapshotFile[]> {
  const names = await readdir(join(workspace, snapshotFolder)).catch(ifMissing([]));
  return names.sort().flatMap((name) => {
    const [, turn, step] = snapshotName.exec(name) ?? [];
    if (turn === undefined || step === undefined) return [];
    return [{ turnId: decodeName(turn), step: Number(step), path: `${snapshotFolder}/${name}` }];
  });
}

/** The turn in a snapshot's file name. */
export function snapshotTurn(name: string): string | undefined {
  const [, turn] = snapshotName.exec(name) ?? [];
  return turn === undefined ? undefined : decodeName(turn);
}

export async function explainTurn(workspace: string, turnId: string): Promise<(SnapshotFile & { text: string })[]> {
  const all = await listSnapshots(workspace);
  const exact = all.filter((snapshot) => snapshot.turnId === turnId);
  const begun = turnId === "" ? [] : all.filter((snapshot) => snapshot.turnId.startsWith(turnId));
  const isAmbiguous = new Set(begun.map((snapshot) => snapshot.turnId)).size > 1;
  const found = exact.length > 0 ? exact : isAmbiguous ? [] : begun;
  return await Promise.all(
    found.map(async (snapshot) => ({ ...snapshot, text: await readFile(join(workspace, snapshot.path), "utf8") })),
  );
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
