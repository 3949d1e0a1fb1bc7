/** Settings for commands. An invalid configuration is thrown as an error that lists its problems. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../config/environment.ts";
import { formatProblems, loadSettings } from "../config/load.ts";
import type { Settings } from "../config/settings.ts";
import { RemoraError } from "../lib/errors.ts";

/** Leaves out the workspace's skills folder if it does not exist, as before the agent's first start. */
export function skillRootsOf({ skillRoots, workspace }: Settings): string[] {
  return skillRoots.filter((root) => root !== join(workspace, "skills") || existsSync(root));
}

export function settingsFor(env: Environment, root: string): Settings {
  const result = loadSettings(env, root);
  if (result.type === "ok") return result.settings;
  throw new RemoraError({ code: "config.invalid", place: "config", message: formatProblems(result.problems) });
}
