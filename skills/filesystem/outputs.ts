/** Results that were too long for the model are in `/outputs`, read-only, for file tools and shell commands. */
import type { PluginContext } from "../../src/plugin-sdk/plugin.ts";
import { atPlace, type Place } from "../../src/plugin-sdk/working-folder.ts";

const outputsPath = "/outputs";

export function atReadable<T>(
  path: string,
  { workingFolder, outputsFolder }: Pick<PluginContext, "workingFolder" | "outputsFolder">,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const [, inside] = /^\/outputs(?:\/+(.*))?$/s.exec(path) ?? [];
  if (inside === undefined && path !== outputsPath) return atPlace({ workingFolder, path }, work);
  return atPlace({ workingFolder: outputsFolder, path: inside || "." }, (place) => {
    const shown = place.shown === "." ? outputsPath : `${outputsPath}/${place.shown}`;
    return work({ ...place, shown });
  });
}
