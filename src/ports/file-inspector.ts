/** Reads files in an isolated process, because other people's files may be hostile. */

export interface FileLook {
  /** The type of the content, regardless of the file's name. */
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
