/** A problem with data, SQL or options. It is an answer for the model, not a bug. */
import { RemoraError } from "../../src/plugin-sdk/errors.ts";

export function dataProblem(place: string, message: string): RemoraError {
  return new RemoraError({ code: "data.problem", place, message });
}
