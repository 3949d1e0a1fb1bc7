/** Gives tool calls ids that are unique in their turn and valid for every service, queue and file system. */

import { createHash } from "node:crypto";

/** Services limit ids to 64 characters. This limit leaves room for a suffix. */
const maxIdLength = 56;

/**
 * Uses the model's own id if possible. A number makes a missing or repeated id unique. Of a long id nothing is kept, because
 * LiteLLM appends Gemini's signature to it, and part of a signature is refused.
 */
export function uniqueCallId(wanted: string, taken: ReadonlySet<string>): string {
  const digest = () => createHash("sha256").update(wanted).digest("hex").slice(0, 24);
  const isLong = wanted.length > maxIdLength;
  const base = isLong ? `call_${digest()}` : wanted.replaceAll(/[^A-Za-z0-9_-]/g, "_") || "call";
  if (wanted !== "" && !taken.has(base)) return base;
  for (let number = wanted === "" ? 1 : 2; ; number += 1) {
    const id = `${base}-${number}`;
    if (!taken.has(id)) return id;
  }
}
