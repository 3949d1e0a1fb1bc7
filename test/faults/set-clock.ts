/**
 * A process whose clock a test sets: at SIGUSR2, the process reads from the file REMORA_WRONG_CLOCK by how many hours its
 * dates are wrong from now on, and removes the file. Its timers go on. Loaded by `node --import`.
 */
import { readFileSync, rmSync } from "node:fs";

const realNow = Date.now.bind(Date);
let wrongMs = 0;
process.on("SIGUSR2", () => {
  const file = process.env.REMORA_WRONG_CLOCK ?? "";
  wrongMs = Number(readFileSync(file, "utf8")) * 3_600_000;
  rmSync(file);
});

const now = () => realNow() + wrongMs;
globalThis.Date = new Proxy(Date, {
  construct: (target, args) => (args.length === 0 ? new target(now()) : Reflect.construct(target, args)),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
});
