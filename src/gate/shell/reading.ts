/**
 * What was found while a shell command was read: forms for the patterns, and tags. Adding is bounded; what goes beyond the bound is said by a tag, never left out silently.
 */
import type { ShellWord, Variables } from "./words.ts";

type ShellTag =
  | "#shell:dynamic-command"
  | "#shell:glob-command"
  | "#shell:prompt-expansion"
  | "#shell:pipe-to-interpreter"
  | "#shell:dynamic-script"
  | "#shell:inline-code"
  | "#shell:find-delete"
  | "#shell:parse-error";

export interface ShellRedirect {
  /** `>`, `>>` or `<`; those that duplicate a descriptor are left out. */
  operator: ">" | ">>" | "<";
  target: ShellWord;
}

/** One program and its words, as the shell would start it. */
export interface SimpleCommand {
  words: ShellWord[];
  redirects: ShellRedirect[];
  /** Literal text on its standard input: a heredoc or a here-string. */
  input?: { text: string; isDynamic: boolean };
}

export interface ShellReading {
  forms: Set<string>;
  tags: Set<ShellTag>;
  /** What may still be added. */
  left: { commands: number; characters: number };
}

/** What the walk carries along. */
export interface Walk {
  reading: ShellReading;
  variables: Variables;
  /** How many scripts and substitutions it is inside of. */
  depth: number;
}

/** Of commands in one call, and of characters in all their forms together. */
const most = { commands: 500, characters: 131_072 };

export function createReading(): ShellReading {
  return { forms: new Set(), tags: new Set(), left: { ...most } };
}

export function addForm(reading: ShellReading, form: string): void {
  if (form === "" || reading.forms.has(form)) return;
  reading.left.characters -= form.length;
  if (reading.left.characters < 0) reading.tags.add("#shell:parse-error");
  else reading.forms.add(form);
}

/** False when there were too many; then the reading says so by its tag. */
export function countCommand(reading: ShellReading): boolean {
  reading.left.commands -= 1;
  if (reading.left.commands >= 0) return true;
  reading.tags.add("#shell:parse-error");
  return false;
}
