/** What a prompt says beside people's words, saved with its turn, because later prompts repeat it as it was sent. */
import { createHash } from "node:crypto";
import type { Origin } from "./origin.ts";

/** A passage that a prompt had, without white space. It still holds if text has been added to its end. */
export interface NoteSource {
  path: string;
  heading: string;
  /** In UTF-16 code units. */
  length: number;
  /** SHA-256 in base64url. */
  hash: string;
}

export function noteSource({ path, heading, text }: { path: string; heading: string; text: string }): NoteSource {
  const bare = withoutSpaces(text);
  return { path, heading, length: bare.length, hash: hashOf(bare) };
}

/** Whether the passage begins one of `texts`, which follow each other: a longer text is divided anew. */
export function holdsIn({ length, hash }: NoteSource, texts: readonly string[]): boolean {
  return texts.some((_, index) => hashOf(withoutSpaces(texts.slice(index).join("")).slice(0, length)) === hash);
}

/** What `text` has behind the passage that begins it. */
export function addedTo({ length }: NoteSource, text: string): string {
  let [left, at] = [length, 0];
  for (; left > 0 && at < text.length; at += 1) if (!/\s/.test(text.charAt(at))) left -= 1;
  return text.slice(at);
}

function withoutSpaces(text: string): string {
  return text.replace(/\s+/g, "");
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
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
