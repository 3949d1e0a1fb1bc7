/** Defines the outcomes of a step on the real folder, and which errors count as expected failures. */
import { codeOf } from "../../lib/errors.ts";
import type { RawPath } from "./raw-path.ts";

export type ChangeOutcome = { type: "ok" } | { type: "conflict"; paths: RawPath[] } | ChangeFailure;

export interface ChangeFailure {
  type: "failed";
  path: RawPath;
  reason: string;
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EACCES: "permission denied",
  EPERM: "the system does not permit it",
  EROFS: "the file system is read-only",
  EXDEV: "it is on another file system than its folder",
  EMFILE: "too many files are open",
  EIO: "the disk reports an error",
};

/** Describes a file system error. Rethrows everything else, such as bugs and aborts. */
export function failureOf(thrown: unknown, path: RawPath): ChangeFailure {
  const code = codeOf(thrown);
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) throw thrown;
  return { type: "failed", path, reason: reasons[code] ?? `the system says ${code}` };
}
