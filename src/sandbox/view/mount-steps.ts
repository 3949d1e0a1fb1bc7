/** Launcher steps that mount, open and write, to build the file systems of views. */
import type { Place, Program } from "./program.ts";

export const AT_FDCWD = -100;
export const O_PATH = 0x200000;
const O_CLOEXEC = 0x80000;
export const OPEN_TREE_CLONE = 1;
export const AT_RECURSIVE = 0x8000;
const AT_EMPTY_PATH = 0x1000;
const MOVE_MOUNT_F_EMPTY_PATH = 4;
const RESOLVE_NO_SYMLINKS = 4;
export const MS_NOSUID = 2;
export const MS_NODEV = 4;
export const MS_NOEXEC = 8;
export const MS_REC = 0x4000;
export const MS_PRIVATE = 0x40000;
export const MNT_DETACH = 2;
export const attribute = { readOnly: 1, noSuid: 2, noDevices: 4, noExecute: 8 } as const;
export const S_IFREG = 0o100000;

/** `temporary` is always the lowest free descriptor. Descriptors from 10 on are kept open. */
export const descriptors = {
  temporary: 4,
  outputEnd: 5,
  output: 6,
  merged: 10,
  proc: 11,
  upper: 20,
  work: 21,
  layers: 30,
};
/** The options of an overlay mount must fit in one page. */
export const maxLayers = 200;

interface Bind {
  from: string;
  at: string;
  isReadOnly: boolean;
  keepsDevices?: boolean;
}

/** Binds the folder with its submounts. Only adds mount attributes, because the source's attributes may be locked. */
export function addBind(program: Program, { from, at, isReadOnly, keepsDevices = false }: Bind): void {
  const attributes =
    attribute.noSuid |
    (isReadOnly ? attribute.readOnly : 0) |
    (keepsDevices ? attribute.noExecute : attribute.noDevices);
  const title = `bind ${from} at /${at}`;
  openTree(program, from, OPEN_TREE_CLONE | AT_RECURSIVE, title);
  protect(program, descriptors.temporary, "", attributes, AT_RECURSIVE | AT_EMPTY_PATH, title);
  moveTree(program, at, title, "fail");
}

/** Ignores errors, because the name may have just disappeared. The surrounding mount is protected in any case. */
export function addMask(program: Program, from: string, at: string): void {
  openTree(program, from, OPEN_TREE_CLONE);
  moveTree(program, at, `mask /${at}`, "ignore");
}

function moveTree(program: Program, at: string, title: string, onError: "fail" | "ignore"): void {
  const args = [descriptors.temporary, program.text(""), AT_FDCWD, program.text(at), MOVE_MOUNT_F_EMPTY_PATH];
  program.call("move_mount", args, { title, onError });
  program.call("close", [descriptors.temporary]);
}

export function openTree(program: Program, path: string, flags: number, title = `open /${path}`): void {
  const args = [AT_FDCWD, program.text(path), flags | O_CLOEXEC];
  program.call("open_tree", args, { title, expected: descriptors.temporary });
}

export function protect(
  program: Program,
  fd: number,
  path: string,
  set: number,
  flags = 0,
  title = `protect /${path}`,
): void {
  const attributes = program.words([set, 0, 0, 0]);
  program.call("mount_setattr", [fd, program.text(path), flags, attributes, 32], { title });
}

export function addMemory(program: Program, at: string, options: string): void {
  const type = program.text("tmpfs");
  const title = `mount a tmpfs at ${at}`;
  program.call("mount", [type, program.text(at), type, MS_NOSUID | MS_NODEV, program.text(options)], { title });
}

export function addLink(program: Program, target: string, at: string): void {
  program.call("symlinkat", [program.text(target), AT_FDCWD, program.text(at)], { title: `link /${at}` });
}

export function openPath(program: Program, path: string, descriptor: number): void {
  const args = [AT_FDCWD, program.text(path), O_PATH | O_CLOEXEC, 0];
  program.call("openat", args, { title: `open ${path}`, expected: descriptors.temporary });
  keepDescriptor(program, descriptor);
}

/** Refuses a path that contains a link, which somebody may have just put there. */
export function openExactly(program: Program, path: string, descriptor: number): void {
  const how = program.words([O_PATH | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS]);
  const args = [AT_FDCWD, program.text(path), how, 24];
  program.call("openat2", args, { title: `open ${path}`, expected: descriptors.temporary });
  keepDescriptor(program, descriptor);
}

export function keepDescriptor(program: Program, descriptor: number): void {
  program.call("dup3", [descriptors.temporary, descriptor, O_CLOEXEC]);
  program.call("close", [descriptors.temporary]);
}

export function writeText(program: Program, path: string, text: string, directory: number | Place = AT_FDCWD): void {
  const [O_WRONLY, title] = [1, `write ${path}`];
  program.call("openat", [directory, program.text(path), O_WRONLY | O_CLOEXEC, 0], {
    title,
    expected: descriptors.temporary,
  });
  program.call("write", [descriptors.temporary, program.text(text), Buffer.byteLength(text)], { title });
  program.call("close", [descriptors.temporary]);
}
