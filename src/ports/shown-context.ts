/** What a prompt says beside people's words, saved with its turn, because later prompts repeat it as it was sent. */
import { createHash } from "node:crypto";
import type { Origin } from "./origin.ts";

/** A passage that a prompt had. It still holds if lines have been added below it. */
export interface NoteSource {
  path: string;
  heading: string;
  /** In UTF-16 code units. */
  length: number;
  /** SHA-256 in base64url. */
  hash: string;
}

export function noteSource({ path, heading, text }: { path: string; heading: string; text: string }): NoteSource {
  return { path, heading, length: text.length, hash: createHash("sha256").update(text).digest("base64url") };
}

/** Whether the passage still begins one of `texts`, the parts of one file in order. A text that has grown may be divided elsewhere. */
export function holdsIn(source: NoteSource, texts: readonly string[]): boolean {
  const rest = texts.flatMap((_, index) => ["\n", "\n\n"].map((gap) => texts.slice(index).join(gap)));
  return rest.some((text) => addedTo(source, text) !== undefined);
}

/** Returns what `text` has behind the passage that it begins with. Undefined if it begins with another text. */
export function addedTo(source: NoteSource, text: string): string | undefined {
  const [known, added] = [text.slice(0, source.length), text.slice(source.length)];
  const isKnown = noteSource({ ...source, text: known }).hash === source.hash;
  return isKnown && /^(?:\n|$)/.test(added) ? added : undefined;
}

/** What a prompt has beside people's words: a note from memory, the digest of preferences, a skill's text. */
export interface ShownPiece {
  kind: "note" | "preferences" | "skill";
  name: string;
  text: string;
  origins: Origin[];
  /** Of a note: where memory has it. */
  source?: NoteSource;
}

/** What the prompt says before the messages that had come by then. Later prompts repeat it as it was sent. */
export interface ShownContext {
  /** How many of the turn's messages there were. */
  messages: number;
  at: number;
  notes: string[];
  /** The channel that the person looked at. */
  lookingAt?: string;
  /** How many notes only `recall` gives. */
  withheld: number;
  pieces: ShownPiece[];
}
