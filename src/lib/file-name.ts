/** Turns ids into file names. Call ids come from the model and can contain anything. */
import { createHash } from "node:crypto";

/** Keeps only harmless characters. If an id loses characters, a hash keeps its name unique. */
export function fileNameOf(id: string): string {
  const clean = id.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 100);
  return clean === id ? clean : `${clean}-${createHash("sha256").update(id).digest("hex").slice(0, 12)}`;
}
