/**
 * The entry point of `npm start` and the container. For `start`, takes the secrets out of the environment
 * (secret-environment.mjs) before it loads the command line (main.ts). It is JavaScript because stripping types here
 * would cost 17 MB of memory and 50 ms per start.
 */
import { enableCompileCache } from "node:module";

if (process.argv[2] === "start" && process.env.REMORA_ENVIRONMENT === undefined) {
  const { restartWithoutSecrets } = await import("./cli/secret-environment.mjs");
  restartWithoutSecrets();
}
enableCompileCache();
await import("./main.ts");
