/** Errors as the model and people read them. */
export { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
