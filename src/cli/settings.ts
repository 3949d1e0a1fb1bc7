/** Loads the settings for a command. Throws an error that lists all problems of the configuration. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../config/environment.ts";
import { formatProblems, loadSettings } from "../config/load.ts";
import type { Settings } from "../config/settings.ts";
import { RemoraError } from "../lib/errors.ts";

/** Skips the workspace's skills folder before the agent's first start has created it. */
export function skillRootsOf({ skillRoots, workspace }: Settings): string[] {
  return skillRoots.filter((root) => root !== join(workspace, "skills") || existsSync(root));
}

export function settingsFor(env: Environment, root: string): Settings {
  const result = loadSettings(env, root);
  if (result.type === "ok") return result.settings;
  throw new RemoraError({ code: "config.invalid", place: "config", message: formatProblems(result.problems) });
}
