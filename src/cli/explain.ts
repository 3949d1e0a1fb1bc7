/**
 * `remora explain TURN` prints a turn's snapshots: what the model saw in each step, and why. Without a turn it lists those that
 * have some, and `newest` stands for the last of them.
 */
import type { Environment } from "../config/environment.ts";
import { explainTurn, listSnapshots } from "../context/explain.ts";
import { RemoraError } from "../lib/errors.ts";
import { settingsFor } from "./settings.ts";

const maxListedTurns = 10;
const none = "there are no snapshots yet";

export async function explainCommand(env: Environment, root: string, turnId?: string): Promise<void> {
  const { workspace } = settingsFor(env, root);
  const kept = [...new Set((await listSnapshots(workspace)).map((snapshot) => snapshot.turnId))];
  if (turnId === undefined) {
    const newestFirst = kept.toReversed().slice(0, maxListedTurns);
    process.stdout.write(kept.length === 0 ? `${none}\n` : `Newest first:\n${newestFirst.join("\n")}\n`);
    return;
  }
  const found = await explainTurn(workspace, turnId === "newest" ? (kept.at(-1) ?? turnId) : turnId);
  if (found.length === 0) {
    const known = kept.length === 0 ? none : `newest last: ${kept.slice(-maxListedTurns).join(", ")}`;
    throw new RemoraError({
      code: "explain.unknown-turn",
      place: "explain",
      message: `"${turnId}" does not match exactly one turn with snapshots; ${known}. The newest 50 model calls have snapshots`,
    });
  }
  for (const { path, text } of found) process.stdout.write(`<!-- ${path} -->\n${text}\n`);
}
