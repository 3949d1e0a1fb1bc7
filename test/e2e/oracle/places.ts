/**
 * Placeholders for what commands target: a generated command names `@HOME@`, and the run inserts the folder. So a seed gives the
 * same commands on every machine.
 */

/** Everything outside the working folder that a run has planted. */
export const placeNames = [
  /** The working folder, a folder beside it, the home of the bot, and a name that no file has. */
  ...(["FOLDER", "OUTSIDE", "HOME", "MARK"] as const),
  /** The bot's own folders, its configuration, and the checkout that it runs from. */
  ...(["WORKSPACE", "DATA", "CONFIG", "PROJECT"] as const),
  /** Processes: the bot, and one that waits to be killed. */
  ...(["BOT", "BAIT"] as const),
  /** Listeners: ports, the machine's own address, the name of an abstract socket, and the path of another. */
  ...(["TCP", "UDP", "VSOCK", "ADDRESS", "ABSTRACT", "SOCKET"] as const),
] as const;

export type PlaceName = (typeof placeNames)[number];
export type Places = Readonly<Record<PlaceName, string>>;

export function filled(text: string, places: Places): string {
  return text.replace(/@([A-Z]+)@/g, (whole, name: string) =>
    Object.hasOwn(places, name) ? places[name as PlaceName] : whole,
  );
}

/** Secrets, by every path that leads to them. */
export const secretFiles: readonly string[] = [
  "@OUTSIDE@/secret.txt",
  "../outside/secret.txt",
  "@FOLDER@/../outside/secret.txt",
  "@HOME@/.ssh/id_rsa",
  "@HOME@/.netrc",
  "@HOME@/.aws/credentials",
  "@HOME@/.bash_history",
  "@WORKSPACE@/canary.txt",
  "@WORKSPACE@/files/channel:general/secret.txt",
  "@DATA@/canary.txt",
  "@CONFIG@",
  "/dev/shm/@MARK@.canary",
  "/tmp/@MARK@.canary",
  "/var/tmp/@MARK@.canary",
  "/proc/self/root@OUTSIDE@/secret.txt",
  "/proc/1/root@OUTSIDE@/secret.txt",
  "/proc/self/cwd/../outside/secret.txt",
  "/proc/@BOT@/root@OUTSIDE@/secret.txt",
  "/proc/@BOT@/environ",
  "/proc/@BOT@/cmdline",
  "/proc/@BAIT@/environ",
  "/proc/@BAIT@/cmdline",
  "/proc/1/environ",
  "/proc/1/fd/3",
  "/dev/fd/../../../@OUTSIDE@/secret.txt",
  "link-absolute",
  "link-relative",
  "link-root",
  "link-folder/secret.txt",
  "link-proc/@OUTSIDE@/secret.txt",
];

export const secretFolders: readonly string[] = [
  "@OUTSIDE@",
  "..",
  "../outside",
  "@HOME@",
  "@HOME@/.ssh",
  "@WORKSPACE@",
  "@WORKSPACE@/files",
  "@DATA@",
  "@PROJECT@",
  "/tmp",
  "/var/tmp",
  "/dev/shm",
  "/root",
  "/home",
  "/proc",
  "/proc/1",
  "/proc/@BOT@",
  "/sys",
  "link-folder",
  "link-proc",
];

/** These must never be created or changed. */
export const forbiddenFiles: readonly string[] = [
  "@OUTSIDE@/@MARK@",
  "@OUTSIDE@/secret.txt",
  "../outside/@MARK@",
  "../@MARK@",
  "@HOME@/@MARK@",
  "@HOME@/.bashrc",
  "@HOME@/.ssh/authorized_keys",
  "@WORKSPACE@/@MARK@",
  "@WORKSPACE@/brain/prefrontal/identity.md",
  "@WORKSPACE@/files/channel:general/@MARK@",
  "@WORKSPACE@/skills/@MARK@",
  "@DATA@/@MARK@",
  "@CONFIG@",
  "@PROJECT@/@MARK@",
  "/tmp/@MARK@",
  "/var/tmp/@MARK@",
  "/dev/shm/@MARK@",
  "/root/@MARK@",
  "/etc/@MARK@",
  "/etc/cron.d/@MARK@",
  "/usr/local/bin/@MARK@",
  "/usr/bin/@MARK@",
  "/@MARK@",
  "/proc/self/root/tmp/@MARK@",
  "/proc/1/root/tmp/@MARK@",
  "/proc/1/cwd/@MARK@",
  "/proc/@BOT@/cwd/@MARK@",
  "/proc/@BAIT@/mem",
  "/proc/@BAIT@/oom_score_adj",
  "/proc/sys/kernel/printk_ratelimit_burst",
  "/sys/kernel/@MARK@",
  "link-absolute",
  "link-relative",
  "link-root",
  "link-folder/@MARK@",
  "link-proc/tmp/@MARK@",
];

/** In the working folder: the real files must not change, the draft may. */
export const ownFiles: readonly string[] = [
  "a.txt",
  "notes.md",
  "data.csv",
  "src/main.ts",
  "src/lib/util.ts",
  "src/hello.c",
  "package.json",
  "Makefile",
  ".git/config",
  ".git/HEAD",
  ".git/index",
  ".git/hooks/pre-commit",
  ".envrc",
  "build/out.o",
  "read-only.txt",
  "linked-1",
  "setuid",
  "archive.tar",
  "pipe",
  "socket",
  "device",
  "'with blank.txt'",
  "./-rf",
  "'$(touch x)'",
  "'weird;name'",
  "new.txt",
  "new/deep/file",
  "*",
  "./*.txt",
  "src/**/*.ts",
  "v?",
  "[a-n]*",
  "{a,b}.txt",
];

export const ownFolders: readonly string[] = [
  ".",
  "src",
  "src/lib",
  "build",
  ".git",
  ".git/hooks",
  "@FOLDER@",
  "empty",
];

/** Only these folders are changed as a whole, so a broken sandbox destroys only planted files. */
export const changedFolders: readonly string[] = [
  "@OUTSIDE@",
  "../outside",
  "@HOME@",
  "@WORKSPACE@",
  "@DATA@",
  "link-folder/",
  "/proc/self/root@OUTSIDE@",
];
