/**
 * Takes secrets out of the environment of this process before anything else runs, because the block that a process was
 * started with stays readable in /proc/<pid>/environ for as long as it lives:
 *
 *   1. what the process may show stays: a list of harmless names, without those that the configuration uses
 *   2. everything else goes into a file that has no name any more, which becomes descriptor 0
 *   3. the process replaces itself: same process id, same arguments, the harmless environment
 *   4. the new one reads descriptor 0 and gives it up (cli/environment.ts)
 *
 * Node keeps descriptors 0, 1 and 2 open over `execve`, and no other. `start` reads no standard input.
 */
import { closeSync, fstatSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { devNull, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const harmlessNames = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "HOSTNAME", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR"],
  ...["LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "CI", "SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF"],
  ...["LD_LIBRARY_PATH", "LD_PRELOAD", "INVOCATION_ID", "JOURNAL_STREAM", "NOTIFY_SOCKET", "LOG_LEVEL"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"],
]);
const harmlessName = /^(?:LC_|XDG_|NODE_|UV_|MALLOC_|REMORA_)/;
const secretName = /token|secret|passw|passphrase|key|auth|credential|cookie|private/i;
/** An address with a password in it. */
const secretValue = /:\/\/[^/\s]*@/;
/** These are needed before the configuration is read, and are paths or words. */
const alwaysKept = new Set(["PATH", "HOME", "TMPDIR"]);

/** Does not return where it worked; where there is nothing to hide, or no way to, the start goes on as it is. */
export function restartWithoutSecrets() {
  const { env } = process;
  const used = namesInConfig(env);
  const entries = Object.entries(env).map(([name, value]) => ({ name, value, isShown: isHarmless(name, value, used) }));
  const hidden = entries.filter(({ isShown }) => !isShown);
  if (hidden.length === 0) return;
  const ofKind = (shown) =>
    Object.fromEntries(entries.filter(({ isShown }) => isShown === shown).map(({ name, value }) => [name, value]));
  try {
    handOver(JSON.stringify(ofKind(false)));
  } catch (thrown) {
    warn(thrown);
    fillDescriptor();
    return;
  }
  const args = [process.argv0, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, args, { ...ofKind(true), REMORA_ENVIRONMENT: "0" });
}

function isHarmless(name, value, used) {
  if (alwaysKept.has(name)) return true;
  if (used.has(name) || secretName.test(name) || secretValue.test(value)) return false;
  return harmlessNames.has(name) || harmlessName.test(name);
}

/** What the configuration uses may be a secret, whatever it is called. A file that can't be read is reported later. */
function namesInConfig(env) {
  const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
  try {
    const text = readFileSync(resolve(root, env.REMORA_CONFIG || "config/remora.yaml"), "utf8");
    return new Set(Array.from(text.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g), ([, name]) => name));
  } catch {
    return new Set();
  }
}

/** The file has lost its name before anything is written into it, so that no crash leaves a secret behind. */
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

/** A free descriptor 0 would go to the next file that anything opens. */
function fillDescriptor() {
  try {
    fstatSync(0);
  } catch {
    openSync(devNull, "r");
  }
}

/** In memory where the system has such a folder. */
function createFile() {
  const name = `remora-${process.pid}-${process.hrtime.bigint()}`;
  for (const folder of ["/dev/shm", tmpdir()]) {
    const path = join(folder, name);
    try {
      return { path, written: openSync(path, "wx", 0o600) };
    } catch {
      // The next one.
    }
  }
  throw new Error(`no file can be made in /dev/shm or ${tmpdir()}`);
}

function warn(thrown) {
  process.stderr.write(
    `[start] secrets stay in this process's environment, where other programs of the same user can read them: ${thrown.message}\n`,
  );
}
