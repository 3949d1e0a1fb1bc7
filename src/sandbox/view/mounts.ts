/**
 * Builds the file system of a view in its mount namespace. It is an allowlist: read-only system folders, small versions
 * of /etc, /dev and /proc, memory for /tmp, and the caller's folders. The working folder has a layer over it or is a
 * copy. Paths in the program are relative, because the process has changed its current directory to the new root.
 */
import {
  AT_FDCWD,
  AT_RECURSIVE,
  addBind,
  addLink,
  addMask,
  addMemory,
  attribute,
  descriptors,
  keepDescriptor,
  MNT_DETACH,
  MS_NODEV,
  MS_NOEXEC,
  MS_NOSUID,
  MS_PRIVATE,
  MS_REC,
  OPEN_TREE_CLONE,
  openExactly,
  openPath,
  openTree,
  protect,
  S_IFREG,
  writeText,
} from "./mount-steps.ts";
import type { Program } from "./program.ts";

export interface SystemFolder {
  path: string;
  /** The target if the path is a link, such as usr/bin for /bin. */
  link?: string;
}

export type ExtraMount =
  | { kind: "readable"; from: string; at: string; hasSubmounts: boolean }
  | { kind: "writable"; from: string; at: string }
  | { kind: "hidden"; at: string }
  | { kind: "overlay"; at: string; layers: readonly string[]; upper: string; work: string }
  | { kind: "copy"; at: string; copy: string };

export interface FileSystemPlan {
  /** An empty folder on the host, on which the new root is mounted. */
  root: string;
  system: readonly SystemFolder[];
  etc: string;
  /** Folders in the host's /etc that views show unchanged, as paths relative to it. */
  boundInEtc: readonly string[];
  maskedFiles: readonly string[];
  maskedFolders: readonly string[];
  extra: readonly ExtraMount[];
  maxTmpBytes: number;
  maxTmpFiles: number;
  maxSharedMemoryBytes: number;
  /** The view's own kernel.pid_max. Undefined if the kernel has only one for the entire machine. */
  maxProcessId: number | undefined;
}

const devices = ["null", "zero", "full", "random", "urandom"];
const emptyFolder = "var/empty";

export function addFileSystem(program: Program, plan: FileSystemPlan): void {
  const made = new Set<string>();
  const folder = (path: string, mode = 0o755) => {
    if (path === "" || made.has(path)) return;
    made.add(path);
    folder(parentOf(path));
    program.call("mkdirat", [AT_FDCWD, program.text(path), mode], { onError: "ignore" });
  };
  addRoot(program, plan.root);
  for (const { path, link } of plan.system) {
    if (link === undefined) {
      folder(inside(path));
      addBind(program, { from: path, at: inside(path), isReadOnly: true });
    } else addLink(program, link, inside(path));
  }
  folder("etc");
  addBind(program, { from: plan.etc, at: "etc", isReadOnly: true });
  for (const path of plan.boundInEtc) addBind(program, { from: `/etc/${path}`, at: `etc/${path}`, isReadOnly: true });
  folder(emptyFolder, 0o555);
  addDevices(program, folder, plan);
  folder("tmp");
  addMemory(program, "tmp", `mode=1777,size=${plan.maxTmpBytes},nr_inodes=${plan.maxTmpFiles}`);
  addLink(program, "/tmp", "var/tmp");
  folder("proc");
  addProc(program, plan);
  for (const mount of plan.extra) addExtra(program, folder, mount);
  for (const mount of plan.extra) if (mount.kind === "hidden") protectCover(program, inside(mount.at));
  enterRoot(program);
}

function addRoot(program: Program, root: string): void {
  const none = program.text("none");
  program.call("mount", [none, program.text("/"), 0, MS_REC | MS_PRIVATE, 0], { title: "make mounts private" });
  addMemory(program, root, "mode=755,size=4m,nr_inodes=10000");
  program.call("chdir", [program.text(root)]);
}

function enterRoot(program: Program): void {
  const here = program.text(".");
  program.call("pivot_root", [here, here]);
  program.call("umount2", [here, MNT_DETACH], { title: "leave the old root" });
  program.call("chdir", [program.text("/")]);
  protect(program, AT_FDCWD, "/", attribute.readOnly | attribute.noSuid | attribute.noDevices);
}

type MakeFolder = (path: string, mode?: number) => void;

function addDevices(program: Program, folder: MakeFolder, plan: FileSystemPlan): void {
  folder("dev");
  for (const name of devices) {
    const at = `dev/${name}`;
    program.call("mknodat", [AT_FDCWD, program.text(at), S_IFREG | 0o444, 0], { title: `make /${at}` });
    // A read-only bind protects the node itself, which the command's user may own. Writing to the device still works.
    addBind(program, { from: `/${at}`, at, isReadOnly: true, keepsDevices: true });
  }
  addLink(program, "/proc/self/fd", "dev/fd");
  for (const [index, name] of ["stdin", "stdout", "stderr"].entries())
    addLink(program, `/proc/self/fd/${index}`, `dev/${name}`);
  folder("dev/shm");
  addMemory(program, "dev/shm", `mode=1777,size=${plan.maxSharedMemoryBytes},nr_inodes=1000`);
}

