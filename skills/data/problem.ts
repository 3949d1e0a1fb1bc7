/** A problem of data, SQL or options: an answer for the model, unlike a bug. */
import { RemoraError } from "../../src/plugin-sdk/errors.ts";

export function dataProblem(place: string, message: string): RemoraError {
  return new RemoraError({ code: "data.problem", place, message });
}
