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

/** Mounted from the host, because it contains hundreds of links to programs and nothing else. */
const alwaysMounted = "alternatives";
/** A folder with more of them, such as that of certificates, is mounted instead if all that it holds is public. */
const maxLinks = 16;

/** Names in /etc, where `*` stands for the rest of a name. */
const needed = [
  alwaysMounted,
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
/** These names and everything below them are never copied. */
const neverCopied = new Set(["private", "ssh", "sudoers", "shadow", "gshadow"]);
const maxFileBytes = 4 * 1024 * 1024;
const maxEntries = 5_000;
const source = "/etc";

/** Links into these folders are copied as links, because every view has the same content there. */
const sharedFolders = ["/usr", "/etc"];

type Entry =
  | { path: string; kind: "folder" }
  /** A folder that is empty here, and that views have from the host. */
  | { path: string; kind: "mount" }
  | { path: string; kind: "link"; to: string }
  | { path: string; kind: "file"; content: Buffer; mode: number };

/**
 * Fills the folder, unless it already has exactly the entries that it needs: reading hundreds of entries costs a tenth of
 * writing them. Synchronous, because there are hundreds of entries and each takes microseconds. Returns the folders of
 * /etc that views have from the host, as paths relative to it.
 */
export function makeEtcTemplate(folder: string): string[] {
  const entries = [...ownEntries(), ...machineEntries()];
  const mounted = entries.flatMap(({ kind, path }) => (kind === "mount" ? [path] : []));
  if (isEqual(folder, entries)) return mounted;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o755 });
  for (const entry of entries) writeEntry(join(folder, entry.path), entry);
  return mounted;
}

function isEqual(folder: string, entries: readonly Entry[]): boolean {
  try {
    const isThere = (entry: Entry) => {
      const path = join(folder, entry.path);
      if (entry.kind === "folder" || entry.kind === "mount") return statSync(path).isDirectory();
      return entry.kind === "link" ? readlinkSync(path) === entry.to : readFileSync(path).equals(entry.content);
    };
    return readdirSync(folder, { recursive: true }).length === entries.length && entries.every(isThere);
  } catch {
    return false;
  }
}

function writeEntry(path: string, entry: Entry): void {
  if (entry.kind === "folder" || entry.kind === "mount") mkdirSync(path, { mode: 0o755 });
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

/** Returns whether the copy is what a view would see in the folder itself. */
function addEntry(entry: Dirent, parent: string, found: Entry[]): boolean {
  if (neverCopied.has(entry.name) || found.length >= maxEntries) return false;
  const from = join(parent, entry.name);
  const path = relative(source, from);
  if (entry.isDirectory()) return addFolder(path, from, found);
  const copied = readable(() => {
    if (entry.isSymbolicLink()) return linkEntry(path, from);
    return entry.isFile() ? publicFile(path, from) : undefined;
  });
  if (copied !== undefined) found.push(copied);
  return copied?.kind === (entry.isSymbolicLink() ? "link" : "file");
}

function addFolder(path: string, from: string, found: Entry[]): boolean {
  const inner = readable(() =>
    (statSync(from).mode & 0o005) === 0o005 ? readdirSync(from, { withFileTypes: true }) : undefined,
  );
  if (inner === undefined) return false;
  const place = found.push({ path, kind: "folder" }) - 1;
  const isWhole = inner.map((one) => addEntry(one, from, found)).every(Boolean);
  const hasManyLinks = inner.filter((one) => one.isSymbolicLink()).length > maxLinks;
  if (path === alwaysMounted || (isWhole && hasManyLinks)) found.splice(place, found.length, { path, kind: "mount" });
  return isWhole;
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
