/** The machine's visible state: system files, mounts, kernel settings and processes. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { type FolderState, readFolderState } from "./folder-state.ts";

/** By name; two of them are compared with `differences`. */
export function readMachineState(): FolderState {
  const state = new Map<string, string>();
  state.set("hostname", hostname());
  state.set("mounts", mountsOfOthers());
  for (const folder of ["/etc", "/usr/local"]) copyInto(state, readFolderState(folder, { content: false }));
  for (const folder of ["/", "/usr/bin", "/usr/lib", "/boot", "/opt", "/srv"])
    if (existsSync(folder)) copyInto(state, timesOnly(readFolderState(folder, { content: false, depth: 0 })));
  for (const [name, value] of kernelSettings()) state.set(name, value);
  return state;
}

/** Without the small disks of tests that run at the same time. */
function mountsOfOthers(): string {
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return lines.filter((line) => !line.includes(" - tmpfs remora-test ")).join("\n");
}

function copyInto(state: Map<string, string>, more: FolderState): void {
  for (const [path, facts] of more) state.set(path, facts);
}

/** For shared folders, checks only that the top level has the same entries. */
function timesOnly(state: FolderState): FolderState {
  return new Map([...state].map(([path, facts]) => [`${path} itself`, facts]));
}

/** Excludes counters and random values, which change by themselves. */
const livelySetting =
  /random|-nr|-state|ns_last_pid|cpu|sched|pty|netdev_rss|hung|tainted|nf_conntrack|lease|cookie|inotify|quota|rmem|wmem|mem$/;

function* kernelSettings(folder = "/proc/sys"): Generator<[string, string]> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (livelySetting.test(path)) continue;
    if (entry.isDirectory()) yield* kernelSettings(path);
    else {
      const value = textOf(path);
      if (value !== undefined) yield [path, value];
    }
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

const ticksPerSecond = 100;

export interface ProcessSeen {
  pid: number;
  parent: number;
  state: string;
  name: string;
}

export function readProcesses(): ProcessSeen[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const stat = textOf(`/proc/${name}/stat`);
    const [, program = "", state = "", parent = ""] = /^\d+ \((.*)\) (\S) (\d+)/s.exec(stat ?? "") ?? [];
    return stat === undefined ? [] : [{ pid: Number(name), parent: Number(parent), state, name: program }];
  });
}

/** All descendants of this process, including zombies. */
export function descendantsOf(pid: number, all = readProcesses()): ProcessSeen[] {
  const children = all.filter(({ parent }) => parent === pid);
  return children.flatMap((child) => [child, ...descendantsOf(child.pid, all)]);
}

/** Processes in the folder, or with its name in their arguments: escaped commands. */
export function processesAt(folder: string, except: ReadonlySet<number>): ProcessSeen[] {
  return readProcesses().filter(({ pid }) => {
    if (except.has(pid)) return false;
    const words = [textOf(`/proc/${pid}/environ`), textOf(`/proc/${pid}/cmdline`), workingFolderOf(pid)];
    return words.some((text) => text?.includes(folder));
  });
}

function workingFolderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/** Processor time of a process and its reaped children, independent of the machine's load. */
export function processorSecondsOf(pid: number): number {
  const stat = textOf(`/proc/${pid}/stat`) ?? "";
  const times = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 16);
  return times.reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond;
}
