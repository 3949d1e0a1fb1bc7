/** A message as a person sees it, whatever the service calls its parts. */
export interface ShownMessage {
  /** All that can be read in it, in its order, as plain text or Markdown: words, blocks, embeds, and what it quotes or forwards. */
  text: string;
  /** Its own files, then those of what it quotes or forwards. */
  files: ShownFile[];
}

export interface ShownFile {
  id: string;
  name: string;
  mimeType?: string;
  bytes?: number;
  /** Absent if it can't be opened. */
  url?: string;
  /** Why it can't be opened, in words for people. */
  problem?: string;
  /** Whose it is, if it is quoted or forwarded. */
  from?: string;
}
