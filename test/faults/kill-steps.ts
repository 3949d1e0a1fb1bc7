/**
 * Records what a process writes, step by step, and ends it right before a chosen step, as by `kill -9`. A step is a write to the
 * ledger, the opening of a view, a post, or a file change in a draft, the undo journal or a working folder.
 *
 *   REMORA_STEPS_ROOT   the watched folder; labels name paths below it, with ids replaced by `*`
 *   REMORA_STEPS_FILE   file to which every label is appended, one per line
 *   REMORA_KILL_STEP    `<number>`: before that step of the process; `<count>:<label>`: before the count-th step of that label
 *   REMORA_STEPS_ARMED  steps count once this file exists; absent: from the start
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { relative, resolve } from "node:path";
import type { PortWrappers } from "../../src/ports/port-wrappers.ts";
import { die } from "./die.ts";

const {
  REMORA_STEPS_ROOT: root = "",
  REMORA_STEPS_FILE: file,
  REMORA_KILL_STEP: spec = "",
  REMORA_STEPS_ARMED: armed,
} = process.env;
const appendFileSync = fs.appendFileSync;
const { existsSync, readlinkSync } = fs;

const [, countText = "", label] = /^(\d+)(?::(.*))?$/s.exec(spec) ?? [];
const count = Number(countText);
let passed = 0;
let isArmed = armed === undefined;

function step(here: string): void {
  isArmed ||= existsSync(armed ?? "");
  if (isArmed && count > 0 && (label === undefined || label === here) && ++passed === count) {
    if (file !== undefined) appendFileSync(file, `died before ${here}\n`);
    die();
  }
  if (file !== undefined) appendFileSync(file, `${here}\n`);
}

/** Undefined for unwatched paths. */
function labelOf(path: unknown): string | undefined {
  if (typeof path !== "string" && !Buffer.isBuffer(path)) return undefined;
  const text = path.toString();
  const [, fd, rest] = /^\/proc\/self\/fd\/(\d+)(.*)$/s.exec(text) ?? [];
  const absolute = fd === undefined ? resolve(text) : `${readlinkSync(`/proc/self/fd/${fd}`)}${rest}`;
  const below = relative(root, absolute);
  if (!/^(?:workspace\/(?:drafts|files)|site)\//.test(below)) return undefined;
  // Ignores temporary files before a rename, and the kernel's work folder of a layer.
  if (/\.json\.\d+$|\/scratch\/[^/]+\/work(?:\/|$)/.test(below)) return undefined;
  return below
    .replace(/(?<=drafts\/(?:open|undo|jobs)\/)[^/.]+/, "*")
    .replace(/(?<=\/(?:joined|scratch)\/)[^/]*?(?=\.json|\.discarded|\/|$)/, "*")
    .replace(/\.discarded-.*/, ".discarded-*")
    .replace(/m[0-9a-f]{12}/g, "*")
    .replace(/[0-9a-f]{16}/g, "*");
}

const changing = {
  rename: 1,
  link: 1,
  unlink: 0,
  mkdir: 0,
  rmdir: 0,
  rm: 0,
  chmod: 0,
  lchown: 0,
  symlink: 1,
  copyFile: 1,
  writeFile: 0,
} as const;

type Functions = Record<string, (...args: unknown[]) => unknown>;

/** Replaces functions of a built-in module, even for modules that imported them by name. */
function watch(functions: Functions, name: string, pathAt: number): void {
  const original = functions[name];
  if (original === undefined) return;
  const watched = (...args: unknown[]) => {
    const here = labelOf(args[pathAt]);
    if (here !== undefined) step(`${name.replace("Sync", "")} ${here}`);
    return original(...args);
  };
  // Copies symbols, because `promisify` reads them.
  functions[name] = Object.assign(watched, original);
}

if (root !== "") {
  for (const [name, pathAt] of Object.entries(changing)) {
    watch(fs as unknown as Functions, name, pathAt);
    watch(fs as unknown as Functions, `${name}Sync`, pathAt);
    watch(fs.promises as unknown as Functions, name, pathAt);
  }
  syncBuiltinESMExports();
}

export const wrappers: PortWrappers = {
  ledger: (ledger) => ({
    ...ledger,
    create(kind, id, entry) {
      step(`ledger: create ${kind} ${entry.state}`);
      return ledger.create(kind, id, entry);
    },
    transition(kind, id, from, to, change) {
      step(`ledger: ${kind} ${from.join("|")} to ${to}`);
      return ledger.transition(kind, id, from, to, change);
    },
  }),
  audit: (audit) => ({
    async record(name, fields) {
      step(`audit: ${name}`);
      await audit.record(name, fields);
    },
  }),
  sandbox: (sandbox) => ({
    ...sandbox,
    async open(options, signal) {
      step("view: open");
      const view = await sandbox.open(options, signal);
      return {
        ...view,
        get pid() {
          return view.pid;
        },
        start(command) {
          step("view: start");
          const running = view.start(command);
          running.output.once("data", () => step("view: the command runs"));
          return running;
        },
        async close() {
          step("view: close");
          await view.close();
        },
      };
    },
  }),
  posts: (posts) => ({
    ...posts,
    async keep(key, messageId) {
      step(`posts: keep ${key.replace(/:.*/, "")}`);
      await posts.keep(key, messageId);
    },
  }),
};
