/** Limits of one view. They leave room for compilers and test suites, and keep a small server responsive. */
import type { ViewLimits } from "../../ports/sandbox.ts";

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

export const defaultViewLimits: ViewLimits = {
  maxMemoryBytes: 2 * gibibyte,
  maxProcesses: 512,
  maxProcessorSeconds: 1_800,
  maxFileBytes: gibibyte,
  maxLayerBytes: 2 * gibibyte,
  maxLayerFiles: 100_000,
  maxTmpBytes: 256 * mebibyte,
};

export const maxTmpFiles = 50_000;
export const maxSharedMemoryBytes = 64 * mebibyte;
/** Text and variables of one command. The launcher has room for twice as much. */
export const maxCommandBytes = 2 * mebibyte;
export const maxOpenFiles = 4_096;
/** Multiple of `maxMemoryBytes` that one process may map, because runtimes map stacks and heaps they do not use. */
export const mappedMemoryFactor = 2;
/** The kernel allows this many more than `maxProcesses` so that the watchdog can notice and kill the command. */
export const sparedProcesses = 64;
/** Once its ids have wrapped around, a pid namespace continues at 300. */
export const reservedProcessIds = 300;

export const watchIntervalMs = 150;
/** Per check. Other processes are only counted, and are read in later checks. */
export const maxProcessesRead = 256;
/** Free disk space and memory that views must leave for the machine. */
export const minFreeDiskBytes = 512 * mebibyte;
export const minFreeMemoryBytes = 256 * mebibyte;

/** For folders that must be copied because the kernel can't mount an overlay over them. */
export const maxCopiedFiles = 2_000;
export const maxCopiedBytes = 200 * mebibyte;
