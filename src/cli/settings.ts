/** Settings for commands: the configuration, or its problems on standard error and exit code 1. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../config/environment.ts";
import { formatProblems, loadSettings } from "../config/load.ts";
import type { Settings } from "../config/settings.ts";
import { RemoraError } from "../lib/errors.ts";

/** The roots that commands look at: an agent that never ran has no skills folder of its own, and that is no problem. */
export function skillRootsOf({ skillRoots, workspace }: Settings): string[] {
  return skillRoots.filter((root) => root !== join(workspace, "skills") || existsSync(root));
}

export function settingsFor(env: Environment, root: string): Settings {
  const result = loadSettings(env, root);
  if (result.type === "ok") return result.settings;
  throw new RemoraError({ code: "config.invalid", place: "config", message: formatProblems(result.problems) });
}
