/** `remora start` starts the agent, prints its address and state, and stops it on SIGINT and SIGTERM. */
import { existsSync } from "node:fs";
import { access, constants, cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type App, type AppReport, createApp } from "../app/app.ts";
import type { Role } from "../app/options.ts";
import type { Environment } from "../config/environment.ts";
import { loadSettings } from "../config/load.ts";
import { packageFolder, type Settings } from "../config/settings.ts";
import { createLog, type LogStream } from "../lib/create-log.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { createRedactor, followingSecrets } from "../lib/redact.ts";
import type { PortWrappers } from "../ports/port-wrappers.ts";
import { installProxies } from "../proxy/install.ts";
import { nameOfProxy } from "../proxy/proxy-rules.ts";
import { createServiceNotifier } from "../service/notify.ts";
import { logsFolderOf } from "../storage/folders.ts";
import { readToken } from "../web/page-token.ts";
import { finishInterruptedRestore } from "./finish-restore.ts";
import { settingsFor } from "./settings.ts";
import { isInstalledPackage } from "./working-folder.mjs";

/** What a start uses of the process that it runs in. */
export interface StartHost {
  stdout: { write(text: string): unknown };
  stderr: LogStream;
  /** Ends the start and the app when the process has to stop. */
  stopWith(starting: AbortController, log: Log): { use(app: App): void };
}

const ownProcess: StartHost = { stdout: process.stdout, stderr: process.stderr, stopWith: stopOnSignals };

export async function start(
  env: Environment,
  root: string,
  { role }: { role: Role },
  { stdout, stderr, stopWith }: StartHost = ownProcess,
): Promise<void> {
  await finishInterruptedRestore(env, root);
  const settings = settingsFor(env, root);
  if (isInstalledPackage()) await copyShippedWorkspace(settings.workspace);
  await checkWritable(settings.workspace);
  const token = await readToken(join(settings.data, "page-token"));
  const redact = followingSecrets(
    () => settings.secrets,
    (secrets) => createRedactor([...secrets.map(({ value }) => value), token]),
  );
  const { level, keepDays } = settings.config.log;
  const log = await createLog(level, redact, {
    stream: stderr,
    ...(keepDays === 0 ? {} : { folder: logsFolderOf(settings.data) }),
  });
  for (const warning of settings.warnings) log.warn({}, warning);
  const starting = new AbortController();
  const stopper = stopWith(starting, log);
  await installProxies(settings.proxies);
  const wrappers = await portWrappers(env.REMORA_PORT_WRAPPERS);
  const reloading = {
    reloadSettings: () => loadSettings(env, root),
    setLogLevel(level: string) {
      log.level = level;
    },
  };
  const app = await createApp({ ...reloading, settings, role, token, redact, log, wrappers, signal: starting.signal });
  const service = createServiceNotifier({ env, isAlive: app.isAlive, log });
  const close = () =>
    Promise.all([service.stopping(), app.close()])
      .then(() => {})
      .finally(log.close);
  stopper.use({ ...app, close });
  try {
    await app.start();
  } catch (thrown) {
    // If starting fails, for example because a port is in use, open connections must not keep the process alive.
    await app.close().catch((again: unknown) => log.error({ error: messageOf(again) }, "stopping failed"));
    log.close();
    throw thrown;
  }
  stdout.write(describe(app.report(), token, settings, role));
  await service.ready();
}

/** A checkout has its workspace; a package that npm has installed starts with an empty folder. */
async function copyShippedWorkspace(workspace: string): Promise<void> {
  if (existsSync(join(workspace, "brain"))) return;
  await cp(join(packageFolder, "workspace"), workspace, { recursive: true, force: false });
}

async function checkWritable(workspace: string): Promise<void> {
  try {
    await mkdir(workspace, { recursive: true });
    await access(workspace, constants.W_OK);
  } catch (cause) {
    const message = `can't be written (${messageOf(cause)}). Check that its disk is not mounted read-only and that this user may write to it`;
    throw new RemoraError({ code: "workspace.unreachable", place: `workspace ${workspace}`, message, cause });
  }
}

/** Only tests set this variable. */
async function portWrappers(path: string | undefined): Promise<PortWrappers> {
  if (path === undefined) return {};
  const module = (await import(pathToFileURL(path).href)) as { wrappers: PortWrappers };
  return module.wrappers;
}

function describe(report: AppReport, token: string, settings: Settings, role: Role): string {
  const inUse = report.providers.filter((provider) => provider.isReady).map((provider) => provider.model);
  const others = report.providers.filter((provider) => !provider.isReady);
  const platforms = report.platforms.filter((platform) => platform.name !== "local");
  const lines = [
    "",
    report.demoInstead === ""
      ? "Remora is ready."
      : "Remora has started, but only the demo answers, which is no AI: no model that the settings name can be used.",
    "",
    role === "worker" || !settings.config.local.enabled
      ? `  Health    ${report.url}/readyz`
      : `  Page      ${report.url}/?token=${token}`,
    ...publicLines(settings, role),
    `  Models    ${inUse.join(", ")}`,
    ...others.map((provider) => `            ${provider.name} is off: ${provider.hint}`),
    ...(platforms.length === 0
      ? [`  Platforms ${pageOnlyText(report.providers.some(({ name, isReady }) => isReady && name !== "demo"))}`]
      : []),
    ...platforms.map((platform) => `  Platform  ${platform.name}: ${platform.detail}`),
    ...proxyLines(settings),
    ...(role === "all" ? [] : [`  Role      ${role}`]),
    `  Skills    ${report.skills.loaded}${report.skills.withProblems === 0 ? "" : `, ${report.skills.withProblems} files with problems: npm run -s remora -- skills check`}`,
    `  Sandbox   ${report.sandbox.holds ? report.sandbox.detail : `does not work: ${report.sandbox.detail}`}`,
    `  Brain     ${settings.workspace}`,
    "",
  ];
  return `${lines.join("\n")}\n`;
}

/** For people elsewhere, who sign in. */
function publicLines({ config: { web } }: Settings, role: Role): string[] {
  return web.publicUrl === null || role === "worker"
    ? []
    : [`  Dashboard ${web.publicUrl}, for people with an account`];
}

function proxyLines({ proxies: { https, http } }: Settings): string[] {
  const names = [https, http].flatMap((proxy) => (proxy === undefined ? [] : [nameOfProxy(proxy)]));
  return names.length === 0 ? [] : [`  Network   through the ${names.join(" and the ")}`];
}

function pageOnlyText(hasModel: boolean): string {
  return `only the page. To connect Slack or Discord${hasModel ? "" : " and a model"}: npm run -s remora -- init`;
}

function isInTerminal(): boolean {
  return process.stdout.isTTY === true || process.stderr.isTTY === true;
}

/** Works even during startup, when there is no app to close yet. */
function stopOnSignals(starting: AbortController, log: Log): { use(app: App): void } {
  let isStopping = false;
  let app: App | undefined;
  const stop = (signal: NodeJS.Signals) => {
    if (isStopping) process.exit(130);
    isStopping = true;
    log.info({ signal }, "stopping; a second signal stops at once");
    starting.abort();
    if (app === undefined) process.exit(0);
    app.close().then(
      () => process.exit(0),
      (thrown: unknown) => {
        log.error({ error: messageOf(thrown) }, "stopping failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  // In a terminal, the signal means that the terminal is closing.
  process.on("SIGHUP", isInTerminal() ? stop : () => void app?.reload());
  return {
    use(created) {
      app = created;
    },
  };
}
