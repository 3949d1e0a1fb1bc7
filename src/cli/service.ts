/** `remora service` installs Remora as a service of systemd or launchd, shows it, and removes it. */
import { mkdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Environment } from "../config/environment.ts";
import { packageFolder, type Settings } from "../config/settings.ts";
import { onlyVariables, secretVariables } from "../config/variable-names.ts";
import { waitUntilReady } from "../health/wait-until-ready.ts";
import { runProgram } from "../service/run-program.ts";
import { createLaunchdService, createSystemdService, type Service } from "../service/service.ts";
import { serviceError } from "../service/service-error.ts";
import type { ServicePlan } from "../service/systemd-unit.ts";
import { settingsFor } from "./settings.ts";
import { isInstalledPackage } from "./working-folder.mjs";

export interface ServiceCommandOptions {
  system?: boolean;
  runAs?: string;
  yes?: boolean;
}

/** As `npm start`: V8 else takes as much memory as the machine has to spare. */
const nodeOptions = ["--max-semi-space-size=8"];
/** How people call Remora here. */
const command = isInstalledPackage() ? "remora" : "npm run -s remora --";
const maxWaitMs = 60_000;

export async function serviceInstallCommand(env: Environment, root: string, options: ServiceCommandOptions) {
  const settings = settingsFor(env, root);
  const plan = await planFor(env, root, settings, options);
  const service = serviceFor(plan, settings);
  await service.check();
  say([`This service would be written to ${service.file}:`, "", service.text]);
  say(
    onlyInShell(env, settings).map(
      (name) => `Note: ${name} is set in this shell only. Put it into ${settings.envFile}.`,
    ),
  );
  if (!(await isConfirmed(options, "Install and start it?"))) return say(["Nothing was changed."]);
  for (const folder of [settings.workspace, settings.data]) await makeFolder(folder, plan.user);
  const since = Date.now();
  say(await service.install());
  say([await readyText(settings, since)]);
  say([`To see what it does: ${command} service status, ${command} service logs -f`]);
}

export async function serviceUninstallCommand(env: Environment, root: string, options: ServiceCommandOptions) {
  const settings = settingsFor(env, root);
  const service = serviceFor(await planFor(env, root, settings, { ...options, runAs: "nobody" }), settings);
  await service.check();
  if (!(await isConfirmed(options, `Stop Remora and remove ${service.file}?`))) return say(["Nothing was changed."]);
  say(await service.uninstall());
}

/** `args` go to journalctl, such as `-f` or `-n 50`. */
export async function serviceShowCommand(
  env: Environment,
  root: string,
  what: "status" | "logs",
  args: readonly string[],
  options: ServiceCommandOptions,
): Promise<void> {
  const settings = settingsFor(env, root);
  const service = serviceFor(await planFor(env, root, settings, { ...options, runAs: "nobody" }), settings);
  process.exitCode = what === "status" ? await service.status() : await service.logs(args);
}

function serviceFor(plan: ServicePlan, settings: Settings): Service {
  const options = { plan, home: homedir(), uid: process.getuid?.() ?? -1, run: runProgram, command };
  if (process.platform === "linux") return createSystemdService(options);
  if (process.platform === "darwin") return createLaunchdService(options, join(settings.data, "logs", "service.log"));
  throw serviceError("services work with systemd (Linux) and launchd (macOS). Here, start Remora with npm start");
}

async function planFor(
  env: Environment,
  root: string,
  { workspace, data, envFile, config }: Settings,
  { system, runAs }: ServiceCommandOptions,
): Promise<ServicePlan> {
  const named = env.REMORA_ENV_FILE ?? "";
  return {
    scope: system === true ? "system" : "user",
    ...(system === true ? { user: runAs ?? (await ownerOf(root)) } : {}),
    workingFolder: root,
    writable: [...new Set([workspace, data, ...Object.values(config.folders)])],
    node: process.execPath,
    nodeOptions,
    script: resolve(packageFolder, "src/remora.mjs"),
    ...(named === "" ? {} : { envFile }),
  };
}

/** A service with the rights of root would give every command that a model runs more than it needs. */
async function ownerOf(root: string): Promise<string> {
  const { uid } = await stat(root);
  const { code, output } = await runProgram("id", ["-nu", String(uid)]);
  if (uid !== 0 && code === 0) return output;
  throw serviceError(
    `${root} belongs to root. Give it to a user of its own (sudo useradd --system remora; sudo chown -R remora ${root}), or name one with --run-as`,
  );
}

/** The service does not get this shell's environment. */
function onlyInShell(env: Environment, settings: Settings): string[] {
  const names = new Set<string>([...secretVariables, ...onlyVariables]);
  names.delete("REMORA_ENV_FILE");
  const inFile = new Set(
    settings.sources.filter(({ place }) => place.startsWith(settings.envFile)).map(({ key }) => key),
  );
  return [...names].filter((name) => (env[name] ?? "") !== "" && !inFile.has(name));
}

async function makeFolder(folder: string, user: string | undefined): Promise<void> {
  const made = await mkdir(folder, { recursive: true });
  if (made !== undefined && user !== undefined) await runProgram("chown", ["-R", user, made]);
}

async function isConfirmed({ yes }: ServiceCommandOptions, message: string): Promise<boolean> {
  if (yes === true) return true;
  if (process.stdin.isTTY !== true) throw serviceError("nobody can be asked here. Add --yes");
  const { confirm } = await import("@clack/prompts");
  return (await confirm({ message })) === true;
}

async function readyText({ data }: Settings, since: number): Promise<string> {
  const lines = await waitUntilReady({ data, since, maxMs: maxWaitMs });
  if (lines === undefined) return "It is ready.";
  process.exitCode = 1;
  return `It was not ready after ${maxWaitMs / 1_000} seconds: ${lines.join("; ")}. For the reason: ${command} service logs -n 50. To take it back: ${command} service uninstall`;
}

function say(lines: readonly string[]): void {
  if (lines.length > 0) process.stdout.write(`${lines.join("\n")}\n`);
}
