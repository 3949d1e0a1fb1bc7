/** The launcher's file, its machine code and the seccomp filter, for both processors. Other tests run the launcher. */
import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { launcherFile, launcherProgram } from "../../../src/sandbox/view/launcher.ts";
import { machineCode } from "../../../src/sandbox/view/machine-code.ts";
import { seccompFilter } from "../../../src/sandbox/view/seccomp.ts";
import {
  ownProcessor,
  type Processor,
  type SystemCall,
  systemCallNumber,
} from "../../../src/sandbox/view/system-calls.ts";

const addresses = { firstStep: 0x300020, failure: 0x300008 };

describe("the machine code", () => {
  test("for arm64 is the one that ran under qemu-aarch64", () => {
    const code = machineCode("arm64", addresses);
    const words = Array.from({ length: code.length / 4 }, (_, index) => code.readUInt32LE(index * 4).toString(16));
    const listing = [
      ...["d2800413", "f2a00613"], //   mov x19, 0x300020
      ...["f9400268"], //               ldr x8, [x19]
      ...["a9408660", "a9418e62", "a9429664"], // ldp x0, x1, [x19, 8] … ldp x4, x5, [x19, 40]
      ...["d4000001"], //               svc 0
      ...["f9401e69", "f9000120"], //   ldr x9, [x19, 56]; str x0, [x9]
      ...["f9402269", "eb09001f"], //   ldr x9, [x19, 64]; cmp x0, x9
      ...["540000a0", "b40000c0", "b7f800e0"], // b.eq; cbz x0; tbnz x0, 63
      ...["f9403273", "17fffff3"], //   ldr x19, [x19, 96]; b
      ...["f9402673", "17fffff1"], //   ldr x19, [x19, 72]; b
      ...["f9402a73", "17ffffef"], //   ldr x19, [x19, 80]; b
      ...["d2800109", "f2a00609"], //   mov x9, 0x300008
      ...["f9000133", "f9000520"], //   str x19, [x9]; str x0, [x9, 8]
      ...["f9402e73", "17ffffe9"], //   ldr x19, [x19, 88]; b
    ];
    expect(words).toEqual(listing);
  });

  test.skipIf(!existsSync("/usr/bin/objdump"))("for x64 reads in a disassembler as its comments say", async () => {
    const place = mkdtempSync(join(tmpdir(), "remora-code-"));
    onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    writeFileSync(join(place, "code"), machineCode("x64", addresses));
    const args = ["-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", "--no-show-raw-insn", join(place, "code")];
    const { stdout } = await promisify(execFile)("objdump", args);
    const landings = new Set(["6", "48", "4f", "56"]);
    const lines = [...stdout.matchAll(/^\s+([0-9a-f]+):\t(.+?)\s*$/gm)].map(
      ([, offset, text]) => `${landings.has(offset ?? "") ? `${offset}: ` : ""}${text?.replace(/\s+/g, " ")}`,
    );
    // The offsets are those where jumps land.
    expect(lines).toEqual([
      "mov r12d,0x300020",
      "6: mov rax,QWORD PTR [r12+0x0]",
      "mov rdi,QWORD PTR [r12+0x8]",
      "mov rsi,QWORD PTR [r12+0x10]",
      "mov rdx,QWORD PTR [r12+0x18]",
      "mov r10,QWORD PTR [r12+0x20]",
      "mov r8,QWORD PTR [r12+0x28]",
      "mov r9,QWORD PTR [r12+0x30]",
      "syscall",
      "mov rcx,QWORD PTR [r12+0x38]",
      "mov QWORD PTR [rcx],rax",
      "cmp rax,QWORD PTR [r12+0x40]",
      "je 0x48",
      "test rax,rax",
      "je 0x4f",
      "js 0x56",
      "mov r12,QWORD PTR [r12+0x60]",
      "jmp 0x6",
      "48: mov r12,QWORD PTR [r12+0x48]",
      "jmp 0x6",
      "4f: mov r12,QWORD PTR [r12+0x50]",
      "jmp 0x6",
      "56: mov QWORD PTR ds:0x300008,r12",
      "mov QWORD PTR ds:0x300010,rax",
      "mov r12,QWORD PTR [r12+0x58]",
      "jmp 0x6",
    ]);
  });
});

