/**
 * The second program of a view. Process 1 forks a child, which confines itself and becomes the command. When the
 * command ends or the host requests it, process 1 kills and reaps the rest. The child is an ordinary user in a second
 * user namespace. The mounts belong to the first one, so the command can't undo them, even as the host's root.
 */
import { launcherProgram } from "./launcher.ts";
import { descriptors } from "./mount-steps.ts";
import { controlFd, type Label, type Place, type Program, reportBytes, reportKinds } from "./program.ts";
import { seccompFilter } from "./seccomp.ts";
import { mapIds } from "./setup-program.ts";
import type { Processor } from "./system-calls.ts";

/** The command's user in the view, as in the view's /etc/passwd. */
export const viewUser = { id: 1000, name: "user" } as const;

export interface ResourceLimits {
  maxFileBytes: number;
  maxProcessorSeconds: number;
  maxMappedBytes: number;
  maxOpenFiles: number;
  /** Undefined if the kernel would also count the user's processes outside the view. */
  maxProcesses: number | undefined;
}

/** Adds the steps of the confined child. The last step must not return. */
export type ChildSteps = (program: Program) => void;

const SIGCHLD = 17;
const SIGKILL = 9;
const SIG_BLOCK = 0;
const SIG_SETMASK = 2;
const signalSetBytes = 8;
const SFD_NONBLOCK = 0x800;
const O_CLOEXEC = 0x80000;
const MSG_DONTWAIT = 0x40;
const WNOHANG = 1;
const POLLIN = 1;
const CLOSE_RANGE_CLOEXEC = 4;
const CLONE_NEWUSER = 0x10000000;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const KEYCTL_JOIN_SESSION_KEYRING = 1;
const SECCOMP_SET_MODE_FILTER = 1;
const capabilityVersion = 0x20080522;
const maxCapability = 63;
const niceness = 5;
const maxDescriptor = 0x7fffffff;
const didNotStart = 127;
const resource = { processorTime: 0, fileSize: 1, data: 2, core: 4, processes: 6, openFiles: 7 } as const;

export function commandProgram(processor: Processor, limits: ResourceLimits, child: ChildSteps): Program {
  const program = launcherProgram(processor);
  const [childStart, wait, ended] = [program.label(), program.label(), program.label()];
  const report = program.words([reportKinds.ended, 0, 0]) as { data: number };
  const signals = program.words([1n << BigInt(SIGCHLD - 1)]);
  program.call("rt_sigprocmask", [SIG_BLOCK, signals, 0, signalSetBytes]);
  program.call("signalfd4", [-1, signals, signalSetBytes, SFD_NONBLOCK | O_CLOEXEC], {
    expected: descriptors.temporary,
  });
  const reap = program.label();
  program.call("clone", [SIGCHLD, 0, 0, 0, 0], { store: { step: reap, field: 64 }, onZero: childStart });
  program.call("close_range", [descriptors.outputEnd, descriptors.output, 0], { next: wait, onZero: wait });
  addWaiting(program, { wait, reap, ended, status: { data: report.data + 8 } });
  program.place(ended);
  addEnding(program, report);
  program.place(childStart);
  addConfinement(program, processor, limits);
  child(program);
  return program;
}

interface Waiting {
  wait: Label;
  reap: Label;
  ended: Label;
  status: Place;
}

/** `clone` stores the command's process id in the step `reap`, which waits for it. */
function addWaiting(program: Program, { wait, reap, ended, status }: Waiting): void {
  const [noByte, gone] = [program.label(), program.label()];
  const polled = Buffer.alloc(16);
  polled.writeInt32LE(controlFd, 0);
  polled.writeInt16LE(POLLIN, 4);
  polled.writeInt32LE(descriptors.temporary, 8);
  polled.writeInt16LE(POLLIN, 12);
  const buffer = program.bytes(Buffer.alloc(128));
  program.place(wait);
  program.call("ppoll", [program.bytes(polled), 2, 0, 0, 0], { onError: "ignore" });
  program.call("recvfrom", [controlFd, buffer, 1, MSG_DONTWAIT, 0, 0], { onZero: gone, onError: noByte });
  program.call("kill", [-1, SIGKILL], { onError: "ignore" });
  program.place(noByte);
  program.call("read", [descriptors.temporary, buffer, 128], { onError: "ignore" });
  program.place(reap);
  program.call("wait4", [-1, status, WNOHANG, 0], {
    expected: 0,
    onExpected: ended,
    onZero: wait,
    onError: wait,
    next: reap,
  });
  program.place(gone);
  program.call("exit_group", [0]);
}

