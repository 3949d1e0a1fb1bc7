/** `remora explain TURN` prints a turn's snapshots: what the model saw in each step, and why. */
import type { Environment } from "../config/environment.ts";
import { explainTurn, listSnapshots } from "../context/explain.ts";
import { RemoraError } from "../lib/errors.ts";
import { settingsFor } from "./settings.ts";

const maxListedTurns = 10;

export async function explainCommand(env: Environment, root: string, turnId: string): Promise<void> {
  const { workspace } = settingsFor(env, root);
  const found = await explainTurn(workspace, turnId);
  if (found.length === 0) {
    const kept = [...new Set((await listSnapshots(workspace)).map((snapshot) => snapshot.turnId))];
    const known =
      kept.length === 0 ? "there are no snapshots yet" : `newest last: ${kept.slice(-maxListedTurns).join(", ")}`;
    throw new RemoraError({
      code: "explain.unknown-turn",
      place: "explain",
      message: `"${turnId}" does not match exactly one turn with snapshots; ${known}. The newest 50 model calls have snapshots`,
    });
  }
  for (const { path, text } of found) process.stdout.write(`<!-- ${path} -->\n${text}\n`);
}
