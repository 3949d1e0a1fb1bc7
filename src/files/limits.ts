/** Limits of fetched files. Operators set the sizes (`files` in the configuration). */

export const maxFilesPerMessage = 20;
/** Message folders of one inbox. Each has a mark (ports/file-origins.ts), and the number of marks is limited. */
export const maxInboxMessages = 300;
/** One attempt to download one file. */
export const maxDownloadMs = 120_000;
/** Text that goes into the prompt completely; the budget may cut it there. */
export const maxInlineTextBytes = 200 * 1024;
/** Text and pictures of one message in the prompt. The turn's record holds them. The model gets a first look at the others. */
export const maxInlineBytesPerMessage = 4 * 1024 * 1024;
export const maxSummaryCharacters = 8_000;
/** Keep a saved name within the file system's 255 bytes, and its path short enough for an attribute of the prompt. */
export const maxNameCharacters = 100;
export const maxNameBytes = 200;
