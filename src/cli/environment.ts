/** The environment that the process was started with: what it shows, and what the launcher took out of it (secret-environment.mjs). */
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { devNull } from "node:os";
import { z } from "zod";
import type { Environment } from "../config/environment.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";

const marker = "REMORA_ENVIRONMENT";
const variables = z.record(z.string(), z.string());

/**
 * At most once: what was handed over is read to its end and given up, and descriptor 0 is empty from then on. Throws with
 * code `start.environment` when the marker is set and nothing was handed over.
 */
export function takeEnvironment(): Environment {
  const { [marker]: descriptor, ...shown } = process.env;
  if (descriptor === undefined) return shown;
  delete process.env[marker];
  try {
    // The launcher's file has no name. Anything else at descriptor 0 is not the launcher's, and could keep the start waiting.
    const { nlink } = fstatSync(0);
    if (nlink !== 0) throw new Error("descriptor 0 is not the launcher's file");
    const hidden = variables.parse(JSON.parse(readFileSync(0, "utf8")));
    closeSync(0);
    openSync(devNull, "r");
    return { ...shown, ...hidden };
  } catch (thrown) {
    throw new RemoraError({
      code: "start.environment",
      place: marker,
      message: `the launcher's variables can't be read (${messageOf(thrown)}); unset ${marker} and start again`,
      cause: thrown,
    });
  }
}
