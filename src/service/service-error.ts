import { RemoraError } from "../lib/errors.ts";

export function serviceError(message: string): RemoraError {
  return new RemoraError({ code: "service.failed", place: "service", message });
}
