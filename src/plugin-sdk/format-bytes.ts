/** A size in bytes, for people. */
export { sizeText } from "../lib/text/format-bytes.ts";
