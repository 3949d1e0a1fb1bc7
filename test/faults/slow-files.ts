/** Loaded into a process before it starts: files of the brain answer late, as on a shared folder far away. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout as wait } from "node:timers/promises";

const maxDelayMs = 40;

for (const name of ["open", "rename", "readdir"] as const) {
  const original = fs.promises[name] as (...args: unknown[]) => Promise<unknown>;
  const late = async (...args: unknown[]) => {
    if (String(args[0]).includes("/brain/hippocampus/")) await wait(Math.random() * maxDelayMs);
    return await original(...args);
  };
  Object.assign(fs.promises, { [name]: late });
}
syncBuiltinESMExports();
