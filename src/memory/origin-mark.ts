/** Stores origins as a hidden comment: below a note's title, where people may remove it, or in an episode's marker. */
import { parseJson } from "../lib/json.ts";
import { isOrigins, type Origin } from "../ports/origin.ts";

const noteMark = /^(# [^\n]*\n)<!-- from=(\S*) -->\n/;

/** Encodes text so that it can't end the comment, the value or the list. */
export function markerValue(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll("-", "%2D");
}

export function encodeOrigins(origins: readonly Origin[]): string {
  return markerValue(JSON.stringify(origins));
}

/** If a later version or a person has written something unreadable, the text's origin is unknown. */
export function readOrigins(json: string): Origin[] {
  const origins = parseJson(json);
  return isOrigins(origins) ? origins : [{ kind: "file", name: "memory" }];
}

export function decodeOrigins(value: string): Origin[] {
  try {
    return readOrigins(decodeURIComponent(value));
  } catch {
    return readOrigins("");
  }
}

export function noteMarkText(origins: readonly Origin[]): string {
  return origins.length === 0 ? "" : `<!-- from=${encodeOrigins(origins)} -->\n`;
}

export function readNoteMark(text: string): { text: string; origins: Origin[] } {
  const found = noteMark.exec(text);
  if (found === null) return { text, origins: [] };
  const [all, title = "", value = ""] = found;
  return { text: title + text.slice(all.length), origins: decodeOrigins(value) };
}
