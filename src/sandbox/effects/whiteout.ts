/** Creates whiteouts (devices 0:0), which mark deletions for overlayfs. Without root, needs Linux 5.8. */
import { execFile } from "node:child_process";
import { linkSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "../../lib/errors.ts";

export interface WhiteoutMaker {
  /** `path` must not exist. */
  make(path: Buffer): Promise<void>;
}

/** `scratch` must be on the whiteouts' file system. `mknod` creates one there; the others are hard links to it. */
export function createWhiteoutMaker(scratch: string): WhiteoutMaker {
  const source = join(scratch, "whiteout");
  let isMade = false;

  async function makeSource() {
    rmSync(source, { force: true });
    await promisify(execFile)("mknod", [source, "c", "0", "0"]);
    isMade = true;
  }

  return {
    async make(path) {
      if (!isMade) await makeSource();
      try {
        linkSync(source, path);
      } catch (thrown) {
        // The file system allows no more hard links to this file, or no hard links at all.
        if (codeOf(thrown) !== "EMLINK" && codeOf(thrown) !== "EPERM") throw thrown;
        renameSync(source, path);
        isMade = false;
      }
    },
  };
}
