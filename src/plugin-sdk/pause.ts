/** A pause that an abort ends at once. */
export { pause } from "../lib/backoff.ts";
