/**
 * The /etc of views: copies of the few files that programs need, made once per start and bound read-only.
 *
 * Only what everybody on the machine may read is copied, and never a private key. Users, groups and hosts are the view's
 * own, so that a view does not tell who has an account here.
 */
import type { Dirent } from "node:fs";
import { copyFile, lstat, mkdir, open, readdir, readlink, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { viewUser } from "./command-program.ts";

/** Files and folders of /etc by name; `*` stands for the rest of a name. Missing ones are left out. */
const needed = [
  // the dynamic linker
  ...["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld-musl-*"],
  // certificates and cryptography
  ...["ssl", "pki", "ca-certificates", "ca-certificates.conf", "crypto-policies"],
  // names of services, types of files, time zone, languages, terminals
  ...["services", "protocols", "rpc", "ethertypes", "host.conf", "gai.conf", "mime.types", "magic", "magic.mime"],
  ...["localtime", "timezone", "locale.alias", "locale.conf", "terminfo", "inputrc", "papersize"],
  ...["os-release", "debian_version", "alpine-release", "redhat-release", "lsb-release"],
  // programs that keep needed parts here
  ...["alternatives", "fonts", "java", "java-*", "jvm", "python*", "perl", "R", "ImageMagick-*", "groff", "gprofng.rc"],
  ...[
    "bash.bashrc",
    "shells",
    "xattr.conf",
    "dictionaries-common",
    "texmf",
    "ghostscript",
    "libreoffice",
    "php",
    "xml",
  ],
  ...["sgml", "vim", "matplotlibrc", "OpenCL", "glvnd", "lynx", "maven", "openal", "mailcap", "netconfig", "vulkan"],
];
/** Below these names nothing is copied. */
const neverCopied = new Set(["private", "ssh", "sudoers", "shadow", "gshadow"]);
const maxFileBytes = 4 * 1024 * 1024;
const maxFiles = 5_000;
const source = "/etc";

/** Folders whose content is the same in every view, so that links into them can stay links. */
const sharedFolders = ["/usr", "/etc"];

/** Makes the folder, which must not exist yet. Rejects with Node's own error when it can't be written. */
export async function makeEtcTemplate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const names = await readdir(source, { withFileTypes: true }).catch(() => []);
  const budget = { files: maxFiles };
  for (const entry of names) if (isNeeded(entry.name)) await copyEntry(entry, source, folder, budget);
  const { id, name } = viewUser;
  const files = {
    passwd: `root:x:0:0:root:/nonexistent:/bin/sh\n${name}:x:${id}:${id}::/tmp:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n`,
    group: `root:x:0:\n${name}:x:${id}:\nnogroup:x:65534:\n`,
    hosts: "127.0.0.1 localhost sandbox\n::1 localhost\n",
    hostname: "sandbox\n",
    "nsswitch.conf":
      "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n",
    "resolv.conf": "",
  };
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text, { mode: 0o644 });
  await symlink("/proc/self/mounts", join(folder, "mtab")).catch(() => undefined);
}

function isNeeded(name: string): boolean {
  return needed.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : name === one));
}

async function copyEntry(entry: Dirent, from: string, to: string, budget: { files: number }): Promise<void> {
  if (neverCopied.has(entry.name) || budget.files <= 0) return;
  budget.files -= 1;
  const [path, target] = [join(from, entry.name), join(to, entry.name)];
  try {
    if (entry.isDirectory()) {
      if (((await stat(path)).mode & 0o005) !== 0o005) return;
      await mkdir(target, { mode: 0o755 });
      for (const inner of await readdir(path, { withFileTypes: true })) await copyEntry(inner, path, target, budget);
    } else if (entry.isSymbolicLink()) await copyLink(path, target);
    else if (entry.isFile()) await copyPublicFile(path, target);
  } catch {
    // A file that can't be read or has just gone is one that views do without.
  }
}

/** A link that leads elsewhere, such as to /var/lib, is replaced by what it leads to. */
async function copyLink(path: string, target: string): Promise<void> {
  const link = await readlink(path);
  const leadsTo = resolve(dirname(path), link);
  const isShared = sharedFolders.some((folder) => leadsTo.startsWith(folder + sep));
  if (isShared) return symlink(link, target);
  const real = await realpath(path);
  if ((await lstat(real)).isFile()) await copyPublicFile(real, target);
}

async function copyPublicFile(path: string, target: string): Promise<void> {
  const { mode, size } = await stat(path);
  if ((mode & 0o004) === 0 || size > maxFileBytes || (await holdsPrivateKey(path, size))) return;
  await copyFile(path, target);
}

async function holdsPrivateKey(path: string, size: number): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    return buffer.subarray(0, bytesRead).includes("PRIVATE KEY-----");
  } finally {
    await file.close();
  }
}
