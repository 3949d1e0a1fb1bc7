/** Explains what is wrong with a configured folder and how to fix it, before commands fail in it. Must not reject. */
import { access, constants, stat } from "node:fs/promises";
import { sep } from "node:path";
import { mountPoints } from "../view/machine-facts.ts";

export async function problemOfGivenFolder(folder: string): Promise<string | undefined> {
  const found = await stat(folder).catch(() => undefined);
  if (found === undefined) return `${folder} does not exist: create it, or correct \`folders\` in the configuration`;
  if (!found.isDirectory()) return `${folder} is a file: \`folders\` in the configuration must name a folder`;
  const user = process.geteuid?.() ?? 0;
  if (user === 0 && found.uid !== 0)
    return `${folder} belongs to user ${found.uid}, but Remora runs as root: commands can read it but not change it. Run Remora as that user, or change the folder's owner`;
  const canWrite = await access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!canWrite)
    return `user ${user} may not write to ${folder}: commands can read it, but changes can't be kept. Change its owner or its permissions`;
  const below = (await mountPoints().catch(() => [])).find((point) => point.startsWith(folder + sep));
  if (below !== undefined)
    return `${below} is mounted inside ${folder}, and commands see an empty folder there: unmount it, or configure it as a folder of its own`;
  return undefined;
}
