/** `write_file` creates a text file or replaces all of its content. A replaced file keeps its permissions. */
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import type { JsonObject, PluginContext } from "../../src/plugin-sdk/plugin.ts";
import { replaceFile } from "../../src/plugin-sdk/replace-file.ts";
import { atPlace, existingFile, fileProblem } from "../../src/plugin-sdk/working-folder.ts";
import { textIn } from "./text.ts";

export function writeFileText(input: JsonObject, { workingFolder }: PluginContext): Promise<string> {
  const content = textIn(input.content, "content");
  return atPlace({ workingFolder, path: textIn(input.path, "path"), makesFolders: true }, async (place) => {
    if (place.shown === ".") throw fileProblem(place.shown, "is the working folder: name a file in it");
    const before = await existingFile(place);
    await replaceFile(place, content, before?.mode ?? 0o644);
    const size = formatBytes(Buffer.byteLength(content));
    return before === undefined
      ? `Created ${place.shown} (${size}).`
      : `Replaced ${place.shown} (${size}, before ${formatBytes(before.size)}).`;
  });
}
