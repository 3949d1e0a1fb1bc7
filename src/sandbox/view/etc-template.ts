/** Builds the /etc of views: the few files that programs need, no private keys, and no accounts of this machine. */
import {
  chmodSync,
  type Dirent,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
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
const folderMode = 0o755;

/** Links into these folders are copied as links, because every view has the same content there. */
const sharedFolders = ["/usr", "/etc"];

type Mount = {
  path: string;
  kind: "mount";
  /** The versions of all folders and files in it when they were checked, by path. */
  checked: ReadonlyMap<string, string>;
};
type Entry =
  | { path: string; kind: "folder"; version: string }
  /** A folder that is empty here, and that views have from the host. */
  | Mount
  | { path: string; kind: "link"; to: string }
  | { path: string; kind: "file"; content: Buffer; mode: number; version?: string };

export interface EtcTemplate {
  /**
   * Returns the folders of /etc that views have from the host, as paths relative to it. Those that have changed are checked
   * again: one that is no longer only public is copied as others are, and one that is gone stays empty.
   */
  mounted(): string[];
}

/**
 * Fills the folder, unless it already has exactly the entries that it needs: reading hundreds of entries costs a tenth of
 * writing them. Synchronous, because there are hundreds of entries and each takes microseconds.
 */
export function makeEtcTemplate(folder: string, source = "/etc"): EtcTemplate {
  const entries = [...ownEntries(), ...machineEntries(source)];
  if (!isEqual(folder, entries)) {
    rmSync(folder, { recursive: true, force: true });
    makeFolder(folder);
    for (const entry of entries) writeEntry(folder, entry);
  }
  const mounts = new Map(entries.filter(isMount).map((mount) => [mount.path, mount]));
  const checkAgain = (path: string) => {
    const found: Entry[] = [];
    const from = join(source, path);
    if (readable(() => realpathSync(from)) === from) addFolder(path, { source, found });
    mounts.delete(path);
    for (const mount of found.filter(isMount)) mounts.set(mount.path, mount);
    for (const entry of found) if (entry.path !== path) writeEntry(folder, entry);
  };
  return {
    mounted() {
      for (const mount of [...mounts.values()]) if (!isUnchanged(mount, source)) checkAgain(mount.path);
      return [...mounts.keys()];
    },
  };
}

function isMount(entry: Entry): entry is Mount {
  return entry.kind === "mount";
}

function isUnchanged({ checked }: Mount, source: string): boolean {
  const current = (path: string) => readable(() => versionOf(statSync(join(source, path))));
  return [...checked].every(([path, version]) => current(path) === version);
}

function isEqual(folder: string, entries: readonly Entry[]): boolean {
  try {
    const uid = process.geteuid?.();
    const isOwn = (found: Stats, mode: number) => found.uid === uid && (found.mode & 0o7777) === mode;
    const isOwnFolder = (path: string) => {
      const found = lstatSync(path);
      return found.isDirectory() && isOwn(found, folderMode);
    };
    const isThere = (entry: Entry) => {
      const path = join(folder, entry.path);
      if (entry.kind === "folder" || entry.kind === "mount") return isOwnFolder(path);
      if (entry.kind === "link") return lstatSync(path).uid === uid && readlinkSync(path) === entry.to;
      const found = lstatSync(path);
      // A file with another name could be changed there.
      const isPlain = found.isFile() && found.nlink === 1 && isOwn(found, entry.mode);
      return isPlain && readFileSync(path).equals(entry.content);
    };
    if (!isOwnFolder(folder)) return false;
    return countEntries(folder) === entries.length && entries.every(isThere);
  } catch {
    return false;
  }
}

/** Not with `recursive` of Node, which follows links to folders. */
function countEntries(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce(
    (sum, entry) => sum + 1 + (entry.isDirectory() ? countEntries(join(folder, entry.name)) : 0),
    0,
  );
}

/** Changes modes after creation, because the process's umask applies to that. */
function writeEntry(folder: string, entry: Entry): void {
  const path = join(folder, entry.path);
  if (entry.kind === "folder" || entry.kind === "mount") makeFolder(path);
  else if (entry.kind === "link") symlinkSync(entry.to, path);
  else {
    writeFileSync(path, entry.content);
    chmodSync(path, entry.mode);
  }
}

function makeFolder(path: string): void {
  mkdirSync(path);
  chmodSync(path, folderMode);
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

function machineEntries(source: string): Entry[] {
  const found: Entry[] = [];
  const names = readable(() => readdirSync(source, { withFileTypes: true })) ?? [];
  for (const entry of names) if (isNeeded(entry.name)) addEntry(entry, "", { source, found });
  return found;
}

function isNeeded(name: string): boolean {
  return needed.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : name === one));
}

interface Reading {
  source: string;
  found: Entry[];
}

/** Returns whether the copy is what a view would see in the folder itself. */
function addEntry(entry: Dirent, parent: string, reading: Reading): boolean {
  const { source, found } = reading;
  if (neverCopied.has(entry.name) || found.length >= maxEntries) return false;
  const path = join(parent, entry.name);
  const from = join(source, path);
  if (entry.isDirectory()) return addFolder(path, reading);
  const copied = readable(() => {
    if (entry.isSymbolicLink()) return linkEntry(path, from);
    return entry.isFile() ? publicFile(path, from) : undefined;
  });
  if (copied !== undefined) found.push(copied);
  // The links to programs there may lead to folders that views don't have.
  if (entry.isSymbolicLink()) return copied?.kind === "link" || parent === alwaysMounted;
  return copied !== undefined;
}

function addFolder(path: string, reading: Reading): boolean {
  const { source, found } = reading;
  const from = join(source, path);
  const info = readable(() => statSync(from));
  if (info === undefined || (info.mode & 0o005) !== 0o005) return false;
  const inner = readable(() => readdirSync(from, { withFileTypes: true }));
  if (inner === undefined) return false;
  const place = found.push({ path, kind: "folder", version: versionOf(info) }) - 1;
  const isWhole = inner.map((one) => addEntry(one, path, reading)).every(Boolean);
  const hasManyLinks = inner.filter((one) => one.isSymbolicLink()).length > maxLinks;
  if (isWhole && (path === alwaysMounted || hasManyLinks)) {
    const checked = new Map(found.splice(place).flatMap(versions));
    found.push({ path, kind: "mount", checked });
  }
  return isWhole;
}

function versions(entry: Entry): (readonly [string, string])[] {
  if (entry.kind === "mount") return [...entry.checked];
  return entry.kind === "link" || entry.version === undefined ? [] : [[entry.path, entry.version]];
}

/** The time of the change includes changes of the mode, and of the names in a folder. */
function versionOf({ ino, ctimeMs }: Stats): string {
  return `${ino} ${ctimeMs}`;
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
  return { path, kind: "file", content, mode: 0o644 | (mode & 0o111), version: versionOf(found) };
}

/** Undefined for files that can't be read or were just removed. */
function readable<Found>(read: () => Found): Found | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
