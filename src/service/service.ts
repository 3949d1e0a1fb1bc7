/** Installs, removes and shows Remora as a service of systemd or launchd. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../lib/atomic-write.ts";
import { launchdLabel, launchdPlist } from "./launchd-plist.ts";
import { must, type RunProgram } from "./run-program.ts";
import { serviceError } from "./service-error.ts";
import { type ServicePlan, type ServiceScope, systemdUnit, workingFolderOf } from "./systemd-unit.ts";

export interface Service {
  file: string;
  text: string;
  /** Throws if a service of another folder has the name, or if this machine has no service manager. */
  check(): Promise<void>;
  /** Writes the file, and starts the service now and with the machine. Returns what it did. */
  install(): Promise<string[]>;
  uninstall(): Promise<string[]>;
  status(): Promise<number>;
  logs(args: readonly string[]): Promise<number>;
}

export interface ServiceOptions {
  plan: ServicePlan;
  home: string;
  uid: number;
  run: RunProgram;
  /** How people call Remora here, such as `remora`. */
  command: string;
}

export const unitName = "remora.service";

export function systemdUnitFile(scope: ServiceScope, home: string): string {
  return join(scope === "user" ? join(home, ".config/systemd/user") : "/etc/systemd/system", unitName);
}

export function launchdFile(home: string): string {
  return join(home, "Library/LaunchAgents", `${launchdLabel}.plist`);
}

export function createSystemdService({ plan, home, uid, run, command }: ServiceOptions): Service {
  const isUser = plan.scope === "user";
  const file = systemdUnitFile(plan.scope, home);
  const folder = dirname(file);
  const text = systemdUnit(plan);
  const ofScope = isUser ? ["--user"] : [];
  const systemctl = (...args: string[]) => must(run, "systemctl", [...ofScope, ...args], logsHint(command));

  async function refuseWithoutSystemd(): Promise<void> {
    // `is-system-running` answers with a code of its own, even for a machine in a bad state.
    const { code, output } = await run("systemctl", [...ofScope, "is-system-running"]);
    if (code === null || /not been booted with systemd|Failed to connect|offline/i.test(output))
      throw serviceError(noSystemd(isUser, output, command));
  }

  return {
    ...{ file, text },
    async check() {
      if (!isUser && uid !== 0)
        throw serviceError("a system service needs root. Run it with sudo, or leave --system out");
      await refuseWithoutSystemd();
      await refuseOther(file, plan.workingFolder);
    },
    async install() {
      const isUpdate = existsSync(file);
      await mkdir(folder, { recursive: true });
      await writeFileAtomic(file, text);
      await systemctl("daemon-reload");
      await systemctl("enable", unitName);
      const lines = [`${isUpdate ? "Updated" : "Wrote"} ${file}`, "It starts with the machine."];
      if (isUser) lines.push(...(await keepAfterLogout(run)));
      await systemctl("restart", unitName);
      return [...lines, "Started it."];
    },
    async uninstall() {
      if (!existsSync(file)) throw serviceError(`there is no ${file}, so nothing was changed`);
      await refuseOther(file, plan.workingFolder);
      await systemctl("disable", "--now", unitName);
      await rm(file, { force: true });
      await systemctl("daemon-reload");
      await run("systemctl", [...ofScope, "reset-failed", unitName]);
      return removedLines(file);
    },
    async status() {
      await refuseWithoutSystemd();
      return (await run("systemctl", [...ofScope, "status", "--no-pager", unitName], "show")).code ?? 1;
    },
    logs: async (args) =>
      (await run("journalctl", [isUser ? "--user-unit" : "--unit", unitName, ...args], "show")).code ?? 1,
  };
}

export function createLaunchdService({ plan, home, uid, run, command }: ServiceOptions, logFile: string): Service {
  const file = launchdFile(home);
  const target = `gui/${uid}`;
  const text = launchdPlist(plan, logFile);
  return {
    ...{ file, text },
    async check() {
      if (plan.scope === "system")
        throw serviceError("on macOS, Remora runs as an agent of its user. Leave --system out");
    },
    async install() {
      await mkdir(dirname(file), { recursive: true });
      await mkdir(dirname(logFile), { recursive: true });
      await run("launchctl", ["bootout", `${target}/${launchdLabel}`]);
      await writeFileAtomic(file, text);
      await must(run, "launchctl", ["bootstrap", target, file], logsHint(command));
      return [`Wrote ${file}`, "It starts when you log in.", "Started it."];
    },
    async uninstall() {
      if (!existsSync(file)) throw serviceError(`there is no ${file}, so nothing was changed`);
      await run("launchctl", ["bootout", `${target}/${launchdLabel}`]);
      await rm(file, { force: true });
      return removedLines(file);
    },
    status: async () => (await run("launchctl", ["print", `${target}/${launchdLabel}`], "show")).code ?? 1,
    logs: async (args) =>
      (await run("tail", [...(args.length === 0 ? ["-n", "100"] : args), logFile], "show")).code ?? 1,
  };
}

function removedLines(file: string): string[] {
  return ["Stopped it.", `Removed ${file}`, "Settings, data and workspace are where they were."];
}

async function refuseOther(file: string, workingFolder: string): Promise<void> {
  if (!existsSync(file)) return;
  const other = workingFolderOf(await readFile(file, "utf8"));
  if (other === workingFolder) return;
  const whose = other === undefined ? "was not written by Remora" : `runs Remora in ${other}`;
  throw serviceError(`${file} ${whose}. Remove that service first`);
}

/** Without this, systemd ends a user's services at logout. */
async function keepAfterLogout(run: RunProgram): Promise<string[]> {
  const { code, output } = await run("loginctl", ["enable-linger"]);
  if (code === 0) return ["It keeps running after you log out."];
  return [`It stops when you log out (${output}). To change that, run: sudo loginctl enable-linger $USER`];
}

function logsHint(command: string): string {
  return `. For the reason: ${command} service logs -n 50`;
}

function noSystemd(isUser: boolean, output: string, command: string): string {
  const why = output === "" ? "" : ` (${output.split("\n")[0]})`;
  const way = isUser
    ? ` In a shell without a login session, install a system service as root: ${command} service install --system.`
    : "";
  return `systemd does not answer here${why}.${way} In a container, let the container restart Remora: docs/scaling.md`;
}
