/** Brings the files of messages into the working folder: before the model is asked, and when a tool asks for one. */
import type { Attachment, InboundMessage } from "./message.ts";
import type { Payer } from "./usage.ts";

export interface WantedFile {
  message: Pick<InboundMessage, "platform" | "id" | "conversationId" | "attachments">;
  /** The attachment in `message.attachments`; it has a `source`. */
  index: number;
  workingFolder: string;
  /** Who pays for listening to it. */
  payer: Payer;
  /** Rather has a `problem` than replaces a saved file that was changed since. */
  keepsChanged?: boolean;
}

export interface TurnFiles {
  /**
   * Saves the file at `inbox/<message>/<name>` and reads it. The result has no `source`, but a `path` and the content
   * that could be read, or a `problem`. A repeated call reuses the saved file or saves it again. Rejects only if the
   * signal aborts or the ledger can't be reached.
   */
  fetch(file: WantedFile, signal: AbortSignal): Promise<Attachment>;
}

export interface Recording {
  path: string;
  name: string;
  mimeType: string;
}

export interface PaidRecording extends Recording {
  bytes: number;
  /** As its sender's client says. */
  seconds?: number;
  payer: Payer;
}

/** Turns speech into text, within the limits of who pays for it. A failure is returned as a sentence for people. */
export type Transcribe = (file: PaidRecording, signal: AbortSignal) => Promise<{ text: string } | { problem: string }>;

export const transcriptionIsOff =
  "I can't listen to recordings. An operator must set `transcription` in the configuration. Please write instead.";
