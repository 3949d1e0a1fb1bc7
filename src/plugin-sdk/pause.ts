/** A pause that an abort ends immediately. */
export { pause } from "../lib/backoff.ts";
