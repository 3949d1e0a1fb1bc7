/** Ids as file names. Call ids come from the model, so nothing is taken for granted about them. */
import { createHash } from "node:crypto";

/** Only harmless characters stay, and ids that lose some are told apart by a hash. */
export function fileNameOf(id: string): string {
  const clean = id.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 100);
  return clean === id ? clean : `${clean}-${createHash("sha256").update(id).digest("hex").slice(0, 12)}`;
}
