export { pause } from "../lib/backoff.ts";
