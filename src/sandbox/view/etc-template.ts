/** Builds the /etc of views: the few files that programs need, no private keys, and no accounts of this machine. */
import { type Dirent, readlinkSync, symlinkSync } from "node:fs";
import { lstat, mkdir, readdir, readFile, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { viewUser } from "./command-program.ts";

/** Names in /etc, where `*` stands for the rest of a name. */
const needed = [
  // the dynamic linker
  ...["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld-musl-*"],
  // certificates and cryptography
  ...["ssl", "pki", "ca-certificates", "ca-certificates.conf", "crypto-policies"],
  // service names, file types, time zone, languages, terminals
  ...["services", "protocols", "rpc", "ethertypes", "host.conf", "gai.conf", "mime.types", "magic", "magic.mime"],
  ...["localtime", "timezone", "locale.alias", "locale.conf", "terminfo", "inputrc", "papersize"],
  ...["os-release", "debian_version", "alpine-release", "redhat-release", "lsb-release"],
  // programs with required files in /etc
  ...["fonts", "java", "java-*", "jvm", "python*", "perl", "R", "ImageMagick-*", "groff", "gprofng.rc"],
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
  ...["sgml", "vim", "matplotlibrc", "OpenCL", "glvnd", "lynx", "openal", "mailcap", "netconfig", "vulkan"],
];
/** Mounted from the host, because it contains hundreds of links to programs and nothing else. */
export const boundInEtc = "alternatives";
/** These names and everything below them are never copied. */
const neverCopied = new Set(["private", "ssh", "sudoers", "shadow", "gshadow"]);
const maxFileBytes = 4 * 1024 * 1024;
const maxFiles = 5_000;
const source = "/etc";

/** Links into these folders are copied as links, because every view has the same content there. */
const sharedFolders = ["/usr", "/etc"];

/** The folder must not exist yet. */
export async function makeEtcTemplate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const names = await readdir(source, { withFileTypes: true }).catch(() => []);
  const budget = { files: maxFiles };
  await mkdir(join(folder, boundInEtc), { mode: 0o755 });
  const wanted = names.filter(({ name }) => isNeeded(name));
  await Promise.all(wanted.map((entry) => copyEntry(entry, source, folder, budget)));
  const { id, name } = viewUser;
  const files = {
    passwd: `root:x:0:0:root:/nonexistent:/bin/sh\n${name}:x:${id}:${id}::/tmp:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n`,
    group: `root:x:0:\n${name}:x:${id}:\nnogroup:x:65534:\n`,
    hosts: "127.0.0.1 localhost sandbox\n::1 localhost\n",
    hostname: "sandbox\n",
    "nsswitch.conf":
      "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n",
    "resolv.conf": "",
    // Git needs a name for commits. The settings of a repository override these.
    gitconfig: "[user]\n\tname = Remora\n\temail = remora@localhost\n[init]\n\tdefaultBranch = main\n",
  };
  const write = ([file, text]: [string, string]) => writeFile(join(folder, file), text, { mode: 0o644 });
  await Promise.all(Object.entries(files).map(write));
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
      const inner = await readdir(path, { withFileTypes: true });
      await Promise.all(inner.map((one) => copyEntry(one, path, target, budget)));
    } else if (entry.isSymbolicLink()) await copyLink(path, target);
    else if (entry.isFile()) await copyPublicFile(path, target);
  } catch {
    // Skip files that can't be read or were just removed.
  }
}

/** Copies a link as a link, or the file that it leads to if that is not in `sharedFolders`. */
async function copyLink(path: string, target: string): Promise<void> {
  // Synchronous, because there are hundreds of links and each takes microseconds.
  const link = readlinkSync(path);
  const leadsTo = resolve(dirname(path), link);
  const isShared = sharedFolders.some((folder) => leadsTo.startsWith(folder + sep));
  if (isShared) {
    symlinkSync(link, target);
    return;
  }
  const real = await realpath(path);
  if ((await lstat(real)).isFile()) await copyPublicFile(real, target);
}

async function copyPublicFile(path: string, target: string): Promise<void> {
  const { mode, size } = await stat(path);
  if ((mode & 0o004) === 0 || size > maxFileBytes) return;
  const content = await readFile(path);
  if (!content.includes("PRIVATE KEY-----")) await writeFile(target, content, { mode: 0o644 | (mode & 0o111) });
}
