/**
 * The real agent within the test's process: the same start, configuration, page and services as a process of its own
 * (remora-process.ts), for a fifth of its processor time. Not for tests of what only a process has: signals, kills, its
 * environment, its exit, and the proxies of its requests.
 */
import { resolve } from "node:path";
import { PassThrough } from "node:stream";
import type { App } from "../../src/app/app.ts";
import type { Role } from "../../src/app/options.ts";
import { start } from "../../src/cli/start.ts";
import { environmentOf, linkIn, type RemoraHome, type RunningRemora } from "./remora-process.ts";

export { createHome, type RemoraHome, type RunningRemora } from "./remora-process.ts";

const project = resolve(import.meta.dirname, "../..");

/** `args`: none, or `--role` and a role. Rejects with the agent's error if the start fails. */
export async function startRemora(
  home: RemoraHome,
  env: Record<string, string> = {},
  [, role = "all"]: string[] = [],
): Promise<RunningRemora> {
  const [stdout, stderr] = [collector(), collector()];
  let app: App | undefined;
  await start(
    environmentOf(home, env),
    project,
    { role: role as Role },
    {
      stdout: stdout.stream,
      stderr: stderr.stream,
      stopWith: () => ({ use: (created) => (app = created) }),
    },
  );
  return {
    ...linkIn(stdout.text()),
    home,
    stdout: stdout.text,
    stderr: stderr.text,
    async stop() {
      await app?.close();
      return 0;
    },
  };
}

function collector(): { stream: PassThrough; text(): string } {
  const stream = new PassThrough();
  let text = "";
  stream.on("data", (chunk) => {
    text += chunk;
  });
  return { stream, text: () => text };
}
