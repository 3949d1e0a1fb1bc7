/** Limits for reading files. Picture sizes match what providers scale pictures down to anyway. */

/** For larger files, only type and size are reported. */
export const maxFileBytes = 100 * 1024 * 1024;
/** Phones take photos of up to 200 megapixels. */
export const maxPicturePixels = 200_000_000;
/** https://docs.anthropic.com/en/docs/build-with-claude/vision: larger pictures are scaled down to this edge. */
export const maxPictureEdgePixels = 1_568;
export const maxPictureBytes = 400 * 1024;
/** Text up to this size is returned in full. */
export const maxWholeTextBytes = 200 * 1024;
/** Characters of text in a summary. */
export const maxExcerptCharacters = 2_000;

export const pictureTimeoutMs = 20_000;
export const pictureMegabytes = 700;
export const documentTimeoutMs = 20_000;
export const documentMegabytes = 500;
/** Concurrent processes. Each may need a CPU core and hundreds of megabytes. */
export const maxProcesses = 2;

/** Entries that a zip archive may list. Office files have one per slide, sheet and picture. */
export const maxZipEntries = 20_000;
/** For each unpacked part of an office file, and for all of them together. */
export const maxPartBytes = 64 * 1024 * 1024;
export const maxUnpackedBytes = 128 * 1024 * 1024;
/** Text compresses by a factor of 5 to 50, a zip bomb by up to 1,032. */
export const maxZipRatio = 400;
/** Smaller parts may have any ratio. */
export const minCheckedPartBytes = 4 * 1024 * 1024;

/** Maximum characters of text in one answer. */
export const maxTextCharacters = 200_000;
/** How many pages an inspection reads, and how long it may take. */
export const maxInspectedPages = 30;
export const maxInspectionMs = 4_000;
/** Columns read from a sheet. Cells further right are omitted. */
export const maxColumns = 1_000;
