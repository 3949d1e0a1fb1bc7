/** What a prompt says beside people's words, saved with its turn, because later prompts repeat it as it was sent. */
import { createHash } from "node:crypto";
import type { Origin } from "./origin.ts";

/** A passage that a prompt had. It still holds if text has been added to its end. */
export interface NoteSource {
  path: string;
  heading: string;
  /** Of the text that the prompt had, in UTF-16 code units. */
  length: number;
  /** SHA-256 of that text, in base64url. */
  hash: string;
}

export function noteSource({ path, heading, text }: { path: string; heading: string; text: string }): NoteSource {
  return { path, heading, length: text.length, hash: createHash("sha256").update(text).digest("base64url") };
}

export function holdsIn({ path, heading, length, hash }: NoteSource, text: string): boolean {
  return noteSource({ path, heading, text: text.slice(0, length) }).hash === hash;
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
