/** `remora init` sets the agent up, starts it, and stays in the foreground until Ctrl+C (src/setup). */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Environment } from "../config/environment.ts";
import { readProxies } from "../config/proxies.ts";
import { untilAborted } from "../lib/until-aborted.ts";
import { installProxies } from "../proxy/install.ts";
import { startAgent } from "../setup/agent-process.ts";
import { type Ask, SetupCancelled } from "../setup/ask.ts";
import { askByFlags } from "../setup/ask-by-flags.ts";
import { askOnTerminal } from "../setup/ask-on-terminal.ts";
import { openConfigFile } from "../setup/config-file.ts";
import { openEnvFile } from "../setup/env-file.ts";
import type { Setup, SetupFlags } from "../setup/services.ts";
import { runSetup } from "../setup/setup.ts";
import { setupServices } from "./init-services.ts";
import { settingsFor } from "./settings.ts";

export interface InitOptions extends SetupFlags {
  yes?: boolean;
  /** `--no-start` */
  start: boolean;
}

const cancelledExitCode = 130;

export async function initCommand(env: Environment, root: string, options: InitOptions): Promise<void> {
  const { yes, start, ...flags } = options;
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const ask: Ask =
    isTerminal && yes !== true
      ? askOnTerminal({ input: process.stdin, output: process.stdout })
      : askByFlags({ output: process.stdout, isYes: yes === true });
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stopping.abort());
  const envFile = await openEnvFile(resolve(root, env.REMORA_ENV_FILE || ".env"));
  const config = await openConfigFile(resolve(root, env.REMORA_CONFIG || "config/remora.yaml"));
  await installProxies(readProxies(env).proxies);
  const partial = { ask, flags, envFile, config, environment: env };
  const setup: Setup = { ...partial, services: await setupServices({ ...partial, root }) };
  try {
    const agent = await runSetup(setup, {
      root,
      signal: stopping.signal,
      start: start ? () => startChild(env, root, stopping.signal) : undefined,
    });
    if (agent === undefined && !stopping.signal.aborted) return;
    if (agent === undefined) throw new SetupCancelled();
    await untilAborted(agent.ended, stopping.signal).catch(() => {});
    await agent.stop();
    process.stdout.write("Stopped. npm start starts it again.\n");
  } catch (thrown) {
    if (!(thrown instanceof SetupCancelled)) throw thrown;
    process.stdout.write("Stopped. Your answers are saved. To continue: npm run -s remora -- init\n");
    // A service that does not answer must not hold the process.
    process.exit(cancelledExitCode);
  }
}

async function startChild(env: Environment, root: string, signal: AbortSignal) {
  const program = fileURLToPath(new URL("../remora.mjs", import.meta.url));
  return await startAgent(
    {
      program: process.execPath,
      args: [...process.execArgv, program, "start"],
      cwd: process.cwd(),
      env: process.env,
      readToken: async () => (await readFile(join(settingsFor(env, root).data, "page-token"), "utf8")).trim(),
      onLog: () => {},
    },
    signal,
  );
}
