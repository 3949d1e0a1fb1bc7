/** What one view may use. The defaults leave room for compilers and test suites, and keep a small server responsive. */
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

/** Files and folders in /tmp. */
export const maxTmpFiles = 50_000;
/** Shared memory in /dev/shm. */
export const maxSharedMemoryBytes = 64 * mebibyte;
/** Text and variables of one command; the launcher has room for twice as much. */
export const maxCommandBytes = 2 * mebibyte;
export const maxOpenFiles = 4_096;
/**
 * What one process may map for writing, as a multiple of `maxMemoryBytes`: runtimes map stacks and heaps that they do not
 * use. What is used counts against `maxMemoryBytes`.
 */
export const mappedMemoryFactor = 2;
/** What the kernel allows beyond `maxProcesses`, so that the watchdog sees the excess and ends the command. */
export const sparedProcesses = 64;
/** A new pid namespace hands out ids from 300 on after its first round. */
export const reservedProcessIds = 300;

/** How often a running view is looked at. */
export const watchIntervalMs = 150;
/** Processes that one look reads in full; the rest are counted, and read in the next looks. */
export const maxProcessesRead = 256;
/** Free disk space and memory that views leave to the machine. */
export const minFreeDiskBytes = 512 * mebibyte;
export const minFreeMemoryBytes = 256 * mebibyte;

/** A folder that must be copied, where the kernel can't lay a layer over it. */
export const maxCopiedFiles = 2_000;
export const maxCopiedBytes = 200 * mebibyte;
