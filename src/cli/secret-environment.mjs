/**
 * Removes secrets from the environment before anything else runs, because a process's initial environment stays
 * readable in /proc/<pid>/environ until the process ends.
 *
 *   1. keep harmless variables: listed names that the configuration does not use
 *   2. write all others into an unlinked file, and open it as descriptor 0
 *   3. replace the process by one with the same process id and arguments, and the harmless environment
 *   4. the new process reads descriptor 0 and closes it (cli/environment.ts)
 *
 * Node keeps only descriptors 0, 1 and 2 open across `execve`. `start` does not read standard input, so 0 is free.
 */
import { closeSync, fstatSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { devNull, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { workingFolder } from "./working-folder.mjs";

const harmlessNames = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "HOSTNAME", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR"],
  ...["LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "CI", "SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF"],
  ...[
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "LOG_LEVEL",
  ],
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"],
]);
const harmlessName = /^(?:LC_|XDG_|NODE_|UV_|MALLOC_|REMORA_)/;
const secretName = /token|secret|passw|passphrase|key|auth|credential|cookie|private/i;
const secretValue = /:\/\/[^/\s]*@/;
/** The launcher needs these variables before it reads the configuration. They contain only paths. */
const alwaysKept = new Set(["PATH", "HOME", "TMPDIR"]);

/**
 * glibc reads these when a process starts. By default each thread reserves memory of its own (5 MB more in total), and
 * memory that a start has freed in fragments is kept (10 to 15 MB more). Larger blocks than the threshold are mapped, and
 * given back at once: just below 32 KB, the largest segment of V8's zones, an idle process keeps 2 to 11 MB less than at
 * 68 KB, at the same processor time per turn.
 */
const leanMemory = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: String(30 * 1024),
  MALLOC_TRIM_THRESHOLD_: String(128 * 1024),
  MALLOC_TOP_PAD_: String(64 * 1024),
};

/** Does not return if it replaces the process. Returns if there is nothing to hide, or if hiding fails. */
export function restartWithoutSecrets() {
  const { shown, hidden } = separate(process.env);
  if (Object.keys(hidden).length === 0) return;
  try {
    handOver(JSON.stringify(hidden));
  } catch (thrown) {
    warn(thrown);
    fillDescriptor();
    return;
  }
  const args = [process.argv0, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, args, shown);
}

/** The new process's environment, and the variables that it reads from descriptor 0. */
export function separate(env) {
  const used = namesInConfig(env);
  const [shown, hidden] = [{ ...leanMemory }, {}];
  for (const [name, value] of Object.entries(env)) (isHarmless(name, value, used) ? shown : hidden)[name] = value;
  return { shown: { ...shown, REMORA_ENVIRONMENT: "0" }, hidden };
}

function isHarmless(name, value, used) {
  if (alwaysKept.has(name)) return true;
  if (used.has(name) || secretName.test(name) || secretValue.test(value)) return false;
  return harmlessNames.has(name) || harmlessName.test(name);
}

/** Every variable that the configuration uses may be a secret. An unreadable file is reported later. */
function namesInConfig(env) {
  const root = workingFolder();
  try {
    const file = env.REMORA_CONFIG || configOfEnvFile(resolve(root, env.REMORA_ENV_FILE || ".env"));
    const text = readFileSync(resolve(root, file), "utf8");
    return new Set(Array.from(text.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g), ([, name]) => name));
  } catch {
    return new Set();
  }
}

function configOfEnvFile(path) {
  try {
    return parseEnv(readFileSync(path, "utf8")).REMORA_CONFIG || "config/remora.yaml";
  } catch {
    return "config/remora.yaml";
  }
}

/** Unlinks the file before writing to it so that no crash leaves a secret behind. */
function handOver(text) {
  if (process.platform === "win32") throw new Error("this system can't replace a process");
  const { written, path } = createFile();
  try {
    closeSync(0);
    const read = openSync(path, "r");
    if (read !== 0) throw new Error(`descriptor ${read} instead of 0`);
  } finally {
    unlinkSync(path);
  }
  for (let rest = Buffer.from(text); rest.length > 0; ) rest = rest.subarray(writeSync(written, rest));
  closeSync(written);
}

/** Occupies descriptor 0, because otherwise the next opened file would get it. */
function fillDescriptor() {
  try {
    fstatSync(0);
  } catch {
    openSync(devNull, "r");
  }
}

/** Prefers a folder on an in-memory file system. */
function createFile() {
  const name = `remora-${process.pid}-${process.hrtime.bigint()}`;
  for (const folder of ["/dev/shm", tmpdir()]) {
    const path = join(folder, name);
    try {
      return { path, written: openSync(path, "wx", 0o600) };
    } catch {
      // Try the next folder.
    }
  }
  throw new Error(`can't create a file in /dev/shm or ${tmpdir()}`);
}

function warn(thrown) {
  process.stderr.write(
    `[start] secrets stay in the environment of this process, where other programs of this user can read them: ${thrown.message}\n`,
  );
}
