/**
 * Deletions in a layer, as overlayfs wants them: character devices 0:0. Node can't make one; `mknod` makes the first, which
 * Linux (≥ 5.8) allows ordinary users too, and the others are hard links to it.
 */
import { execFile } from "node:child_process";
import { linkSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "../../lib/errors.ts";

export interface WhiteoutMaker {
  /** `path` must be free. Rejects when `mknod` fails. */
  make(path: Buffer): Promise<void>;
}

/** `scratch` is a folder on the same file system as what is made. */
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
        // The file system allows no more links, or none at all.
        if (codeOf(thrown) !== "EMLINK" && codeOf(thrown) !== "EPERM") throw thrown;
        renameSync(source, path);
        isMade = false;
      }
    },
  };
}
