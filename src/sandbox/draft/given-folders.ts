/** What is wrong with a folder that the configuration names, before a command finds out. */
import { access, constants, stat } from "node:fs/promises";
import { sep } from "node:path";
import { mountPoints } from "../view/machine-facts.ts";

/** One sentence that says what does not work and what to do; undefined when all is well. Never rejects. */
export async function problemOfGivenFolder(folder: string): Promise<string | undefined> {
  const found = await stat(folder).catch(() => undefined);
  if (found === undefined) return `${folder} is not there: create it, or correct \`folders\` in the configuration`;
  if (!found.isDirectory()) return `${folder} is a file: \`folders\` in the configuration must name a folder`;
  const user = process.geteuid?.() ?? 0;
  if (user === 0 && found.uid !== 0)
    return `${folder} belongs to user ${found.uid}, and Remora runs as root: commands can read it and not change it. Run Remora as that user, or change the folder's owner`;
  const canWrite = await access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!canWrite)
    return `user ${user} may not write to ${folder}: commands can read it, and changes can't be kept. Change its owner or its permissions`;
  const below = (await mountPoints().catch(() => [])).find((point) => point.startsWith(folder + sep));
  if (below !== undefined)
    return `${below} is mounted below ${folder}, and commands see an empty folder there: give it a conversation of its own, or unmount it`;
  return undefined;
}