/** Keeps a writable clone of the mount open, to write id maps and to let the host count processes. */
function addProc(program: Program, plan: FileSystemPlan): void {
  const [proc, at] = [program.text("proc"), "proc"];
  program.call("mount", [proc, proc, proc, MS_NOSUID | MS_NODEV | MS_NOEXEC, 0], { title: "mount /proc" });
  if (plan.maxProcessId !== undefined) writeText(program, "proc/sys/kernel/pid_max", String(plan.maxProcessId));
  openTree(program, at, OPEN_TREE_CLONE);
  keepDescriptor(program, descriptors.proc);
  for (const name of plan.maskedFiles) addMask(program, "dev/null", `proc/${name}`);
  for (const name of plan.maskedFolders) addMask(program, emptyFolder, `proc/${name}`);
  protect(program, AT_FDCWD, at, attribute.readOnly, AT_RECURSIVE);
}

function addExtra(program: Program, folder: MakeFolder, mount: ExtraMount): void {
  const at = inside(mount.at);
  // A folder to hide is covered only if it exists.
  if (mount.kind !== "hidden") folder(at);
  switch (mount.kind) {
    case "readable":
      addReadable(program, mount.from, at, mount.hasSubmounts);
      break;
    case "writable":
      addBind(program, { from: mount.from, at, isReadOnly: false });
      break;
    case "hidden":
      addCover(program, at);
      break;
    case "copy":
      addBind(program, { from: mount.copy, at, isReadOnly: false });
      break;
    case "overlay":
      addOverlay(program, mount);
      break;
    default:
      mount satisfies never;
  }
}

/** Covers a folder with an empty one. Mount points can be created in it until `protectCover`. */
function addCover(program: Program, at: string): void {
  const type = program.text("tmpfs");
  const options = program.text("mode=755,size=64k,nr_inodes=100");
  const args = [type, program.text(at), type, MS_NOSUID | MS_NODEV, options];
  program.call("mount", args, { title: `cover /${at}`, onError: "ignore" });
}

function protectCover(program: Program, at: string): void {
  const args = [AT_FDCWD, program.text(at), 0, program.words([attribute.readOnly, 0, 0, 0]), 32];
  program.call("mount_setattr", args, { onError: "ignore" });
}

/** Uses an overlay so that sockets and pipes in the folder are unusable. A folder with submounts needs a plain bind. */
function addReadable(program: Program, from: string, at: string, hasSubmounts: boolean): void {
  if (hasSubmounts) {
    addBind(program, { from, at, isReadOnly: true });
    return;
  }
  const [bind, done] = [program.label(), program.label()];
  openPath(program, from, descriptors.layers);
  openPath(program, emptyFolder, descriptors.layers + 1);
  mountOverlay(program, at, `lowerdir=${opened(descriptors.layers)}:${opened(descriptors.layers + 1)}`, bind);
  protect(program, AT_FDCWD, at, attribute.readOnly);
  program.call("close", [descriptors.layers], { next: done, onZero: done });
  program.place(bind);
  addBind(program, { from, at, isReadOnly: true });
  program.place(done);
}

function addOverlay(program: Program, mount: Extract<ExtraMount, { kind: "overlay" }>): void {
  const lower = [...mount.layers, mount.at].map((path, index) => {
    if (path === mount.at) openExactly(program, path, descriptors.layers + index);
    else openPath(program, path, descriptors.layers + index);
    return opened(descriptors.layers + index);
  });
  openPath(program, mount.upper, descriptors.upper);
  openPath(program, mount.work, descriptors.work);
  const folders = `lowerdir=${lower.join(":")},upperdir=${opened(descriptors.upper)},workdir=${opened(descriptors.work)}`;
  // The mount is volatile so that closing a view does not wait for the host's disk to sync.
  mountOverlay(program, inside(mount.at), `volatile,${folders}`, "fail");
}

const opened = (descriptor: number) => `/proc/self/fd/${descriptor}`;

/** Names folders by open descriptors so that paths need no escaping. */
function mountOverlay(
  program: Program,
  at: string,
  options: string,
  onError: "fail" | ReturnType<Program["label"]>,
): void {
  const type = program.text("overlay");
  const data = program.text(`userxattr,${options}`);
  program.call("mount", [type, program.text(at), type, MS_NOSUID | MS_NODEV, data], {
    title: "mount overlay",
    onError,
  });
}

function inside(path: string): string {
  return path.slice(1);
}

function parentOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}
