/** `write_file`: a text file, new or replaced whole; permissions of a replaced file stay. */
import type { JsonObject } from "../../src/core/message.ts";
import type { PluginContext } from "../../src/core/plugin.ts";
import { replaceFile } from "../../src/core/replace-file.ts";
import { sizeText } from "../../src/core/size-text.ts";
import { atPlace, existingFile, fileProblem } from "../../src/core/working-folder.ts";
import { textIn } from "./text.ts";

export function writeFileText(input: JsonObject, { workingFolder }: PluginContext): Promise<string> {
  const content = textIn(input.content, "content");
  return atPlace({ workingFolder, path: textIn(input.path, "path"), makesFolders: true }, async (place) => {
    if (place.shown === ".") throw fileProblem(place.shown, "is the working folder: name a file in it");
    const before = await existingFile(place);
    await replaceFile(place, content, before?.mode ?? 0o644);
    const size = sizeText(Buffer.byteLength(content));
    return before === undefined
      ? `Created ${place.shown} (${size}).`
      : `Replaced ${place.shown} (${size}, before ${sizeText(before.size)}).`;
  });
}