test.skipIf(ownProcessor() === undefined)("the launcher ends by itself when nobody sends a program", async () => {
  const place = mkdtempSync(join(tmpdir(), "remora-launcher-"));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  const file = join(place, "launcher");
  writeFileSync(file, launcherFile(ownProcessor() ?? "x64"));
  chmodSync(file, 0o755);
  expect(statSync(file).blocks * 512).toBeLessThan(100_000);
  await expect(promisify(execFile)(file)).rejects.toMatchObject({ code: 1 });
});

test("a program refuses text with NUL and a label without a place", () => {
  const program = launcherProgram("x64");
  expect(() => program.text("a\0b")).toThrow();
  program.call("getpid", [], { next: program.label() });
  expect(() => program.encode()).toThrow();
});

/** The kernel's answer: "allow", "kill", or an error number. */
function verdict(filter: Buffer, call: { number: number; architecture: number; args?: number[] }): string | number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number, 0);
  data.writeUInt32LE(call.architecture, 4);
  for (const [index, value] of (call.args ?? []).entries()) data.writeBigUInt64LE(BigInt(value), 16 + index * 8);
  let accumulator = 0;
  for (let at = 0; ; at += 1) {
    const [code, value] = [filter.readUInt16LE(at * 8), filter.readUInt32LE(at * 8 + 4)];
    const jump = (holds: boolean) => filter.readUInt8(at * 8 + (holds ? 2 : 3));
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x15) at += jump(accumulator === value);
    else if (code === 0x35) at += jump(accumulator >= value);
    else if (code === 0x45) at += jump((accumulator & value) !== 0);
    else if (value === 0x7fff0000) return "allow";
    else return value >>> 0 === 0x80000000 ? "kill" : value & 0xffff;
  }
}

describe.each([
  ["x64", 0xc000003e, 0x40000003],
  ["arm64", 0xc00000b7, 0xc0000028],
] as const)("the filter for %s", (processor: Processor, architecture, other) => {
  const filter = seccompFilter(processor);
  const answer = (name: SystemCall, ...args: number[]) =>
    verdict(filter, { number: systemCallNumber(name, processor) ?? -1, architecture, args });

  test("allows what programs do", () => {
    for (const name of ["read", "write", "openat", "execve", "wait4", "kill", "connect", "prctl", "pipe2"] as const)
      expect([name, answer(name)]).toEqual([name, "allow"]);
    expect(answer("clone", 0x11)).toBe("allow");
    expect([1, 2, 10, 16].map((family) => answer("socket", family))).toEqual(["allow", "allow", "allow", "allow"]);
    expect([answer("ioctl", 0, 0x5401), answer("ioctl", 0, 0x5413)]).toEqual(["allow", "allow"]);
    expect([answer("personality", 0xffffffff), answer("personality", 0)]).toEqual(["allow", "allow"]);
  });

  test("refuses what only attackers and administrators need", () => {
    const names = [
      "ptrace",
      "mount",
      "unshare",
      "setns",
      "bpf",
      "keyctl",
      "userfaultfd",
      "kexec_load",
      "reboot",
    ] as const;
    for (const name of names) expect([name, answer(name)]).toEqual([name, 1]);
    for (const flag of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
      expect(answer("clone", flag | 0x11)).toBe(1);
    expect([40, 17, 0, 38].map((family) => answer("socket", family))).toEqual([97, 97, 97, 97]);
    expect([answer("ioctl", 0, 0x5412), answer("ioctl", 0, 0x541c)]).toEqual([1, 1]);
    expect([answer("clone3"), answer("io_uring_setup"), answer("personality", 0x40000)]).toEqual([38, 38, 1]);
    // The kernel reads only the low half, and so does the filter.
    expect(answer("ioctl", 0, 0x100005412)).toBe(1);
    expect(answer("socket", 0x100000028)).toBe(97);
  });

  test("kills calls of another instruction set", () => {
    expect(verdict(filter, { number: 1, architecture: other })).toBe("kill");
    if (processor === "x64") expect(verdict(filter, { number: 0x40000001, architecture })).toBe("kill");
  });
});
