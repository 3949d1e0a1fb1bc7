/** `read_file`: some lines of a text file with their line numbers, and the total number of lines. Or a picture. */

import type { JsonObject, PluginContext, PluginResult } from "../../src/plugin-sdk/plugin.ts";
import { fileProblem, openForReading } from "../../src/plugin-sdk/working-folder.ts";
import { atReadable } from "./outputs.ts";
import { pictureResult } from "./picture.ts";
import { readText, textIn } from "./text.ts";

const usualLines = 2_000;
const maxCharacters = 200_000;

export function readFileText(input: JsonObject, context: PluginContext): Promise<PluginResult> {
  const path = textIn(input.path, "path");
  return atReadable(path, context, async (place) => {
    await using handle = await openForReading(place, "file");
    const picture = await pictureResult(handle, { path, shown: place.shown });
    if (picture !== undefined) return picture;
    const text = await readText(handle, place.shown);
    if (text === "") return `(${place.shown} is empty)`;
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    const first = numberOr(input.offset, 1);
    if (first > lines.length) {
      throw fileProblem(place.shown, `has ${lines.length} lines, so line ${first} does not exist`);
    }
    const chosen = fitting(lines.slice(first - 1, first - 1 + numberOr(input.limit, usualLines)));
    const last = first + chosen.length - 1;
    if (first === 1 && last === lines.length) return chosen.join("\n");
    const more = last < lines.length ? `; continue with offset ${last + 1}` : "";
    return `(${place.shown}, lines ${first} to ${last} of ${lines.length}${more})\n${chosen.join("\n")}`;
  });
}

function fitting(lines: string[]): string[] {
  let left = maxCharacters;
  const end = lines.findIndex((line) => {
    left -= line.length + 1;
    return left < 0;
  });
  if (end === -1) return lines;
  const [first = ""] = lines;
  if (end > 0) return lines.slice(0, end);
  return [`${first.slice(0, maxCharacters)} [… this line has ${first.length} characters and is cut here]`];
}

function numberOr(value: unknown, usual: number): number {
  return typeof value === "number" && value >= 1 ? Math.floor(value) : usual;
}
