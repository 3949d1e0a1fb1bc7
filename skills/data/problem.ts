/** What is wrong with data, SQL or options: an answer for the model, told apart from bugs. */
import { RemoraError } from "../../src/plugin-sdk/errors.ts";

export function dataProblem(place: string, message: string): RemoraError {
  return new RemoraError({ code: "data.problem", place, message });
}
