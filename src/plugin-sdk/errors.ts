/** Errors for the model and for people. */
export { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
