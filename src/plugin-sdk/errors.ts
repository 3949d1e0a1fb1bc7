export { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
