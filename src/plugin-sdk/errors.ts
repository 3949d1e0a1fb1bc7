/** Error helpers for messages to the model and to people. */
export { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
