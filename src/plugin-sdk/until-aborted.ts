export { untilAborted } from "../lib/until-aborted.ts";
