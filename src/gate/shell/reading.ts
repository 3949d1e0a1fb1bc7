/** What the gate reads from a shell command: texts to match, and tags. If a limit is exceeded, a tag says so. */
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
  operator: ">" | ">>" | "<";
  target: ShellWord;
}

export interface SimpleCommand {
  words: ShellWord[];
  redirects: ShellRedirect[];
  /** Literal standard input: a heredoc or a here-string. */
  input?: { text: string; isDynamic: boolean };
}

export interface ShellReading {
  forms: Set<string>;
  tags: Set<ShellTag>;
  /** Also those that are wrapped in others, and those of scripts in the text. */
  commands: SimpleCommand[];
  left: { commands: number; characters: number };
}

export interface Walk {
  reading: ShellReading;
  variables: Variables;
  depth: number;
}

/** Limits for one call. `characters` counts all texts together. */
const most = { commands: 500, characters: 131_072 };

export function createReading(): ShellReading {
  return { forms: new Set(), tags: new Set(), commands: [], left: { ...most } };
}

export function addForm(reading: ShellReading, form: string): void {
  if (form === "" || reading.forms.has(form)) return;
  reading.left.characters -= form.length;
  if (reading.left.characters < 0) reading.tags.add("#shell:parse-error");
  else reading.forms.add(form);
}

/** Counts one command. If there are too many, adds a tag and returns false. */
export function countCommand(reading: ShellReading): boolean {
  reading.left.commands -= 1;
  if (reading.left.commands >= 0) return true;
  reading.tags.add("#shell:parse-error");
  return false;
}
