/** Limits of reading files. Sizes of pictures follow what providers scale pictures to anyway. */

/** Larger files are known by type and size only. */
export const maxFileBytes = 100 * 1024 * 1024;
/** A 200-megapixel photo is the largest that phones take. */
export const maxPicturePixels = 200_000_000;
/** https://docs.anthropic.com/en/docs/build-with-claude/vision: larger pictures are scaled down to this edge. */
export const maxPictureEdgePixels = 1_568;
export const maxPictureBytes = 400 * 1024;
/** A text up to this size is given whole. */
export const maxWholeTextBytes = 200 * 1024;
/** Characters of text in a summary. */
export const maxExcerptCharacters = 2_000;

export const pictureTimeoutMs = 20_000;
export const pictureMegabytes = 700;
export const documentTimeoutMs = 20_000;
export const documentMegabytes = 500;
/** Processes at a time. Each may need a CPU core and hundreds of megabytes. */
export const maxProcesses = 2;

/** Of the entries that a zip archive lists. Office files have one for each slide, sheet and picture. */
export const maxZipEntries = 20_000;
/** For each unpacked part of an office file, and for all of them together. */
export const maxPartBytes = 64 * 1024 * 1024;
export const maxUnpackedBytes = 128 * 1024 * 1024;
/** Text compresses 5 to 50 times, a bomb up to 1,032 times. */
export const maxZipRatio = 400;
/** Small parts may have any ratio. */
export const minCheckedPartBytes = 4 * 1024 * 1024;

/** Characters of text that one answer has. */
export const maxTextCharacters = 200_000;
/** Pages that a first look reads, and how long it may take. */
export const maxInspectedPages = 30;
export const maxInspectionMs = 4_000;
/** Columns of a sheet. Cells further to the right are left out. */
export const maxColumns = 1_000;
