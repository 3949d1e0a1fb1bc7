/**
 * Finds and ends the programs that a process of Remora has started, and what they started in turn, wherever it has moved: a
 * new group, session or parent changes nothing about the environment that a process began with. Also a program, which the
 * watcher of marked-programs.ts runs when Remora is gone. Without /proc, it finds nothing.
 *
 * A mark is `<pid namespace>-<pid>-<start time>/<any>/`. The start time tells apart processes that had the same id.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const markVariable = "STARTED_BY_REMORA";
const roundMs = 20;
const maxRounds = 100;

/** Marks of everything that this process starts begin with it. */
export function ownMark() {
  return `${pidNamespace()}-${process.pid}-${statOf(process.pid)?.startTime ?? ""}/`;
}

/** Ends all processes whose mark begins with `prefix`. Resolves when they are gone, or after two seconds. */
export async function endMarked(prefix) {
  await endWhile((mark) => mark.startsWith(prefix));
}

/** Ends what was started by processes of Remora that are gone. Those in other namespaces can't be told apart. */
export async function endOrphans() {
  const here = pidNamespace();
  await endWhile((mark) => {
    const [, namespace, pid, startTime] = /^(\d+)-(\d+)-(\d+)\//.exec(mark) ?? [];
    return namespace !== undefined && namespace === here && statOf(pid)?.startTime !== startTime;
  });
}

async function endWhile(isMeant) {
  for (let round = 0; round < maxRounds; round += 1) {
    const found = withDescendants(isMeant);
    if (found.length === 0) return;
    for (const pid of found) kill(pid);
    await pause(roundMs);
  }
}

function withDescendants(isMeant) {
  const processes = pids().flatMap((pid) => {
    const stat = statOf(pid);
    return stat === undefined || stat.state === "Z" || Number(pid) === process.pid ? [] : [{ pid, ...stat }];
  });
  const found = new Set(processes.map(({ pid }) => pid).filter((pid) => isMeant(markOf(pid) ?? "")));
  let before = -1;
  while (found.size !== before) {
    before = found.size;
    for (const { pid, parent } of processes) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

function markOf(pid) {
  const line = readProc(pid, "environ")
    ?.split("\0")
    .find((each) => each.startsWith(`${markVariable}=`));
  return line?.slice(markVariable.length + 1);
}

function statOf(pid) {
  const text = readProc(pid, "stat");
  if (text === undefined) return undefined;
  // The name before the last parenthesis may contain anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0], parent: fields[1], startTime: fields[19] };
}

function pids() {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function readProc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return undefined;
  }
}

function pidNamespace() {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0";
  }
}

function kill(pid) {
  try {
    process.kill(Number(pid), "SIGKILL");
  } catch {
    // It has just ended, or belongs to another user.
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await endMarked(process.argv[2] ?? "none");
