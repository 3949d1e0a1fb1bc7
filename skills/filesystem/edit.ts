/** `edit_file` replaces a passage that occurs exactly once or, on request, all its occurrences. */
import type { JsonObject, PluginContext } from "../../src/plugin-sdk/plugin.ts";
import { replaceFile } from "../../src/plugin-sdk/replace-file.ts";
import { atPlace, existingFile, fileProblem, openForReading } from "../../src/plugin-sdk/working-folder.ts";
import { readText, textIn } from "./text.ts";

export function editFile(input: JsonObject, { workingFolder }: PluginContext): Promise<string> {
  const wanted = textIn(input.old_text, "old_text");
  const replacement = textIn(input.new_text, "new_text");
  return atPlace({ workingFolder, path: textIn(input.path, "path") }, async (place) => {
    if (wanted === "")
      throw fileProblem("old_text", "is empty: give the passage to replace, or create a file with write_file");
    if (wanted === replacement) throw fileProblem("new_text", "is the same as old_text: nothing would change");
    const before = await existingFile(place);
    await using handle = await openForReading(place, "file");
    const text = await readText(handle, place.shown);
    const isCrlf = !text.includes(wanted) && text.includes("\r\n");
    const [from, to] = isCrlf ? [withCrlf(wanted), withCrlf(replacement)] : [wanted, replacement];
    const pieces = text.split(from);
    const count = pieces.length - 1;
    if (count === 0) throw fileProblem(place.shown, `old_text does not occur in it.${alikeIn(text, wanted)}`);
    if (count > 1 && input.all !== true) {
      throw fileProblem(
        place.shown,
        `old_text occurs ${count} times: add lines around it so that it is unique, or set all to true`,
      );
    }
    await replaceFile(place, pieces.join(to), before?.mode ?? 0o644);
    const line = (pieces[0] ?? "").split("\n").length;
    return count === 1 ? `Edited ${place.shown} at line ${line}.` : `Edited ${place.shown} in ${count} places.`;
  });
}

/** Models write LF, so convert line breaks for a file that uses CRLF. */
function withCrlf(text: string): string {
  return text.replace(/\r?\n/g, "\r\n");
}

/** The line that has most words of the passage's first one. Only its number, because reading some files has to be allowed. */
function alikeIn(text: string, wanted: string): string {
  const words = new Set(wordsOf(wanted.split("\n").find((line) => line.trim() !== "") ?? ""));
  let [best, most] = [0, 0];
  for (const [index, line] of text.split("\n").entries()) {
    const shared = wordsOf(line).filter((word) => words.has(word)).length;
    if (shared > most) [best, most] = [index + 1, shared];
  }
  const place = most === 0 ? "" : ` Most like it is line ${best}.`;
  // Tags of prompts and tokens of templates are escaped where models read them. Cards show a call as it was made, so nothing is changed here.
  const escaped = /&lt;|&#91;/.test(wanted) ? ' Write "<" where you were shown "&lt;", and "[" for "&#91;".' : "";
  return `${place}${escaped} Read the file and copy the passage exactly, with its spaces`;
}

function wordsOf(line: string): string[] {
  return line.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? [];
}
