/**
 * Finds an upgrade that was interrupted. JavaScript without imports of other files, because after a power cut the code may
 * be that of two versions.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const back = "npm run -s remora -- upgrade --back";
const steps = {
  stop: "while stopping the service",
  backup: "while backing up",
  code: "while putting the new code in place",
  packages: "while installing packages",
  trial: "while trying the new version on a copy of the data",
  data: "while migrating and checking the data",
  start: "while starting the new version",
  returning: "while going back",
};

export function interruptedUpgrade(root) {
  const note = noteIn(root);
  const where = note === undefined ? undefined : steps[note.step];
  if (where === undefined || isRunning(note.pid)) return undefined;
  const what = `the upgrade to Remora ${note.to.version} was interrupted ${where}`;
  if (note.step === "start")
    return { what, todo: `Finish it: npm run -s remora -- upgrade. Or go back: ${back}`, mayRun: true };
  return {
    what: `${what}${note.isCodeTouched ? "" : ", and nothing was changed"}`,
    todo: `Go back, which also starts what was stopped: ${back}`,
    mayRun: !note.isCodeTouched,
    rescue: `If that fails, run: git checkout --force ${note.from.commit} -- src scripts skills package.json package-lock.json`,
  };
}

function noteIn(root) {
  try {
    return JSON.parse(readFileSync(join(root, "backups", "upgrade.json"), "utf8"));
  } catch {
    return undefined;
  }
}

/** The upgrade is still at work, and runs commands itself. After a restart of the machine, its id may be another's. */
function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("upgrade");
  } catch (thrown) {
    return thrown.code === "EPERM";
  }
}
