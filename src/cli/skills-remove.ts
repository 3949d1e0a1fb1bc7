/** `remora skills remove NAME` takes a skill out of the workspace, and keeps a backup. */
import { basename, dirname, join, relative } from "node:path";
import type { Environment } from "../config/environment.ts";
import { RemoraError } from "../lib/errors.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import { askFor, isAgreed } from "./ask-on-terminal.ts";
import { findSkill, settingsFor } from "./settings.ts";
import { moveToBackup } from "./skills-install.ts";
import { saveOrigins } from "./skills-origins.ts";

export async function removeSkillCommand(
  env: Environment,
  root: string,
  name: string,
  options: { yes?: boolean },
  ask = askFor("skills remove"),
): Promise<void> {
  const settings = settingsFor(env, root);
  const skills = join(settings.workspace, "skills");
  const place = `skills remove ${asPlain(name)}`;
  const found = await findSkill(settings, name, place);
  if (dirname(found.folder) !== skills) {
    const message = `it is not in the workspace, but at ${relative(process.cwd(), found.folder)}. To turn it off: skills disable ${asPlain(name)}`;
    throw new RemoraError({ code: "skills.not-here", place, message });
  }
  const patterns = found.rules.length === 0 ? "" : ` Its ${found.rules.length} patterns no longer apply then.`;
  if (options.yes !== true && !(await isAgreed(`Remove ${asPlain(found.name)}?${patterns}`, ask))) {
    process.stdout.write("Nothing was removed.\n");
    process.exitCode = 1;
    return;
  }
  const backup = await moveToBackup(found.folder, skills);
  await saveOrigins(skills, [{ folder: basename(found.folder), origin: undefined }]);
  process.stdout.write(`Removed ${asPlain(found.name)}. A copy is in ${relative(process.cwd(), backup)}.\n`);
}
