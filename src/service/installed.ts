/** The service that `service install` has set up for a folder: whether it runs, and how to stop and start it. */
import { readFile } from "node:fs/promises";
import { launchdLabel, workingFolderOfPlist } from "./launchd-plist.ts";
import { must, type RunProgram } from "./run-program.ts";
import { launchdFile, systemdUnitFile, unitName } from "./service.ts";
import { serviceError } from "./service-error.ts";
import { type ServiceScope, workingFolderOf } from "./systemd-unit.ts";

export interface InstalledService {
  /** Also true while it starts, or waits to be started again after a crash. */
  isRunning(): Promise<boolean>;
  stop(): Promise<void>;
  /** Does not wait until Remora is ready. */
  start(): Promise<void>;
}

export interface InstalledServiceOptions {
  platform: NodeJS.Platform;
  workingFolder: string;
  home: string;
  uid: number;
  run: RunProgram;
}

/** Resolves to undefined if there is no service for the folder. Rejects if only root can stop it. */
export async function findInstalledService(options: InstalledServiceOptions): Promise<InstalledService | undefined> {
  const { platform, workingFolder, home, uid, run } = options;
  const isOurs = async (file: string, folderOf: (text: string) => string | undefined) =>
    folderOf(await readFile(file, "utf8").catch(() => "")) === workingFolder;
  if (platform === "darwin")
    return (await isOurs(launchdFile(home), workingFolderOfPlist)) ? launchdService(home, uid, run) : undefined;
  for (const scope of ["user", "system"] as const) {
    if (!(await isOurs(systemdUnitFile(scope, home), workingFolderOf))) continue;
    const service = systemdService(scope, run);
    if (scope === "system" && uid !== 0 && (await service.isRunning()))
      throw serviceError(
        "Remora runs as a service of the machine, which only root can stop. Run `sudo systemctl stop remora`, this command again, and `sudo systemctl start remora`",
      );
    return service;
  }
  return undefined;
}

function systemdService(scope: ServiceScope, run: RunProgram): InstalledService {
  const words = (verb: string) => [...(scope === "user" ? ["--user"] : []), verb, unitName];
  return {
    isRunning: async () =>
      /^(?:active|activating|reloading)$/.test((await run("systemctl", words("is-active"))).output),
    stop: () => must(run, "systemctl", words("stop")),
    start: () => must(run, "systemctl", words("start")),
  };
}

function launchdService(home: string, uid: number, run: RunProgram): InstalledService {
  const target = `gui/${uid}`;
  return {
    isRunning: async () => (await run("launchctl", ["print", `${target}/${launchdLabel}`])).code === 0,
    stop: () => must(run, "launchctl", ["bootout", `${target}/${launchdLabel}`]),
    start: () => must(run, "launchctl", ["bootstrap", target, launchdFile(home)]),
  };
}
