/**
 * What the processes of a view use, read from the view's own /proc: only its processes are listed there, and the command
 * can't change what it says.
 */
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

export interface ProcessUsage {
  /** All threads of all processes. */
  threads: number;
  /** Resident memory. Memory that processes share counts once for each. */
  residentBytes: number;
  processorSeconds: number;
  /** Ids within the view. */
  processes: readonly string[];
}

/** The unit of times in /proc; Linux has used no other for programs since 2.6. */
const ticksPerSecond = 100;
/** Fields of /proc/…/stat after the name: the third field has index 0. */
const field = { firstTime: 11, lastTime: 14, threads: 17, resident: 21 } as const;

/** Reads at most so many processes, from a place that moves on with each call; the others count as one thread. */
export function createProcessMeter(proc: string, maxProcessesRead: number, pageBytes: number) {
  let first = 0;
  return (): ProcessUsage => {
    const processes = readdirSync(proc).filter((name) => /^\d+$/.test(name));
    const usage = { threads: 0, residentBytes: 0, processorSeconds: 0, processes };
    const count = Math.min(processes.length, maxProcessesRead);
    for (let index = 0; index < count; index += 1) {
      const fields = statFields(proc, processes[(first + index) % processes.length] ?? "");
      usage.threads += Number(fields?.[field.threads] ?? 1);
      usage.residentBytes += Number(fields?.[field.resident] ?? 0) * pageBytes;
      for (let time = field.firstTime; time <= field.lastTime; time += 1)
        usage.processorSeconds += Number(fields?.[time] ?? 0) / ticksPerSecond;
    }
    usage.threads += processes.length - count;
    first += count;
    return usage;
  };
}

/**
 * The part of the resident memory that is the processes' own: shared pages are divided among those who share them. The kernel
 * walks all pages of a process for it, so that it is read off the event loop. Stops above `max`.
 */
export async function proportionalBytes(proc: string, processes: readonly string[], max: number): Promise<number> {
  let bytes = 0;
  for (const pid of processes) {
    const text = await readFile(`${proc}/${pid}/smaps_rollup`, "latin1").catch(() => "");
    bytes += Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
    if (bytes > max) break;
  }
  return bytes;
}

/** Memory that the machine can still give without swapping; undefined where the kernel does not say. */
export function availableMemoryBytes(): number | undefined {
  const kilobytes = /^MemAvailable:\s+(\d+) kB/m.exec(readOrEmpty("/proc/meminfo"))?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

/** The name, in parentheses, may hold any bytes: fields are counted from its end. */
function statFields(proc: string, pid: string): string[] | undefined {
  const text = readOrEmpty(`${proc}/${pid}/stat`);
  const end = text.lastIndexOf(")");
  return end < 0 ? undefined : text.slice(end + 2).split(" ");
}

/** A process that has just ended has nothing to read. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
