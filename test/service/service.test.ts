/** What is written, which programs are run in which order, and what goes wrong. systemctl itself is a double. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findInstalledService } from "../../src/service/installed.ts";
import { launchdPlist } from "../../src/service/launchd-plist.ts";
import type { Ran } from "../../src/service/run-program.ts";
import { createLaunchdService, createSystemdService } from "../../src/service/service.ts";
import { type ServicePlan, systemdUnit } from "../../src/service/systemd-unit.ts";

const plan: ServicePlan = {
  scope: "user",
  workingFolder: "/srv/100% remora",
  writable: ["/srv/data", "/srv/my files"],
  node: "/usr/bin/node",
  nodeOptions: ["--max-semi-space-size=8"],
  script: "/srv/100% remora/$HOME/remora.mjs",
};
let home: string;
let ran: string[];
let answers: Record<string, Ran>;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "remora-service-"));
  ran = [];
  answers = {};
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const run = async (name: string, args: readonly string[]): Promise<Ran> => {
  const line = [name, ...args].join(" ");
  ran.push(line);
  return answers[line] ?? { code: 0, output: "running" };
};
const systemd = (given: Partial<ServicePlan> = {}, uid = 1000) =>
  createSystemdService({ plan: { ...plan, ...given }, home, uid, run, command: "remora" });

test("a unit has escaped words, restarts, a watchdog, and takes away what the sandbox does not need", () => {
  const unit = systemdUnit({ ...plan, scope: "system", user: "bot", envFile: "/srv/$x/.env" });
  expect(unit).toContain(
    'ExecStart=/usr/bin/node --max-semi-space-size=8 "/srv/100%% remora/$$HOME/remora.mjs" start\n',
  );
  expect(unit).toContain("WorkingDirectory=/srv/100%% remora\n");
  expect(unit).toContain("Environment=REMORA_ENV_FILE=/srv/$x/.env\n");
  expect(unit).toContain('ReadWritePaths=/srv/data "/srv/my files"\n');
  for (const line of ["Type=notify", "User=bot", "Restart=on-failure", "WatchdogSec=60", "NoNewPrivileges=yes"])
    expect(unit.split("\n")).toContain(line);
  for (const line of ["ProtectSystem=strict", "PrivateTmp=yes", "CapabilityBoundingSet="])
    expect(unit.split("\n")).toContain(line);
  // Each of these keeps views from being made.
  expect(unit).not.toMatch(/^(?:ProtectProc|ProcSubset|ProtectKernelTunables|ProtectKernelLogs|RestrictNamespaces)=/m);
  expect(unit).not.toMatch(/^MemoryDenyWriteExecute=yes/m);
});

test("a user's unit needs no mounts, and no secret is in any unit", () => {
  const unit = systemdUnit(plan);
  expect(unit).not.toMatch(/^(?:ProtectSystem|PrivateTmp|ReadWritePaths|User)=/m);
  expect(unit).toContain("WantedBy=default.target\n");
  expect(unit).not.toMatch(/TOKEN|KEY/);
});

test("install writes, enables and starts; a second one updates; uninstall takes all of it back", async () => {
  const service = systemd();
  await service.check();
  expect(await service.install()).toEqual([
    `Wrote ${service.file}`,
    "It starts with the machine.",
    "It keeps running after you log out.",
    "Started it.",
  ]);
  expect(readFileSync(service.file, "utf8")).toBe(systemdUnit(plan));
  expect(ran).toEqual([
    "systemctl --user is-system-running",
    "systemctl --user daemon-reload",
    "systemctl --user enable remora.service",
    "loginctl enable-linger",
    "systemctl --user restart remora.service",
  ]);
  await service.check();
  expect((await service.install())[0]).toBe(`Updated ${service.file}`);
  expect(await service.uninstall()).toContain("Settings, data and workspace are where they were.");
  expect(existsSync(service.file)).toBe(false);
  expect(ran).toContain("systemctl --user disable --now remora.service");
  await expect(service.uninstall()).rejects.toThrow("so nothing was changed");
});

test("what goes wrong says what to do", async () => {
  answers["systemctl --user is-system-running"] = { code: null, output: "spawn systemctl ENOENT" };
  await expect(systemd().check()).rejects.toThrow("systemd does not answer here (spawn systemctl ENOENT)");
  await expect(systemd().status()).rejects.toThrow("systemd does not answer here");
  answers["systemctl --user is-system-running"] = { code: 1, output: "degraded" };
  await systemd().check();
  await expect(systemd({ scope: "system" }).check()).rejects.toThrow("a system service needs root");
  answers["loginctl enable-linger"] = { code: 1, output: "Access denied" };
  expect((await systemd().install()).join("\n")).toContain("It stops when you log out (Access denied)");
  answers["systemctl --user restart remora.service"] = { code: 1, output: "timeout" };
  await expect(systemd().install()).rejects.toThrow("failed: timeout. For the reason: remora service logs -n 50");
});

test("a service of another folder, or of somebody else, stays untouched", async () => {
  const { file } = systemd();
  await systemd({ workingFolder: "/srv/other" }).install();
  await expect(systemd().check()).rejects.toThrow("runs Remora in /srv/other");
  await expect(systemd().uninstall()).rejects.toThrow("runs Remora in /srv/other");
  writeFileSync(file, "[Service]\n");
  await expect(systemd().check()).rejects.toThrow("was not written by Remora");
});

test("an upgrade finds the service of its folder, and no other", async () => {
  const find = (platform: NodeJS.Platform, workingFolder = plan.workingFolder, uid = 1000) =>
    findInstalledService({ platform, workingFolder, home, uid, run });
  expect(await find("linux")).toBeUndefined();
  await systemd().install();
  expect(await find("linux", "/srv/other")).toBeUndefined();
  const service = await find("linux");
  answers["systemctl --user is-active remora.service"] = { code: 0, output: "active" };
  expect(await service?.isRunning()).toBe(true);
  answers["systemctl --user is-active remora.service"] = { code: 3, output: "failed" };
  expect(await service?.isRunning()).toBe(false);
  answers["systemctl --user start remora.service"] = { code: 1, output: "timeout" };
  await expect(service?.start()).rejects.toThrow("`systemctl --user start remora.service` failed: timeout");
  await createLaunchdService({ plan, home, uid: 501, run, command: "remora" }, join(home, "x.log")).install();
  const agent = await find("darwin", plan.workingFolder, 501);
  ran = [];
  await agent?.stop();
  await agent?.start();
  expect(ran).toEqual([
    "launchctl bootout gui/501/remora",
    `launchctl bootstrap gui/501 ${join(home, "Library/LaunchAgents/remora.plist")}`,
  ]);
});

test("on macOS, an agent restarts after a failure, and text in it is escaped", async () => {
  expect(launchdPlist({ ...plan, workingFolder: "/a & <b>" }, "/log")).toContain("<string>/a &amp; &lt;b&gt;</string>");
  expect(launchdPlist(plan, "/log")).toContain("<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>");
  mkdirSync(join(home, "Library"));
  const service = createLaunchdService({ plan, home, uid: 501, run, command: "remora" }, join(home, "log", "x.log"));
  await service.install();
  expect(ran).toEqual(["launchctl bootout gui/501/remora", `launchctl bootstrap gui/501 ${service.file}`]);
  await service.uninstall();
  expect(existsSync(service.file)).toBe(false);
});
