/** Builds the /etc of views: the few files that programs need, no private keys, and no accounts of this machine. */
import {
  type Dirent,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
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
const maxEntries = 5_000;
const source = "/etc";

/** Links into these folders are copied as links, because every view has the same content there. */
const sharedFolders = ["/usr", "/etc"];

type Entry =
  | { path: string; kind: "folder" }
  | { path: string; kind: "link"; to: string }
  | { path: string; kind: "file"; content: Buffer; mode: number };

/**
 * Fills the folder, unless it already has exactly the entries that it needs: reading hundreds of entries costs a tenth of
 * writing them. Synchronous, because there are hundreds of entries and each takes microseconds.
 */
export function makeEtcTemplate(folder: string): void {
  const entries = [...ownEntries(), ...machineEntries()];
  if (isEqual(folder, entries)) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o755 });
  for (const entry of entries) writeEntry(join(folder, entry.path), entry);
}

function isEqual(folder: string, entries: readonly Entry[]): boolean {
  try {
    const isThere = (entry: Entry) => {
      const path = join(folder, entry.path);
      if (entry.kind === "folder") return statSync(path).isDirectory();
      return entry.kind === "link" ? readlinkSync(path) === entry.to : readFileSync(path).equals(entry.content);
    };
    return readdirSync(folder, { recursive: true }).length === entries.length && entries.every(isThere);
  } catch {
    return false;
  }
}

function writeEntry(path: string, entry: Entry): void {
  if (entry.kind === "folder") mkdirSync(path, { mode: 0o755 });
  else if (entry.kind === "link") symlinkSync(entry.to, path);
  else writeFileSync(path, entry.content, { mode: entry.mode });
}

function ownEntries(): Entry[] {
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
  return [
    { path: boundInEtc, kind: "folder" },
    { path: "mtab", kind: "link", to: "/proc/self/mounts" },
    ...Object.entries(files).map(
      ([path, text]): Entry => ({ path, kind: "file", content: Buffer.from(text), mode: 0o644 }),
    ),
  ];
}

function machineEntries(): Entry[] {
  const found: Entry[] = [];
  const names = readable(() => readdirSync(source, { withFileTypes: true })) ?? [];
  for (const entry of names) if (isNeeded(entry.name)) addEntry(entry, source, found);
  return found;
}

function isNeeded(name: string): boolean {
  return needed.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : name === one));
}

function addEntry(entry: Dirent, parent: string, found: Entry[]): void {
  if (neverCopied.has(entry.name) || found.length >= maxEntries) return;
  const from = join(parent, entry.name);
  const path = relative(source, from);
  if (entry.isDirectory()) {
    const inner = readable(() =>
      (statSync(from).mode & 0o005) === 0o005 ? readdirSync(from, { withFileTypes: true }) : undefined,
    );
    if (inner === undefined) return;
    found.push({ path, kind: "folder" });
    for (const one of inner) addEntry(one, from, found);
    return;
  }
  const copied = readable(() => {
    if (entry.isSymbolicLink()) return linkEntry(path, from);
    return entry.isFile() ? publicFile(path, from) : undefined;
  });
  if (copied !== undefined) found.push(copied);
}

/** Copies a link as a link, or the file that it leads to if that is not in `sharedFolders`. */
function linkEntry(path: string, from: string): Entry | undefined {
  const to = readlinkSync(from);
  const leadsTo = resolve(dirname(from), to);
  if (sharedFolders.some((folder) => leadsTo.startsWith(folder + sep))) return { path, kind: "link", to };
  return publicFile(path, realpathSync(from));
}

function publicFile(path: string, from: string): Entry | undefined {
  const found = statSync(from);
  const { mode, size } = found;
  if (!found.isFile() || (mode & 0o004) === 0 || size > maxFileBytes) return undefined;
  const content = readFileSync(from);
  if (content.includes("PRIVATE KEY-----")) return undefined;
  return { path, kind: "file", content, mode: 0o644 | (mode & 0o111) };
}

/** Undefined for files that can't be read or were just removed. */
function readable<Found>(read: () => Found): Found | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
