/** Restores the environment: visible variables, and the secrets that the launcher removed (secret-environment.mjs). */
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { devNull } from "node:os";
import { z } from "zod";
import type { Environment } from "../config/environment.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";

const marker = "REMORA_ENVIRONMENT";
const variables = z.record(z.string(), z.string());

/** Must be called at most once, because it closes the launcher's file after reading it. */
export function takeEnvironment(): Environment {
  const { [marker]: descriptor, ...shown } = process.env;
  if (descriptor === undefined) return shown;
  delete process.env[marker];
  try {
    // The launcher's file is unlinked. Reading anything else from descriptor 0 could block the start.
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
