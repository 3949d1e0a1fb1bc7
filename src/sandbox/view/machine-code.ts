/**
 * The machine code of the launcher: an interpreter for lists of system calls, about twenty instructions long.
 *
 *   loop: load the call's number and its six arguments from the step
 *         make the call, and store the result where the step says
 *         jump to the step for the result: the expected value, zero, an error, or anything else
 *
 * The steps (program.ts) hold everything that depends on the system or the view. The code keeps only the address of the
 * step across calls, in a register that calls preserve. It uses no stack.
 */
import type { Processor } from "./system-calls.ts";

/** Offsets in a step, in bytes. A step is thirteen 64-bit words. */
export const stepFields = {
  number: 0,
  args: 8,
  store: 56,
  expected: 64,
  onExpected: 72,
  onZero: 80,
  onError: 88,
  next: 96,
} as const;
export const stepBytes = 104;

export interface CodeAddresses {
  firstStep: number;
  /** Two words for the failed step and its result (minus the error number). */
  failure: number;
}

export function machineCode(processor: Processor, addresses: CodeAddresses): Buffer {
  switch (processor) {
    case "x64":
      return x64Code(addresses);
    case "arm64":
      return arm64Code(addresses);
    default:
      return processor satisfies never;
  }
}

/** A piece of code, a label, or a jump whose distance is filled in when all lengths are known. */
type Part = readonly number[] | { mark: string } | { jump: number; to: string };

function x64Code({ firstStep, failure }: CodeAddresses): Buffer {
  const f = stepFields;
  const address = (value: number) => [value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff, (value >> 24) & 0xff];
  const goTo = (field: number): Part[] => [
    [0x4d, 0x8b, 0x64, 0x24, field], // mov r12, [r12 + field]
    { jump: 0xeb, to: "loop" }, // jmp loop
  ];
  return joinX64([
    [0x41, 0xbc, ...address(firstStep)], // mov r12d, firstStep
    { mark: "loop" },
    [0x49, 0x8b, 0x44, 0x24, f.number], // mov rax, [r12 + number]
    [0x49, 0x8b, 0x7c, 0x24, f.args], // mov rdi, [r12 + args]
    [0x49, 0x8b, 0x74, 0x24, f.args + 8], // mov rsi, [r12 + args + 8]
    [0x49, 0x8b, 0x54, 0x24, f.args + 16], // mov rdx, [r12 + args + 16]
    [0x4d, 0x8b, 0x54, 0x24, f.args + 24], // mov r10, [r12 + args + 24]
    [0x4d, 0x8b, 0x44, 0x24, f.args + 32], // mov r8, [r12 + args + 32]
    [0x4d, 0x8b, 0x4c, 0x24, f.args + 40], // mov r9, [r12 + args + 40]
    [0x0f, 0x05], // syscall
    [0x49, 0x8b, 0x4c, 0x24, f.store], // mov rcx, [r12 + store]
    [0x48, 0x89, 0x01], // mov [rcx], rax
    [0x49, 0x3b, 0x44, 0x24, f.expected], // cmp rax, [r12 + expected]
    { jump: 0x74, to: "expected" }, // je expected
    [0x48, 0x85, 0xc0], // test rax, rax
    { jump: 0x74, to: "zero" }, // jz zero
    { jump: 0x78, to: "error" }, // js error
    ...goTo(f.next),
    { mark: "expected" },
    ...goTo(f.onExpected),
    { mark: "zero" },
    ...goTo(f.onZero),
    { mark: "error" },
    [0x4c, 0x89, 0x24, 0x25, ...address(failure)], // mov [failure], r12
    [0x48, 0x89, 0x04, 0x25, ...address(failure + 8)], // mov [failure + 8], rax
    ...goTo(f.onError),
  ]);
}

/** A jump is an operation byte and a distance byte, counted from the end of the jump. */
function joinX64(parts: readonly Part[]): Buffer {
  const size = (part: Part) => ("mark" in part ? 0 : "jump" in part ? 2 : part.length);
  const { marks, offsets } = layOut(parts, size);
  return Buffer.from(
    parts.flatMap((part, index) => {
      if ("mark" in part) return [];
      if (!("jump" in part)) return [...part];
      return [part.jump, ((marks.get(part.to) ?? 0) - (offsets[index] ?? 0) - 2) & 0xff];
    }),
  );
}

function arm64Code({ firstStep, failure }: CodeAddresses): Buffer {
  const f = stepFields;
  const step = 19; // x19 holds the step's address; calls change only x0
  const load = (to: number, offset: number) => [0xf9400000 | ((offset / 8) << 10) | (step << 5) | to]; // ldr
  const loadPair = (to: number, offset: number) => [
    0xa9400000 | ((offset / 8) << 15) | ((to + 1) << 10) | (step << 5) | to, // ldp to, to + 1, [x19 + offset]
  ];
  const store = (from: number, at: number, offset: number) => [0xf9000000 | ((offset / 8) << 10) | (at << 5) | from];
  const set = (to: number, value: number) => [
    0xd2800000 | ((value & 0xffff) << 5) | to, // movz
    0xf2a00000 | ((value >>> 16) << 5) | to, // movk …, lsl 16
  ];
  const goTo = (field: number): Part[] => [load(step, field), { jump: 0x14000000, to: "loop" }]; // ldr; b loop
  return joinArm64([
    set(step, firstStep),
    { mark: "loop" },
    load(8, f.number),
    loadPair(0, f.args),
    loadPair(2, f.args + 16),
    loadPair(4, f.args + 32),
    [0xd4000001], // svc 0
    load(9, f.store),
    store(0, 9, 0),
    load(9, f.expected),
    [0xeb09001f], // cmp x0, x9
    { jump: 0x54000000, to: "expected" }, // b.eq
    { jump: 0xb4000000, to: "zero" }, // cbz x0
    { jump: 0xb7f80000, to: "error" }, // tbnz x0, 63
    ...goTo(f.next),
    { mark: "expected" },
    ...goTo(f.onExpected),
    { mark: "zero" },
    ...goTo(f.onZero),
    { mark: "error" },
    set(9, failure),
    store(step, 9, 0),
    store(0, 9, 8),
    ...goTo(f.onError),
  ]);
}

/** Every instruction is four bytes long. The distance of a jump counts instructions from the jump itself. */
function joinArm64(parts: readonly Part[]): Buffer {
  const size = (part: Part) => ("mark" in part ? 0 : "jump" in part ? 1 : part.length);
  const { marks, offsets } = layOut(parts, size);
  const words = parts.flatMap((part, index) => {
    if ("mark" in part) return [];
    if (!("jump" in part)) return [...part];
    const distance = (marks.get(part.to) ?? 0) - (offsets[index] ?? 0);
    return [part.jump === 0x14000000 ? part.jump | (distance & 0x3ffffff) : conditional(part.jump, distance)];
  });
  const code = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) code.writeUInt32LE(word >>> 0, index * 4);
  return code;
}

/** The distance starts at bit 5 and has 14 bits for `tbnz`, 19 for the others. */
function conditional(operation: number, distance: number): number {
  const bits = operation >>> 24 === 0xb7 ? 0x3fff : 0x7ffff;
  return operation | ((distance & bits) << 5);
}

function layOut(parts: readonly Part[], size: (part: Part) => number) {
  const marks = new Map<string, number>();
  const offsets: number[] = [];
  let offset = 0;
  for (const part of parts) {
    if ("mark" in part) marks.set(part.mark, offset);
    offsets.push(offset);
    offset += size(part);
  }
  return { marks, offsets };
}
