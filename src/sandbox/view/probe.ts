/** Probes whether views confine commands on this machine, by trying to break out. Reports every problem. */
import { lstat, mkdir, mkdtemp, readFile, readlink, realpath, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { RemoraError } from "../../lib/errors.ts";
import type { SandboxReport, ViewOptions } from "../../ports/sandbox.ts";
import { executeSteps, viewUser } from "./command-program.ts";
import { AT_FDCWD, descriptors } from "./mount-steps.ts";
import type { Program, Value } from "./program.ts";
import { removeFolder } from "./remove-folder.ts";
import type { SystemCall } from "./system-calls.ts";
import type { StepView } from "./view.ts";

type Open = (options: ViewOptions, signal: AbortSignal) => Promise<StepView>;

/** Long, because a start on a busy machine is slow, and the report counts until the process ends. */
const probeMs = 60_000;
const namespaces = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];
const exitCode = 7;
const script = `echo changed > kept && echo new > made && rm removed && exit ${exitCode}`;
const [AF_INET, AF_VSOCK, SOCK_STREAM, CLONE_NEWUSER] = [2, 40, 1, 0x10000000];
const [O_WRONLY, S_IFCHR, PR_GET_SECCOMP, PR_GET_NO_NEW_PRIVS] = [1, 0o020000, 21, 39];
const nullDevice = 0x103;
const capabilityVersion = 0x20080522;

interface Surroundings {
  folder: string;
  canary: string;
  port: number;
}

/** Rejects with the error from `open` if no view can be created. `scratch` must be empty, and is empty afterwards. */
export async function probeView(open: Open, scratch: string, signal: AbortSignal): Promise<SandboxReport> {
  const place = await realpath(await mkdtemp(join(scratch, "try-")));
  const server = createServer((socket) => socket.destroy());
  try {
    const surroundings = { folder: join(place, "folder"), canary: join(place, "canary"), port: await listen(server) };
    await mkdir(surroundings.folder);
    await mkdir(join(place, "scratch"));
    await writeFile(surroundings.canary, "kept");
    for (const name of ["kept", "removed"]) await writeFile(join(surroundings.folder, name), "kept");
    return await probeIn(open, surroundings, join(place, "scratch"), signal);
  } finally {
    server.close();
    await removeFolder(place);
  }
}

async function probeIn(open: Open, surroundings: Surroundings, scratch: string, signal: AbortSignal) {
  const { folder } = surroundings;
  const view = await open({ folder, layers: [], scratch }, AbortSignal.any([signal, AbortSignal.timeout(probeMs)]));
  const timer = setTimeout(() => void view.close(), probeMs);
  try {
    const attempts = attemptsIn(surroundings);
    const running = view.startSteps((program) => addAttempts(program, attempts));
    const [output, end] = await Promise.all([text(running.output.setEncoding("latin1")), running.ended]);
    if (end.exitCode !== exitCode) return report(view, [`can't run a command (${end.message} ${output.slice(-200)})`]);
    return report(view, [
      ...judge(attempts, Buffer.from(output, "latin1")),
      ...(await sharedNamespaces(view.pid)),
      ...(await changedOutside(surroundings)),
      ...(await missingInside(view, folder)),
    ]);
  } finally {
    clearTimeout(timer);
    await view.close();
  }
}

function report(view: StepView, problems: readonly string[]): SandboxReport {
  const layers = view.upper === undefined ? "copy" : "overlay";
  if (problems.length > 0) {
    const detail = `The sandbox does not confine commands: it ${problems.join(", and it ")}. Commands ask first.`;
    return { holds: false, layers, detail };
  }
  const folder = layers === "overlay" ? "a copy-on-write folder" : "a copy of their folder, up to a size limit";
  return {
    holds: true,
    layers,
    detail: `Commands run in their own namespaces on ${folder}; no network, no privileges.`,
  };
}

interface Attempt {
  call: SystemCall;
  args: (program: Program) => readonly Value[];
  holds: (result: bigint) => boolean;
  /** Completes the sentence "The sandbox …" if `holds` returned false. */
  problem: string;
}

const isError = (result: bigint) => result < 0n;

