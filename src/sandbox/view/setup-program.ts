/**
 * The first program of a view. The outer process enters new namespaces and forks the inner process, which is process 1
 * of the view. Process 1 builds the file system and waits for the next program. It is root in the view's user
 * namespace, so it must not run any part of the command.
 */
import { launcherProgram, loadNext } from "./launcher.ts";
import { AT_FDCWD, descriptors, keepDescriptor, O_PATH, writeText } from "./mount-steps.ts";
import { addFileSystem, type FileSystemPlan } from "./mounts.ts";
import { controlFd, type Program, reportBytes, reportKinds } from "./program.ts";
import type { Processor } from "./system-calls.ts";

/** CLONE_NEWUSER, NEWNS, NEWPID, NEWNET, NEWIPC, NEWUTS, NEWCGROUP. */
const newNamespaces = 0x10000000 | 0x20000 | 0x20000000 | 0x40000000 | 0x8000000 | 0x4000000 | 0x2000000;
const SIGCHLD = 17;
const SIGKILL = 9;
const PR_SET_PDEATHSIG = 1;
const O_CLOEXEC = 0x80000;
const AF_INET = 2;
const SOCK_DGRAM = 2;
const SIOCSIFFLAGS = 0x8914;
const interfaceUp = 0x41; // IFF_UP and IFF_RUNNING
const maxDescriptor = 0x7fffffff;
/** Makes a view's processes the first to be killed when memory runs out. */
const oomScore = "1000";
const hostName = "sandbox";

export interface SetupPlan {
  fileSystem: FileSystemPlan;
  folder: string;
  uid: number;
  gid: number;
}

export function setupProgram(processor: Processor, plan: SetupPlan): Program {
  const program = launcherProgram(processor);
  const inner = program.label();
  // Close inherited descriptors so that the view does not get them and the numbers from 4 on are free.
  program.call("close_range", [descriptors.temporary, maxDescriptor, 0]);
  program.call("unshare", [newNamespaces], { title: "make namespaces" });
  program.call("prctl", [PR_SET_PDEATHSIG, SIGKILL]);
  writeText(program, "/proc/self/oom_score_adj", oomScore);
  mapIds(program, "/proc/self", { inside: 0, outside: plan.uid }, { inside: 0, outside: plan.gid });
  const report = program.words([reportKinds.process, 0, 0]) as { data: number };
  program.call("clone", [SIGCHLD, 0, 0, 0, 0], { store: { data: report.data + 8 }, onZero: inner });
  program.call("write", [controlFd, report, reportBytes]);
  program.call("close", [controlFd]);
  program.call("wait4", [-1, 0, 0, 0]);
  program.call("exit_group", [0]);
  program.place(inner);
  addInner(program, plan);
  return program;
}

/** Maps one user and one group. Must run right after the process enters its new user namespace. */
export function mapIds(
  program: Program,
  self: string,
  user: { inside: number; outside: number },
  group: { inside: number; outside: number },
  directory: number = AT_FDCWD,
): void {
  writeText(program, `${self}/uid_map`, `${user.inside} ${user.outside} 1`, directory);
  writeText(program, `${self}/setgroups`, "deny", directory);
  writeText(program, `${self}/gid_map`, `${group.inside} ${group.outside} 1`, directory);
}

function addInner(program: Program, plan: SetupPlan): void {
  program.call("prctl", [PR_SET_PDEATHSIG, SIGKILL]);
  addFileSystem(program, plan.fileSystem);
  const name = program.text(hostName);
  program.call("sethostname", [name, hostName.length]);
  addLoopback(program);
  program.call("openat", [AT_FDCWD, program.text(plan.folder), O_PATH | O_CLOEXEC, 0], {
    expected: descriptors.temporary,
  });
  keepDescriptor(program, descriptors.merged);
  // Free the low descriptors, because the pipe gets the two lowest.
  program.call("close_range", [descriptors.temporary, descriptors.merged - 1, 0]);
  program.call("pipe2", [program.words([0]), O_CLOEXEC]);
  program.call("dup3", [descriptors.temporary + 1, descriptors.output, O_CLOEXEC]);
  program.call("dup3", [descriptors.temporary, descriptors.outputEnd, O_CLOEXEC]);
  program.call("close", [descriptors.temporary]);
  program.call("close_range", [descriptors.proc + 1, maxDescriptor, 0]);
  const ready = program.words([reportKinds.ready, 0, 0]);
  program.call("write", [controlFd, ready, reportBytes], { next: loadNext });
}

/** `struct ifreq` has 16 bytes of name, then the flags. */
function addLoopback(program: Program): void {
  const request = Buffer.alloc(40);
  request.write("lo");
  request.writeUInt16LE(interfaceUp, 16);
  program.call("socket", [AF_INET, SOCK_DGRAM, 0], { expected: descriptors.temporary, title: "open a socket" });
  program.call("ioctl", [descriptors.temporary, SIOCSIFFLAGS, program.bytes(request)], { title: "bring loopback up" });
  program.call("close", [descriptors.temporary]);
}
