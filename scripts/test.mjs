/**
 * Runs the tests with their temporary files in memory, if this user may mount it: they make and remove so many small files
 * that a disk's file system can cost as much processor time as the tests. The mount is in a namespace of its own, so it
 * ends with the run.
 *
 *   node scripts/test.mjs [arguments of vitest run]
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";

/** Half of the memory is the limit of such a mount; a run needs less than one of these. */
const minFreeBytes = 8 * 1024 ** 3;

const folder = mkdtempSync(join(tmpdir(), "remora-tests-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const mount = ["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", folder];
const canMount = freemem() >= minFreeBytes && spawnSync("unshare", ["--mount", ...mount]).status === 0;
const vitest = [process.execPath, join(import.meta.dirname, "../node_modules/vitest/vitest.mjs"), "run"];
const [program, ...args] = [
  ...(canMount ? ["unshare", "--mount", "sh", "-c", `${mount.slice(0, -1).join(" ")} "$0" && exec "$@"`, folder] : []),
  ...[...vitest, ...process.argv.slice(2)],
];
const child = spawn(program, args, { stdio: "inherit", env: { ...process.env, TMPDIR: folder } });
// A terminal sends SIGINT to the child, too; the folder is removed when that has ended.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  throw error;
});
child.on("exit", (code) => process.exit(code ?? 1));
