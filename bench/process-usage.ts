/** What a process uses, on Linux. */
import { readFile } from "node:fs/promises";

/** Linux counts processor time in these ticks. */
const tickMs = 10;

/** Processor time of all threads since the start, in milliseconds. */
export async function processorMs(pid: number): Promise<number> {
  const line = await readFile(`/proc/${pid}/stat`, "utf8");
  // The name, in brackets, may contain spaces.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Resident memory, in MB. */
export async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}
