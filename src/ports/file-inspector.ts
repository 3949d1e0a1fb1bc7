/** Reads what a file contains, in an isolated process, because files of other people may be hostile. */

export interface FileLook {
  /** The type that the content has, whatever the name says. */
  mimeType: string;
  /** A first look, for the model: the kind, its size (pages, columns, pixels), and the beginning of the text. */
  summary: string;
  /** The complete text, if it is short enough for the prompt. */
  text?: string;
  /** The picture, scaled to what models accept. */
  image?: { mimeType: string; base64: string };
  /** Why the content can't be read, as a sentence for people: a damaged file, HEIC, a zip bomb. */
  problem?: string;
}

export interface FileInspector {
  /** Rejects only if the signal aborts. */
  inspect(file: { path: string; name: string }, signal: AbortSignal): Promise<FileLook>;
}
