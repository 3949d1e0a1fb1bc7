/**
 * The text of Remora's systemd unit. The sandbox decides what it can take away: views need user namespaces and mount a
 * /proc of their own, which the kernel allows only while nothing covers parts of /proc. So ProtectProc, ProcSubset,
 * ProtectKernelTunables, ProtectKernelLogs and RestrictNamespaces stay off. V8 needs writable and executable memory.
 */

export type ServiceScope = "user" | "system";

export interface ServicePlan {
  scope: ServiceScope;
  /** For `system`: whose rights the service has. */
  user?: string;
  /** Absolute paths. */
  workingFolder: string;
  writable: readonly string[];
  node: string;
  nodeOptions: readonly string[];
  script: string;
  envFile?: string;
}

const watchdogSeconds = 60;
const startSeconds = 300;
/** Longer than `shutdown.graceMs` by default. */
const stopSeconds = 30;

/** Nothing that needs a mount: a user's systemd can't make one everywhere. */
const always = [
  "NoNewPrivileges=yes",
  "LockPersonality=yes",
  "RestrictRealtime=yes",
  "RestrictSUIDSGID=yes",
  "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
  "SystemCallArchitectures=native",
  "SystemCallFilter=~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap",
  "SystemCallErrorNumber=EPERM",
  "UMask=0077",
];
const systemOnly = [
  "CapabilityBoundingSet=",
  "AmbientCapabilities=",
  "DevicePolicy=closed",
  "PrivateTmp=yes",
  "ProtectClock=yes",
  "ProtectControlGroups=yes",
  "ProtectHome=read-only",
  "ProtectKernelModules=yes",
  "ProtectSystem=strict",
  "RemoveIPC=yes",
];

export function systemdUnit(plan: ServicePlan): string {
  const { scope, user, workingFolder, writable } = plan;
  const words = [plan.node, ...plan.nodeOptions, plan.script, "start"].map((word) =>
    quoted(word.replaceAll("$", "$$$$")),
  );
  const lines = [
    "# Written by `service install`, which replaces it. `service uninstall` removes it.",
    "[Unit]",
    "Description=Remora, an agent for Discord and Slack",
    ...(scope === "system" ? ["Wants=network-online.target", "After=network-online.target"] : []),
    "StartLimitIntervalSec=10min",
    "StartLimitBurst=10",
    "",
    "[Service]",
    "Type=notify",
    "# Node can't write to the notification socket itself, so a short-lived `systemd-notify` does.",
    "NotifyAccess=all",
    `WatchdogSec=${watchdogSeconds}`,
    `TimeoutStartSec=${startSeconds}`,
    `TimeoutStopSec=${stopSeconds}`,
    `WorkingDirectory=${escaped(workingFolder)}`,
    ...(user === undefined ? [] : [`User=${user}`]),
    ...(plan.envFile === undefined ? [] : [`Environment=${quoted(`REMORA_ENV_FILE=${plan.envFile}`)}`]),
    `ExecStart=${words.join(" ")}`,
    "ExecReload=kill -HUP $MAINPID",
    "KillMode=mixed",
    "Restart=on-failure",
    "RestartSec=5",
    "",
    ...always,
    ...(scope === "system" ? [...systemOnly, `ReadWritePaths=${writable.map(quoted).join(" ")}`] : []),
    "",
    "[Install]",
    `WantedBy=${scope === "system" ? "multi-user.target" : "default.target"}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** The folder that a unit works in. Undefined if the text is not one of ours. */
export function workingFolderOf(unit: string): string | undefined {
  const [, folder] = /^WorkingDirectory=(.+)$/m.exec(unit) ?? [];
  return folder?.replaceAll("%%", "%");
}

function escaped(text: string): string {
  return text.replaceAll("%", "%%");
}

/** `%` starts a specifier. In a command line, `$` starts a variable, so the caller doubles it. */
function quoted(text: string): string {
  const safe = escaped(text);
  return /^[\w./:=@%+,$-]+$/.test(safe) ? safe : `"${safe.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
