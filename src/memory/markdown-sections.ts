/**
 * Splits a Markdown file into passages for search: the text under one heading, in pieces of readable length. Text
 * before the first heading belongs to the file's title. A long section is split between paragraphs, or else between
 * lines or words. A passage's time comes from its marker, or else from the file's day and the heading's `HH:MM`. People
 * write and edit these files, so every text must be accepted.
 */
import type { Origin } from "../ports/origin.ts";
import { dayOfFile } from "./day-files.ts";
import { originsOfEntry, readableEntry } from "./episodes.ts";
import { readNoteMark } from "./origin-mark.ts";

export interface Passage {
  heading: string;
  /** ISO 8601; empty if unknown. */
  at: string;
  text: string;
  /** The headings above the passage's own heading, outermost first, or the file's name if there are none. */
  trail: string;
  origins: Origin[];
}

const maxPassageCharacters = 1_200;
/** Per file. */
const maxPassages = 20_000;

interface Section {
  level: number;
  heading: string;
  lines: string[];
}

/** `fileName` must not include a folder. */
export function passagesOf(fileName: string, written: string): Passage[] {
  const { text, origins: ofNote } = readNoteMark(written.replace(/^\uFEFF/, ""));
  const day = dayOfFile(fileName) ?? /(?<!\d)\d{4}-\d\d-\d\d(?!\d)/.exec(fileName)?.[0] ?? "";
  const title = fileName.replace(/\.md$/i, "");
  const passages: Passage[] = [];
  const above: { level: number; heading: string }[] = [];
  for (const { level, heading, lines } of sectionsOf(text)) {
    while ((above.at(-1)?.level ?? 0) >= level && above.length > 0) above.pop();
    const trail = above.length === 0 ? title : above.map((one) => one.heading).join(" › ");
    if (level > 0) above.push({ level, heading });
    const raw = lines.join("\n");
    const body = readableEntry(raw);
    // Skip a title without text, because its sections repeat it.
    if (body === "" && (level === 0 || level === 1)) continue;
    const at = timeOfSection(raw, heading, day);
    const origins = [...ofNote, ...originsOfEntry(raw)];
    for (const piece of piecesOf(body))
      passages.push({ heading: heading === "" ? title : heading, at, text: piece, trail, origins });
    if (passages.length >= maxPassages) break;
  }
  return passages.slice(0, maxPassages);
}

function sectionsOf(text: string): Section[] {
  const sections: Section[] = [{ level: 0, heading: "", lines: [] }];
  const lines = text.split(/\r\n|\n|\r/);
  const fences = lines.flatMap((line, index) => (isClosingFence(line) ? [index] : []));
  let fenceEnd = -1;
  for (const [index, line] of lines.entries()) {
    if (index > fenceEnd) fenceEnd = endOfFence(lines, fences, index) ?? -1;
    const heading = index > fenceEnd ? /^(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/.exec(line) : null;
    if (heading === null) sections.at(-1)?.lines.push(line);
    else sections.push({ level: heading[1]?.length ?? 1, heading: heading[2] ?? "", lines: [] });
  }
  return sections;
}

function isClosingFence(line: string): boolean {
  return /^ {0,3}(?:`{3,}|~{3,})[ \t]*$/.test(line);
}

/** Finds the line that closes the code fence opened at `index`. Ignores an unclosed fence: it hides no headings. */
function endOfFence(lines: readonly string[], fences: number[], index: number): number | undefined {
  const mark = /^ {0,3}(`{3,}|~{3,})/.exec(lines[index] ?? "")?.[1];
  if (mark === undefined) return undefined;
  while ((fences[0] ?? index + 1) <= index) fences.shift();
  // The look-ahead is limited so that a file of nothing but fences takes linear time.
  return fences.slice(0, 50).find((end) => lines[end]?.trim().startsWith(mark));
}

function timeOfSection(raw: string, heading: string, day: string): string {
  const marked = /(?:^|\n)<!-- turn=\S* at=(\S+) /.exec(raw)?.[1];
  if (marked !== undefined && !Number.isNaN(Date.parse(marked))) return marked;
  const named = /(?<!\d)(\d{4}-\d\d-\d\d)(?!\d)/.exec(heading)?.[1] ?? day;
  const time = /(?<!\d)([01]\d|2[0-3]):([0-5]\d)(?!\d)/.exec(heading)?.[0] ?? "00:00";
  const parsed = named === "" ? Number.NaN : Date.parse(`${named}T${time}:00.000Z`);
  return Number.isNaN(parsed) ? "" : new Date(parsed).toISOString();
}

export function piecesOf(body: string): string[] {
  const pieces: string[] = [];
  let rest = body;
  while (rest.length > maxPassageCharacters) {
    const window = rest.slice(0, maxPassageCharacters);
    const least = maxPassageCharacters / 3;
    const breaks = [window.lastIndexOf("\n\n"), window.lastIndexOf("\n"), window.lastIndexOf(" ")];
    const found = breaks.find((at) => at > least) ?? maxPassageCharacters;
    const at = found === maxPassageCharacters && /[\uD800-\uDBFF]/.test(window.at(-1) ?? "") ? found - 1 : found;
    pieces.push(rest.slice(0, at).trim());
    rest = rest.slice(at).trimStart();
  }
  pieces.push(rest);
  return pieces;
}
