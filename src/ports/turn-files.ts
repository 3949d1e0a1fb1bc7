/** Brings the files of messages into the working folder: before the model is asked, and when a tool asks for one. */
import type { Attachment, InboundMessage } from "./message.ts";

export interface WantedFile {
  message: Pick<InboundMessage, "platform" | "id" | "conversationId" | "attachments">;
  /** The attachment in `message.attachments`; it has a `source`. */
  index: number;
  workingFolder: string;
}

export interface TurnFiles {
  /**
   * Saves the file at `inbox/<message>/<name>` and reads it. The result has no `source`: it has a `path`, and what could be
   * read, or a `problem`. A repeated call saves the file again, or finds it. Rejects only if the signal aborts or the ledger
   * can't be reached.
   */
  fetch(file: WantedFile, signal: AbortSignal): Promise<Attachment>;
}

/** Turns speech into text. A failure is a sentence for people. */
export type Transcribe = (
  file: { path: string; name: string; mimeType: string },
  signal: AbortSignal,
) => Promise<{ text: string } | { problem: string }>;

export const transcriptionIsOff =
  "I can't listen to recordings. An operator must set `transcription` in the configuration. Please write instead.";