function attemptsIn({ canary, port }: Surroundings): Attempt[] {
  const must = (call: SystemCall, problem: string, holds: Attempt["holds"], args: Attempt["args"]): Attempt => ({
    call,
    args,
    holds,
    problem,
  });
  const openAt = (path: string, flags: number) => (program: Program) => [AT_FDCWD, program.text(path), flags, 0];
  const address = Buffer.from([AF_INET, 0, port >> 8, port & 0xff, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  const tmpfs = (program: Program) => {
    const type = program.text("tmpfs");
    return [type, program.text("/tmp"), type, 0, 0];
  };
  return [
    must(
      "geteuid",
      "runs commands as root",
      (result) => result === BigInt(viewUser.id),
      () => [],
    ),
    must(
      "prctl",
      "has no seccomp filter",
      (result) => result === 2n,
      () => [PR_GET_SECCOMP],
    ),
    must(
      "prctl",
      "lets commands gain privileges",
      (result) => result === 1n,
      () => [PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0],
    ),
    must("openat", "shows files outside the folder", isError, openAt(canary, 0)),
    must("openat", "lets commands write outside the folder", isError, openAt(canary, O_WRONLY)),
    must("openat", "lets commands write to the system's programs", isError, openAt("/usr/bin/env", O_WRONLY)),
    must("openat", "lets commands change kernel settings", isError, openAt("/proc/sys/kernel/core_pattern", O_WRONLY)),
    must("socket", "lets commands reach the virtual machine's host", isError, () => [AF_VSOCK, SOCK_STREAM, 0]),
    must("ptrace", "lets commands trace processes", isError, () => [0, 0, 0, 0]),
    must("mount", "lets commands mount", isError, tmpfs),
    must("unshare", "lets commands make namespaces", isError, () => [CLONE_NEWUSER]),
    must("keyctl", "shows the machine's keys", isError, () => [0, -3, 0]),
    must("kill", "shows the machine's processes", isError, () => [process.pid, 0]),
    must("mknodat", "lets commands make devices", isError, (program) => [
      AT_FDCWD,
      program.text("/tmp/device"),
      S_IFCHR | 0o666,
      nullDevice,
    ]),
    must(
      "socket",
      "has no network of its own",
      (result) => result >= 0n,
      () => [AF_INET, SOCK_STREAM, 0],
    ),
    must("connect", "reaches the machine's network", isError, (program) => [
      descriptors.temporary,
      program.bytes(address),
      address.length,
    ]),
    must(
      "close",
      "can't close a socket",
      (result) => result === 0n,
      () => [descriptors.temporary],
    ),
  ];
}

/** Writes the results to standard output as 64-bit words, then the capabilities: effective, permitted, inheritable. */
function addAttempts(program: Program, attempts: readonly Attempt[]): void {
  const results = program.bytes(Buffer.alloc(attempts.length * 8 + 24, 0xff)) as { data: number };
  for (const [index, { call, args }] of attempts.entries()) {
    const store = { data: results.data + index * 8 };
    program.call(call, args(program), { store, onError: "ignore" });
  }
  const header = program.words([capabilityVersion]);
  program.call("capget", [header, { data: results.data + attempts.length * 8 }], { onError: "ignore" });
  program.call("write", [1, results, attempts.length * 8 + 24]);
  executeSteps("/bin/sh", ["sh", "-c", script], { PATH: "/usr/bin:/bin" })(program);
}

function judge(attempts: readonly Attempt[], output: Buffer): string[] {
  if (output.length < attempts.length * 8 + 24) return ["returns no results"];
  const capabilities = output.subarray(attempts.length * 8, attempts.length * 8 + 24);
  return [
    ...attempts.flatMap(({ holds, problem }, index) => (holds(output.readBigInt64LE(index * 8)) ? [] : [problem])),
    ...(capabilities.every((byte) => byte === 0) ? [] : ["leaves capabilities to commands"]),
  ];
}

async function sharedNamespaces(pid: number): Promise<string[]> {
  const shared = await Promise.all(
    namespaces.map(async (name) => {
      const [own, inside] = await Promise.all(["self", pid].map((of) => readlink(`/proc/${of}/ns/${name}`)));
      return own === inside ? [name] : [];
    }),
  );
  const names = shared.flat();
  return names.length === 0 ? [] : [`shares namespaces with the machine (${names.join(", ")})`];
}

async function changedOutside({ folder, canary }: Surroundings): Promise<string[]> {
  const paths = [canary, join(folder, "kept"), join(folder, "removed")];
  const contents = await Promise.all(paths.map((path) => readFile(path, "utf8").catch(() => "")));
  const made = await lstat(join(folder, "made")).catch(() => undefined);
  return contents.every((content) => content === "kept") && made === undefined ? [] : ["changes the real folder"];
}

async function missingInside(view: StepView, folder: string): Promise<string[]> {
  const read = (name: string) => readFile(join(view.merged, name), "utf8").catch(() => "");
  const [kept, made, removed] = await Promise.all(["kept", "made", "removed"].map(read));
  const isMerged = kept === "changed\n" && made === "new\n" && removed === "";
  const deletion = await lstat(join(view.upper ?? view.merged, "removed")).catch(() => undefined);
  const isKept = view.upper === undefined || (deletion?.isCharacterDevice() === true && deletion.rdev === 0);
  return isMerged && isKept ? [] : [`loses what commands write in ${folder}`];
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address() as AddressInfo | null;
  if (address === null)
    throw new RemoraError({ code: "sandbox.missing", place: "sandbox", message: "the probe got no port" });
  return address.port;
}
