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
