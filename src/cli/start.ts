/** `remora start` starts the agent, prints its address and state, and stops it on SIGINT and SIGTERM. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type App, type AppReport, createApp } from "../app/app.ts";
import type { Role } from "../app/options.ts";
import type { Environment } from "../config/environment.ts";
import type { Settings } from "../config/settings.ts";
import { createLog } from "../lib/create-log.ts";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { createRedactor } from "../lib/redact.ts";
import type { PortWrappers } from "../ports/port-wrappers.ts";
import { readToken } from "../web/page-token.ts";
import { settingsFor } from "./settings.ts";

export async function start(env: Environment, root: string, { role }: { role: Role }): Promise<void> {
  const settings = settingsFor(env, root);
  const token = await readToken(join(settings.data, "page-token"));
  const redact = createRedactor([...settings.secrets.map(({ value }) => value), token]);
  const log = await createLog(settings.config.log.level, redact);
  const starting = new AbortController();
  const stopper = stopOnSignals(starting, log);
  const wrappers = await portWrappers(env.REMORA_PORT_WRAPPERS);
  const app = await createApp({ settings, role, token, redact, log, wrappers, signal: starting.signal });
  stopper.use(app);
  try {
    await app.start();
  } catch (thrown) {
    // If starting fails, for example because a port is in use, open connections must not keep the process alive.
    await app.close().catch((again: unknown) => log.error({ error: messageOf(again) }, "stopping failed"));
    throw thrown;
  }
  process.stdout.write(describe(app.report(), token, settings, role));
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
    "Remora is ready.",
    "",
    ...(role === "worker"
      ? [`  Health    ${report.url}/readyz`]
      : settings.config.local.enabled
        ? [`  Page      ${report.url}/?token=${token}`]
        : []),
    `  Models    ${inUse.join(", ")}`,
    ...others.map((provider) => `            ${provider.name} is off: ${provider.hint}`),
    ...(platforms.length === 0 ? [`  Platforms ${pageOnlyText}`] : []),
    ...platforms.map((platform) => `  Platform  ${platform.name}: ${platform.detail}`),
    ...(role === "all" ? [] : [`  Role      ${role}`]),
    `  Skills    ${report.skills.loaded}${report.skills.withProblems === 0 ? "" : `, ${report.skills.withProblems} files with problems: npm run -s remora -- skills check`}`,
    `  Sandbox   ${report.sandbox.holds ? report.sandbox.detail : `does not work: ${report.sandbox.detail}`}`,
    `  Brain     ${settings.workspace}`,
    "",
  ];
  return `${lines.join("\n")}\n`;
}

const pageOnlyText =
  "only the page. To add Discord or Slack, set DISCORD_TOKEN, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN (docs/discord.md, docs/slack.md)";

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
  return {
    use(created) {
      app = created;
    },
  };
}