function addEnding(program: Program, report: Place): void {
  const [reap, reaped, stay, gone] = [program.label(), program.label(), program.label(), program.label()];
  program.call("kill", [-1, SIGKILL], { onError: "ignore" });
  program.place(reap);
  program.call("wait4", [-1, 0, 0, 0], { next: reap, onError: reaped });
  program.place(reaped);
  program.call("write", [controlFd, report, reportBytes], { onError: gone });
  program.place(stay);
  // Discard kill bytes that came too late, until the connection ends.
  program.call("recvfrom", [controlFd, program.bytes(Buffer.alloc(8)), 1, 0, 0, 0], {
    next: stay,
    onZero: gone,
    onError: gone,
  });
  program.place(gone);
  program.call("exit_group", [0]);
}

/** The system call filter must come last, because it refuses calls that the earlier steps need. */
function addConfinement(program: Program, processor: Processor, limits: ResourceLimits): void {
  program.call("setsid", []);
  program.call("rt_sigprocmask", [SIG_SETMASK, program.words([0]), 0, signalSetBytes]);
  program.call("dup3", [descriptors.output, 1, 0]);
  program.call("dup3", [descriptors.output, 2, 0]);
  program.call("fchdir", [descriptors.merged]);
  program.call("close_range", [controlFd, maxDescriptor, CLOSE_RANGE_CLOEXEC]);
  // Free this descriptor, because `writeText` needs it.
  program.call("close", [descriptors.temporary]);
  program.call("umask", [0o022]);
  program.call("setpriority", [0, 0, niceness], { onError: "ignore" });
  program.call("keyctl", [KEYCTL_JOIN_SESSION_KEYRING, 0], { onError: "ignore" });
  program.call("unshare", [CLONE_NEWUSER], { title: "make the command's user namespace" });
  const user = { inside: viewUser.id, outside: 0 };
  mapIds(program, "self", user, user, descriptors.proc);
  addLimits(program, limits);
  addDropping(program);
  const filter = seccompFilter(processor);
  const filterProgram = program.words([filter.length / 8, program.bytes(filter)]);
  program.call("seccomp", [SECCOMP_SET_MODE_FILTER, 0, filterProgram], { title: "load the seccomp filter" });
}

function addLimits(program: Program, limits: ResourceLimits): void {
  const limit = (which: number, soft: number, hard = soft) =>
    program.call("prlimit64", [0, which, program.words([soft, hard]), 0], {
      title: "set a resource limit",
      onError: "ignore",
    });
  limit(resource.core, 0);
  limit(resource.fileSize, limits.maxFileBytes);
  limit(resource.processorTime, limits.maxProcessorSeconds, limits.maxProcessorSeconds + 1);
  limit(resource.data, limits.maxMappedBytes);
  limit(resource.openFiles, Math.min(1_024, limits.maxOpenFiles), limits.maxOpenFiles);
  if (limits.maxProcesses !== undefined) limit(resource.processes, limits.maxProcesses);
}

function addDropping(program: Program): void {
  for (let capability = 0; capability <= maxCapability; capability += 1)
    program.call("prctl", [PR_CAPBSET_DROP, capability, 0, 0, 0], { onError: "ignore" });
  program.call("prctl", [PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0], { onError: "ignore" });
  const header = program.words([capabilityVersion]);
  program.call("capset", [header, program.bytes(Buffer.alloc(24))], { title: "drop capabilities" });
  program.call("prctl", [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0], { title: "set no-new-privileges" });
}

export function executeSteps(file: string, args: readonly string[], env: Readonly<Record<string, string>>): ChildSteps {
  return (program) => {
    const list = (values: readonly string[]) => program.words([...values.map((value) => program.text(value)), 0]);
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    program.call("execve", [program.text(file), list(args), list(variables)], { title: `run ${file}` });
    program.call("exit_group", [didNotStart]);
  };
}

export const endSteps: ChildSteps = (program) => program.call("exit_group", [didNotStart]);

/** A little below 128 KiB, the kernel's limit for a single argument. */
const maxArgumentBytes = 120 * 1024;

/** The shell reads a command that is too long for an argument from a memory file. */
export function shellSteps(shell: string, text: string, env: Readonly<Record<string, string>>): ChildSteps {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxArgumentBytes) return executeSteps(shell, [shell, "-c", text], env);
  const descriptor = descriptors.temporary;
  const read = `eval "$(cat /dev/fd/${descriptor})" ${descriptor}<&-`;
  return (program) => {
    program.call("memfd_create", [program.text("command"), 0], { title: "keep the command", expected: descriptor });
    program.call("write", [descriptor, program.bytes(bytes), bytes.length], { title: "keep the command" });
    executeSteps(shell, [shell, "-c", read], env)(program);
  };
}
