/**
 * Writes the launcher: a static program of about two kilobytes that reads lists of system calls from descriptor 3 and
 * makes the calls. Generating its ELF file and machine code here requires no compiler or packages.
 */
import { randomUUID } from "node:crypto";
import { chmod, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { machineCode, stepBytes, stepFields } from "./machine-code.ts";
import {
  controlFd,
  createProgram,
  memory,
  type Program,
  type ProgramBase,
  reportBytes,
  reportKinds,
} from "./program.ts";
import type { Processor } from "./system-calls.ts";

const MSG_WAITALL = 0x100;
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

/** The memory before the boot steps contains a failure report (kind, step, result) and a sink for unused results. */
const failureReport = memory.boot;
const sink = memory.boot + reportBytes;
const bootSteps = sink + 8;

/** Boot steps that other programs jump to. */
const bootOrder = { load: 1, fail: 4 } as const;
const bootStep = (index: number) => bootSteps + index * stepBytes;

/** A list jumps here to load the next list. When the connection ends, the process exits. */
export const loadNext = { address: bootStep(bootOrder.load) };

export function launcherProgram(processor: Processor): Program {
  return createProgram(processor, { address: memory.program, sink, fail: { address: bootStep(bootOrder.fail) } });
}

/** Encodes a list for the launcher. The length is written twice, because two arguments of the boot program need it. */
export function framed(program: Program): Buffer {
  const body = program.encode();
  const length = Buffer.alloc(16);
  length.writeBigUInt64LE(BigInt(body.length), 0);
  length.writeBigUInt64LE(BigInt(body.length), 8);
  return Buffer.concat([length, body]);
}

export function failedStep(address: bigint): number {
  return (Number(address) - memory.program) / stepBytes;
}

function bootProgram(processor: Processor): Buffer {
  const base: ProgramBase = { address: bootSteps, sink, fail: { address: bootStep(bootOrder.fail) } };
  const program = createProgram(processor, base);
  const [body, end] = [program.label(), program.label()];
  const receive = (to: Parameters<Program["call"]>[1][number], length: number) =>
    program.call("recvfrom", [controlFd, to, length, MSG_WAITALL, 0, 0], { expected: 8, next: end, onError: end });
  // Exit with the parent. If it has already exited, the connection is closed, which ends this process too.
  program.call("prctl", [PR_SET_PDEATHSIG, SIGKILL], { onError: "ignore" });
  receive({ step: body, field: stepFields.args + 16 }, 8);
  receive({ step: body, field: stepFields.expected }, 8);
  program.place(body);
  program.call("recvfrom", [controlFd, memory.program, 0, MSG_WAITALL, 0, 0], {
    expected: 0,
    onExpected: { address: memory.program },
    next: end,
    onZero: end,
    onError: end,
  });
  // This step is `bootOrder.fail`.
  program.call("write", [controlFd, failureReport, reportBytes], { onError: "ignore" });
  program.place(end);
  program.call("exit_group", [1]);
  const report = Buffer.alloc(bootSteps - memory.boot);
  report.writeBigUInt64LE(BigInt(reportKinds.failed), 0);
  return Buffer.concat([report, program.encode()]);
}

const elfMachine = { x64: 62, arm64: 183 } as const;
const elfHeaderBytes = 64;
const segmentHeaderBytes = 56;

export function launcherFile(processor: Processor): Buffer {
  const segments = 3;
  const codeOffset = elfHeaderBytes + segments * segmentHeaderBytes;
  const code = machineCode(processor, { firstStep: bootStep(0), failure: failureReport + 8 });
  const data = bootProgram(processor);
  // The file offset of the data matches its address for any page size, so the data gets separate pages.
  const dataOffset = 0x10000;
  const header = Buffer.alloc(elfHeaderBytes);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]); // ELF, 64 bits, little-endian, version 1
  header.writeUInt16LE(2, 16); // a program at a fixed address
  header.writeUInt16LE(elfMachine[processor], 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(memory.code + codeOffset), 24); // where it begins
  header.writeBigUInt64LE(BigInt(elfHeaderBytes), 32); // where the segment headers are
  header.writeUInt16LE(elfHeaderBytes, 52);
  header.writeUInt16LE(segmentHeaderBytes, 54);
  header.writeUInt16LE(segments, 56);
  const memoryBytes = memory.program + memory.maxProgramBytes - memory.boot;
  const start = Buffer.concat([
    header,
    segmentHeader({ type: 1, flags: 5, offset: 0, address: memory.code, fileBytes: codeOffset + code.length }),
    segmentHeader({ type: 1, flags: 6, offset: dataOffset, address: memory.boot, fileBytes: data.length, memoryBytes }),
    segmentHeader({ type: 0x6474e551, flags: 6, offset: 0, address: 0, fileBytes: 0 }), // a non-executable stack
    code,
  ]);
  return Buffer.concat([start, Buffer.alloc(dataOffset - start.length), data]);
}

interface Segment {
  type: number;
  /** 4 read, 2 write, 1 execute. */
  flags: number;
  offset: number;
  address: number;
  fileBytes: number;
  memoryBytes?: number;
}

function segmentHeader({ type, flags, offset, address, fileBytes, memoryBytes = fileBytes }: Segment): Buffer {
  const header = Buffer.alloc(segmentHeaderBytes);
  header.writeUInt32LE(type, 0);
  header.writeUInt32LE(flags, 4);
  header.writeBigUInt64LE(BigInt(offset), 8);
  header.writeBigUInt64LE(BigInt(address), 16);
  header.writeBigUInt64LE(BigInt(address), 24);
  header.writeBigUInt64LE(BigInt(fileBytes), 32);
  header.writeBigUInt64LE(BigInt(memoryBytes), 40);
  header.writeBigUInt64LE(0x10000n, 48);
  return header;
}

export async function writeLauncher(folder: string, processor: Processor): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, "remora-view");
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeFile(temporary, launcherFile(processor), { mode: 0o700 });
    await chmod(temporary, 0o755);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
  return path;
}
