/** Gives tool calls ids that are unique in their turn and valid for every service, queue and file system. */

/** Services limit ids to 64 characters. This limit leaves room for a suffix. */
const maxIdLength = 56;

/** Uses the model's own id if possible. A number makes a missing or repeated id unique. */
export function uniqueCallId(wanted: string, taken: ReadonlySet<string>): string {
  const base = wanted.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, maxIdLength) || "call";
  if (wanted !== "" && !taken.has(base)) return base;
  for (let number = wanted === "" ? 1 : 2; ; number += 1) {
    const id = `${base}-${number}`;
    if (!taken.has(id)) return id;
  }
}
