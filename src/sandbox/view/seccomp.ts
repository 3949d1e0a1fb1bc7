/**
 * The seccomp filter of a view's command, a classic BPF program. Calls of another instruction set (32-bit, x32) kill
 * the process, because the same numbers mean other calls there. Calls that only attackers and administrators need fail
 * with EPERM. Calls that libraries can do without fail with ENOSYS.
 */
import { type Processor, type SystemCall, systemCallNumber } from "./system-calls.ts";

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const refused: readonly SystemCall[] = [
  // other processes
  ...(["ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp"] as const),
  ...(["pidfd_getfd", "move_pages", "migrate_pages"] as const),
  // keys
  ...(["add_key", "request_key", "keyctl"] as const),
  // large parts of the kernel with a history of vulnerabilities
  ...(["bpf", "userfaultfd", "perf_event_open", "fanotify_init", "lookup_dcookie", "memfd_secret"] as const),
  // mounts and namespaces
  ...(["mount", "umount2", "pivot_root", "chroot", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick"] as const),
  ...(["open_tree", "open_tree_attr", "mount_setattr", "statmount", "listmount", "unshare", "setns"] as const),
  ...(["name_to_handle_at", "open_by_handle_at"] as const),
  // the machine
  ...(["kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module"] as const),
  ...(["query_module", "get_kernel_syms", "reboot", "swapon", "swapoff", "quotactl", "quotactl_fd", "acct"] as const),
  ...(["settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "sethostname", "setdomainname"] as const),
  ...(["iopl", "ioperm", "modify_ldt", "syslog", "vhangup", "nfsservctl", "uselib", "_sysctl"] as const),
  "lsm_set_self_attr",
];

/** io_uring bypasses this filter, and clone3 hides its flags from the filter. */
const missing: readonly SystemCall[] = ["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"];

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const namespaceFlags = 0x7e020000;
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. The network namespace confines these, but not AF_VSOCK, for example. */
const socketFamilies = [1, 2, 10, 16];
/** TIOCSTI and TIOCLINUX push input into other terminals. */
const terminalRequests = [0x5412, 0x541c];
/** The value that only queries the personality, and the default personality. */
const personalities = [0xffffffff, 0];

const auditArchitecture = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const x32Bit = 0x40000000;

/** Offsets in `struct seccomp_data`. */
const data = { number: 0, architecture: 4, argument: (index: number) => 16 + index * 8 } as const;
const killProcess = 0x80000000;
const allow = 0x7fff0000;
const fail = (errno: number) => 0x00050000 | errno;

interface Instruction {
  code: number;
  jumpTrue: number;
  jumpFalse: number;
  value: number;
}

const load = (offset: number): Instruction => ({ code: 0x20, jumpTrue: 0, jumpFalse: 0, value: offset });
const end = (value: number): Instruction => ({ code: 0x06, jumpTrue: 0, jumpFalse: 0, value });
const ifEqual = (value: number, jumpTrue: number, jumpFalse: number) => ({ code: 0x15, jumpTrue, jumpFalse, value });
const ifAtLeast = (value: number, jumpTrue: number, jumpFalse: number) => ({ code: 0x35, jumpTrue, jumpFalse, value });
const ifAnyBit = (value: number, jumpTrue: number, jumpFalse: number) => ({ code: 0x45, jumpTrue, jumpFalse, value });

export function seccompFilter(processor: Processor): Buffer {
  const program: Instruction[] = [
    load(data.architecture),
    ifEqual(auditArchitecture[processor], 1, 0),
    end(killProcess),
    load(data.number),
    ...(processor === "x64" ? [ifAtLeast(x32Bit, 0, 1), end(killProcess)] : []),
    ...refused.flatMap((name) => whenCall(name, processor, [end(fail(EPERM))])),
    ...missing.flatMap((name) => whenCall(name, processor, [end(fail(ENOSYS))])),
    ...whenCall("clone", processor, [
      load(data.argument(0)),
      ifAnyBit(namespaceFlags, 0, 1),
      end(fail(EPERM)),
      end(allow),
    ]),
    ...whenCall("socket", processor, oneOf(0, socketFamilies, allow, fail(EAFNOSUPPORT))),
    ...whenCall("personality", processor, oneOf(0, personalities, allow, fail(EPERM))),
    ...whenCall("ioctl", processor, oneOf(1, terminalRequests, fail(EPERM), allow)),
    end(allow),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, { code, jumpTrue, jumpFalse, value }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}

/** Runs `body`, which must end the filter, for one system call. The call's number must already be loaded. */
function whenCall(name: SystemCall, processor: Processor, body: readonly Instruction[]): Instruction[] {
  const number = systemCallNumber(name, processor);
  return number === undefined ? [] : [ifEqual(number, 0, body.length), ...body];
}

/** Compares the low half of an argument, because the kernel ignores the high half in all calls checked here. */
function oneOf(argument: number, values: readonly number[], result: number, otherwise: number): Instruction[] {
  const tests = values.map((value, index) => ifEqual(value, values.length - index, 0));
  return [load(data.argument(argument)), ...tests, end(otherwise), end(result)];
}
