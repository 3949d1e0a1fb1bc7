/** Measures what the processes of a view use, from the view's own /proc, which the command can't change. */
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

export interface ProcessUsage {
  threads: number;
  /** Shared memory counts once for each process. */
  residentBytes: number;
  processorSeconds: number;
  processes: readonly string[];
}

/** The unit of times in /proc, fixed since Linux 2.6. */
const ticksPerSecond = 100;
/** Indexes of fields in /proc/…/stat after the name. The third field has index 0. */
const field = { firstTime: 11, lastTime: 14, threads: 17, resident: 21 } as const;

/** Reads at most `maxProcessesRead` processes per call, in rotation. Each process that was not read counts as one thread. */
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

/** Divides shared pages among their processes. Slow, because the kernel walks all pages. Stops above `max`. */
export async function proportionalBytes(proc: string, processes: readonly string[], max: number): Promise<number> {
  let bytes = 0;
  for (const pid of processes) {
    const text = await readFile(`${proc}/${pid}/smaps_rollup`, "latin1").catch(() => "");
    bytes += Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
    if (bytes > max) break;
  }
  return bytes;
}

export function availableMemoryBytes(): number | undefined {
  const kilobytes = /^MemAvailable:\s+(\d+) kB/m.exec(readOrEmpty("/proc/meminfo"))?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

/** The process name in parentheses may contain any bytes, so fields are counted from the closing parenthesis. */
function statFields(proc: string, pid: string): string[] | undefined {
  const text = readOrEmpty(`${proc}/${pid}/stat`);
  const end = text.lastIndexOf(")");
  return end < 0 ? undefined : text.slice(end + 2).split(" ");
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
