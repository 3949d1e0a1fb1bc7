/**
 * The entry of `npm start` and of the container: the command line (main.ts) with the compile cache in use from its first
 * line, and for `start` with an environment that holds no secret (secret-environment.mjs). It is JavaScript so that nothing
 * has to be stripped of types before that: loading the stripper would cost the process 17 MB and every start 50 ms.
 */
import { enableCompileCache } from "node:module";

if (process.argv[2] === "start" && process.env.REMORA_ENVIRONMENT === undefined) {
  const { restartWithoutSecrets } = await import("./cli/secret-environment.mjs");
  restartWithoutSecrets();
}
enableCompileCache();
await import("./main.ts");
