/**
 * Makes a process's clock run REMORA_CLOCK_SPEED times as fast: its dates, its timers and its intervals. Loaded by
 * `node --import`, so that two hours of retries take minutes.
 */
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers";
import promises from "node:timers/promises";

const speed = Number(process.env.REMORA_CLOCK_SPEED ?? 1);
const began = Date.now();
const realNow = Date.now.bind(Date);
const { setTimeout: later, setInterval: often } = globalThis;
const { setTimeout: promised } = promises;
const sooner = (ms: number | undefined) => (ms ?? 0) / speed;

const now = () => Math.round(began + (realNow() - began) * speed);
const FastDate = new Proxy(Date, {
  construct: (target, args) => (args.length === 0 ? new target(now()) : Reflect.construct(target, args)),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
});
const fastLater = Object.assign(
  ((work: () => void, ms?: number, ...args: []) => later(work, sooner(ms), ...args)) as typeof setTimeout,
  { __promisify__: (ms?: number, value?: unknown, options?: object) => promised(sooner(ms), value, options) },
);
Object.defineProperty(fastLater, Symbol.for("nodejs.util.promisify.custom"), { value: fastLater.__promisify__ });
const fastOften = ((work: () => void, ms?: number, ...args: []) =>
  often(work, sooner(ms), ...args)) as typeof setInterval;

globalThis.Date = FastDate;
Object.assign(globalThis, { setTimeout: fastLater, setInterval: fastOften });
Object.assign(timers, { setTimeout: fastLater, setInterval: fastOften });
Object.assign(promises, {
  setTimeout: (ms?: number, value?: unknown, options?: object) => promised(sooner(ms), value, options),
});
syncBuiltinESMExports();
