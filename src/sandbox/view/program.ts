/**
 * Programs for the launcher: lists of system calls with their data. A fixed address makes pointers plain numbers. After
 * each call a program continues with the next step. An error ends it, unless the step says otherwise.
 *
 *   const program = createProgram(processor);
 *   program.call("mkdirat", [cwd, program.text("etc"), 0o755], { onError: "ignore" });
 */
import { stepBytes, stepFields } from "./machine-code.ts";
import { type Processor, type SystemCall, systemCallNumber } from "./system-calls.ts";

/** The launcher's memory map. Every address fits in 31 bits, and every part starts on a 64 KiB page. */
export const memory = {
  code: 0x200000,
  boot: 0x300000,
  program: 0x400000,
  maxProgramBytes: 0x400000,
} as const;

/** The file descriptor over which the launcher reads programs and writes reports. */
export const controlFd = 3;

/** The first of the three 64-bit words that the launcher reports. */
export const reportKinds = { failed: 1, process: 2, ready: 3, ended: 4 } as const;
export const reportBytes = 24;

/** The address of data or of a step. It becomes a number when the program is encoded. */
export type Place = { data: number } | { step: Label; field: number } | { address: number };
export type Value = number | bigint | Place;

/** A step that other steps jump to; `place` sets it. */
export interface Label {
  step: number | undefined;
}

/** A step of the same program, or the address of one in the boot program. */
export type Target = Label | { address: number };

export interface CallOptions {
  /** Names the step in error messages, such as "mount /usr". Default: the call's name. */
  title?: string;
  store?: Place;
  /** A result that jumps to `onExpected`. Without that label, any other result is a failure. */
  expected?: Value;
  onExpected?: Target;
  onZero?: Target;
  onError?: "fail" | "ignore" | Target;
  next?: Target;
}

export interface Program {
  /** A C string, as UTF-8. */
  text(value: string): Place;
  bytes(value: Buffer): Place;
  words(values: readonly Value[]): Place;
  call(name: SystemCall, args: readonly Value[], options?: CallOptions): void;
  label(): Label;
  /** Makes the next call the label's step. */
  place(label: Label): void;
  titles(): readonly string[];
  encode(): Buffer;
}

interface Step {
  number: number;
  args: readonly Value[];
  options: CallOptions;
}

/** The address of a program, and its targets for unused results and for failures. */
export interface ProgramBase {
  address: number;
  sink: number;
  fail: Value;
}

/** No system call returns this. */
const neverReturned = -(2n ** 63n);
const maxArguments = 6;

export function createProgram(processor: Processor, base: ProgramBase): Program {
  const steps: Step[] = [];
  const titles: string[] = [];
  const chunks: (Buffer | readonly Value[])[] = [];
  const texts = new Map<string, Place>();
  let dataBytes = 0;

  const add = (chunk: Buffer | readonly Value[], size: number): Place => {
    const place = { data: dataBytes };
    chunks.push(chunk);
    dataBytes += Math.ceil(size / 8) * 8;
    return place;
  };

  const stepAddress = (index: number) => base.address + index * stepBytes;

  const encoded = (value: Value): bigint => {
    if (typeof value === "bigint") return value;
    if (typeof value === "number") return BigInt(value);
    if ("address" in value) return BigInt(value.address);
    if ("data" in value) return BigInt(stepAddress(steps.length) + value.data);
    if (value.step.step === undefined) throw new Error("A label of a launcher program was never placed");
    return BigInt(stepAddress(value.step.step) + value.field);
  };

  const write = (buffer: Buffer, value: Value, offset: number) =>
    void buffer.writeBigInt64LE(BigInt.asIntN(64, encoded(value)), offset);

  const targets = (options: CallOptions, index: number) => {
    const following: Value = { address: stepAddress(index + 1) };
    const at = (target: Target | undefined, otherwise: Value): Value => {
      if (target === undefined) return otherwise;
      return "address" in target ? target : { step: target, field: 0 };
    };
    const isExact = options.expected !== undefined && options.onExpected === undefined;
    const next = at(options.next, isExact ? base.fail : following);
    const { onError = "fail" } = options;
    const onFailure = onError === "fail" ? base.fail : onError === "ignore" ? following : at(onError, base.fail);
    return {
      onExpected: at(options.onExpected, following),
      onZero: at(options.onZero, next),
      onError: onFailure,
      next,
    };
  };

  const encodeStep = (buffer: Buffer, { number, args, options }: Step, index: number) => {
    const offset = index * stepBytes;
    const { onExpected, onZero, onError, next } = targets(options, index);
    write(buffer, number, offset + stepFields.number);
    for (const [place, value] of args.entries()) write(buffer, value, offset + stepFields.args + place * 8);
    write(buffer, options.store ?? { address: base.sink }, offset + stepFields.store);
    write(buffer, options.expected ?? neverReturned, offset + stepFields.expected);
    write(buffer, onExpected, offset + stepFields.onExpected);
    write(buffer, onZero, offset + stepFields.onZero);
    write(buffer, onError, offset + stepFields.onError);
    write(buffer, next, offset + stepFields.next);
  };

  return {
    text(value) {
      const known = texts.get(value);
      if (known !== undefined) return known;
      if (value.includes("\0")) throw new Error("A C string can't hold NUL");
      const bytes = Buffer.from(`${value}\0`);
      const place = add(bytes, bytes.length);
      texts.set(value, place);
      return place;
    },
    bytes: (value) => add(value, value.length),
    words: (values) => add(values, values.length * 8),
    call(name, args, options = {}) {
      const number = systemCallNumber(name, processor);
      if (number === undefined || args.length > maxArguments) throw new Error(`The launcher can't call ${name}`);
      steps.push({ number, args, options });
      titles.push(options.title ?? name);
    },
    label: () => ({ step: undefined }),
    place(label) {
      label.step = steps.length;
    },
    titles: () => titles,
    encode() {
      const buffer = Buffer.alloc(steps.length * stepBytes + dataBytes);
      for (const [index, step] of steps.entries()) encodeStep(buffer, step, index);
      let offset = steps.length * stepBytes;
      for (const chunk of chunks) {
        if (Buffer.isBuffer(chunk)) chunk.copy(buffer, offset);
        else for (const [index, value] of chunk.entries()) write(buffer, value, offset + index * 8);
        offset += Math.ceil((Buffer.isBuffer(chunk) ? chunk.length : chunk.length * 8) / 8) * 8;
      }
      return buffer;
    },
  };
}
