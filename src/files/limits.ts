/** Limits of fetched files. Operators set the sizes (`files` in the configuration). */

export const maxFilesPerMessage = 20;
/** Message folders per inbox. Each needs a mark (ports/file-origins.ts), and the number of marks is limited. */
export const maxInboxMessages = 300;
/** Time limit for one attempt to download a file. */
export const maxDownloadMs = 120_000;
/** Text up to this size goes into the prompt in full, unless the budget cuts it there. */
export const maxInlineTextBytes = 200 * 1024;
/** Text and pictures of one message that go into the prompt and the turn's record. Other files are only summarised. */
export const maxInlineBytesPerMessage = 4 * 1024 * 1024;
export const maxSummaryCharacters = 8_000;
/** Keeps saved names within the file system's 255 bytes, and paths short enough for the prompt. */
export const maxNameCharacters = 100;
export const maxNameBytes = 200;
