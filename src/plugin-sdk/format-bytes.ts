/** Formats a size in bytes for people. */
export { formatBytes } from "../lib/text/format-bytes.ts";
