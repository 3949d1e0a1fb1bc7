/** `remora explain TURN`: the snapshots of a turn, which hold what the model was shown in each step, and why. */
import type { Environment } from "../config/environment.ts";
import { explainTurn, listSnapshots } from "../context/explain.ts";
import { RemoraError } from "../lib/errors.ts";
import { settingsFor } from "./settings.ts";

export async function explainCommand(env: Environment, root: string, turnId: string): Promise<void> {
  const { workspace } = settingsFor(env, root);
  const found = await explainTurn(workspace, turnId);
  if (found.length === 0) {
    const kept = [...new Set((await listSnapshots(workspace)).map((snapshot) => snapshot.turnId))];
    const known = kept.length === 0 ? "none are kept yet" : `kept, newest last: ${kept.slice(-10).join(", ")}`;
    throw new RemoraError({
      code: "explain.unknown-turn",
      place: "explain",
      message: `there is no single turn "${turnId}" among the snapshots; ${known}. Snapshots of the newest 50 model calls are kept`,
    });
  }
  for (const { path, text } of found) process.stdout.write(`<!-- ${path} -->\n${text}\n`);
}
