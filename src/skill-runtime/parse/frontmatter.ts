/**
 * Splits a SKILL.md into frontmatter and body; never evaluates anything. Replaces and reports bytes that are not UTF-8.
 * Refuses `---js` and `+++`, because they announce languages other than YAML.
 */
import type { Notes } from "./diagnostics.ts";

const maxFrontmatterBytes = 64 * 1024;

export interface Frontmatter {
  yaml: string;
  /** The number of lines in the file above `yaml`. */
  linesAbove: number;
  body: string;
}

/** Returns undefined if there is no readable frontmatter; `notes` then says why. */
export function splitFrontmatter(bytes: Uint8Array, notes: Notes): Frontmatter | undefined {
  const text = decode(bytes, notes);
  const lines = text.split("\n");
  const opening = lines.findIndex((line) => line.trim() !== "");
  const first = lines[opening] ?? "";
  if (!/^---[ \t]*$/.test(first)) {
    refuseOpening(first, opening + 1, notes);
    return undefined;
  }
  if (opening > 0) {
    notes.warn(
      1,
      "blank-lines-first",
      "blank lines before the opening ---: remove them, other programs need --- in line 1",
    );
  }
  const closing = lines.findIndex((line, index) => index > opening && /^(?:---|\.\.\.)[ \t]*$/.test(line));
  if (closing === -1) {
    notes.error(
      opening + 1,
      "unclosed-frontmatter",
      "the frontmatter is not closed: add a line --- after its last field",
    );
    return undefined;
  }
  const yaml = lines.slice(opening + 1, closing).join("\n");
  if (Buffer.byteLength(yaml) > maxFrontmatterBytes) {
    notes.error(
      opening + 1,
      "frontmatter-too-large",
      "the frontmatter is over 64 KiB: move the text below the closing ---",
    );
    return undefined;
  }
  return { yaml, linesAbove: opening + 1, body: lines.slice(closing + 1).join("\n") };
}

function decode(bytes: Uint8Array, notes: Notes): string {
  const text = new TextDecoder().decode(bytes);
  // Check the bytes too, because a valid file may contain a replacement character.
  if (text.includes("\ufffd") && !isUtf8(bytes)) {
    notes.warn(0, "invalid-utf8", "the file is not valid UTF-8: save it as UTF-8; unreadable bytes were replaced");
  }
  return text.replace(/\r\n?/g, "\n");
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function refuseOpening(first: string, line: number, notes: Notes): void {
  if (/^(?:---\s*\w|\+\+\+)/.test(first)) {
    const shown = first.slice(0, 20).trim();
    notes.error(line, "foreign-frontmatter", `the frontmatter starts with ${shown}: use YAML between two --- lines`);
  } else {
    notes.error(
      Math.max(line, 1),
      "no-frontmatter",
      "there is no frontmatter: start the file with ---, name, description, ---",
    );
  }
}
