#!/usr/bin/env node
/**
 * The entry point of `npm start`, the container and the command `remora`. For what runs the agent, takes the secrets out of the
 * environment (secret-environment.mjs) before it loads the command line (main.ts). It is JavaScript because stripping
 * types here would cost 17 MB of memory and 50 ms per start. It must parse on older versions of Node.
 */
import * as nodeModule from "node:module";
import { dirname, resolve } from "node:path";
import { interruptedUpgrade } from "./cli/interrupted-upgrade.mjs";

const minNode = 24;

if (Number(process.versions.node.split(".")[0]) < minNode) {
  process.stderr.write(
    `Remora needs Node ${minNode} or later, and this is Node ${process.versions.node}. Install a current one from https://nodejs.org, or start Remora from a checkout with npm start, which brings its own.\n`,
  );
  process.exit(1);
}
takeEnvFile();
const interrupted = interruptedUpgrade(dirname(import.meta.dirname));
if (interrupted !== undefined && process.argv[2] !== "upgrade") {
  // `start` and `eval` come here twice: once more without their secrets.
  if (process.env.REMORA_ENVIRONMENT === undefined)
    process.stderr.write(`[upgrade] ${interrupted.what}. ${interrupted.todo}\n`);
  // Any command could migrate the data with code that nobody has tried yet.
  if (!interrupted.mayRun) process.exit(1);
}
if (["start", "eval"].includes(process.argv[2]) && process.env.REMORA_ENVIRONMENT === undefined) {
  const { restartWithoutSecrets } = await import("./cli/secret-environment.mjs");
  restartWithoutSecrets();
}
nodeModule.enableCompileCache();
await import("./lib/package-imports.mjs");
await import("./lib/own-typescript.mjs");
try {
  await import("./main.ts");
} catch (thrown) {
  if (interrupted?.rescue !== undefined) process.stderr.write(`[upgrade] ${interrupted.what}. ${interrupted.rescue}\n`);
  throw thrown;
}
// Node does so when a process ends by itself. After a start that is killed later, the next one would compile everything again.
nodeModule.flushCompileCache();

/** Moves `--env-file` into a variable, because Node itself reads the file of an argument `--env-file=…`. */
function takeEnvFile() {
  const at = process.argv.findIndex((word, index) => index > 1 && /^--env-file(?:=|$)/.test(word));
  if (at < 0 || process.argv.slice(0, at).includes("--")) return;
  const [, inline] = process.argv[at].split(/=(.*)/s);
  const value = inline ?? process.argv[at + 1];
  if (value === undefined || value === "") return;
  process.argv.splice(at, inline === undefined ? 2 : 1);
  process.env.REMORA_ENV_FILE = resolve(value);
}
