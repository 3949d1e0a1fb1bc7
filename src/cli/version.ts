/** The version of this Remora. */
import { createRequire } from "node:module";

export const installedVersion = (createRequire(import.meta.url)("../../package.json") as { version: string }).version;
