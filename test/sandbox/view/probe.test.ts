/** The report at start, as root and as an ordinary user, on machines with and without views. */
import { execFile } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { createWorkbench } from "./workbench.ts";

const run = promisify(execFile);
const isRoot = process.geteuid?.() === 0;
const source = resolve(import.meta.dirname, "../../../src");

test("a machine with namespaces and overlayfs holds", async () => {
  const { sandbox } = createWorkbench();
  const report = await sandbox.probe();
  expect(report).toEqual({
    holds: true,
    layers: "overlay",
    detail: "Commands run in their own namespaces on a copy-on-write folder; no network, no privileges.",
  });
  expect(await sandbox.probe()).toBe(report);
});

test("a folder that can't be written is named", async () => {
  const { sandbox } = createWorkbench({ folder: join(process.execPath, "folder") });
  const { holds, detail } = await sandbox.probe();
  expect(holds).toBe(false);
  expect(detail).toContain(process.execPath);
});

/** Copies the sources to where any user can read them, with a program that probes and runs one command. */
function prepareElsewhere() {
  const place = realpathSync(mkdtempSync(join(tmpdir(), "remora-view-")));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  chmodSync(place, 0o755);
  for (const folder of ["lib", "ports", "sandbox"])
    cpSync(join(source, folder), join(place, "src", folder), { recursive: true });
  cpSync(process.execPath, join(place, "node"));
  for (const name of ["work", "scratch", "data"]) {
    mkdirSync(join(place, name));
    chmodSync(join(place, name), 0o777);
  }
  const code = `
    const { createSandbox } = await import(${JSON.stringify(join(place, "src/sandbox/view/sandbox.ts"))});
    const sandbox = createSandbox({ folder: ${JSON.stringify(join(place, "data"))} });
    const report = await sandbox.probe();
    let output = "", end;
    if (report.holds) {
      const view = await sandbox.open({ folder: ${JSON.stringify(join(place, "work"))}, layers: [], scratch: ${JSON.stringify(join(place, "scratch"))} }, AbortSignal.timeout(90_000));
      const running = view.start({ text: "id -u; (: > /proc/sys/kernel/hostname) 2>/dev/null && echo wrote; echo made > made; cat made; sed -n 's/^Max processes *//p' /proc/self/limits; f() { f | f & }; f; sleep 1000" });
      running.output.on("data", (chunk) => { output += chunk; });
      end = await running.ended;
    }
    await sandbox.close();
    console.log(JSON.stringify({ report, output, end, uid: process.geteuid() }));
  `;
  return { place, node: [join(place, "node"), "--input-type=module", "-e", code] };
}

test.skipIf(!isRoot)("an ordinary user has the same views", async () => {
  const { node } = prepareElsewhere();
  const { stdout } = await run("setpriv", ["--reuid=1000", "--regid=1000", "--clear-groups", ...node], { env: {} });
  const { report, output, end, uid } = JSON.parse(stdout);
  expect(uid).toBe(1000);
  expect(report).toMatchObject({ holds: true, layers: "overlay" });
  expect(output).toMatch(/^1000\nmade\n/);
  expect(end).toMatchObject({ limit: "processes" });
});

test.skipIf(!isRoot)("root with hardly a capability, as in a container, has the same views", async () => {
  const { node } = prepareElsewhere();
  const { stdout } = await run("setpriv", ["--bounding-set=-all,+setfcap", "--inh-caps=-all", ...node], { env: {} });
  expect(JSON.parse(stdout)).toMatchObject({ report: { holds: true, layers: "overlay" }, end: { limit: "processes" } });
});

test.skipIf(!isRoot)("root without any capability has none, and says which it needs", async () => {
  const { node } = prepareElsewhere();
  const { stdout } = await run("setpriv", ["--bounding-set=-all", "--inh-caps=-all", ...node], { env: {} });
  const { report } = JSON.parse(stdout);
  expect(report.holds).toBe(false);
  expect(report.detail).toMatch(/SETFCAP.*uid_map: EPERM/);
});

test.skipIf(!isRoot)("a container whose /proc is partly covered has none, and says what it needs", async () => {
  const { node } = prepareElsewhere();
  const script = 'mount --bind /dev/null /proc/timer_list && exec "$@"';
  const args = ["--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh", ...node];
  const { stdout } = await run("unshare", args, { env: {} });
  const { report } = JSON.parse(stdout);
  expect(report.holds).toBe(false);
  expect(report.detail).toMatch(/its own \/proc.*systempaths=unconfined/);
});

test("a container whose filter refuses namespaces has none, and says what it needs", async () => {
  const { place, node } = prepareElsewhere();
  const [file = "", type, flag, code = ""] = node;
  const { output } = await createWorkbench().run(
    `exec "$FILE" ${type} ${flag} "$CODE"`,
    { folder: place },
    { FILE: file, CODE: code },
  );
  const { report } = JSON.parse(output);
  expect(report.holds).toBe(false);
  expect(report.detail).toMatch(/may not make user namespaces.*seccomp=unconfined.*make namespaces: EPERM/);
});

test.skipIf(!isRoot)("a machine that allows no user namespaces has none, and names the setting", async () => {
  const { node } = prepareElsewhere();
  // The setting belongs to the new user namespace, not to the machine.
  const script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
  const { stdout } = await run("unshare", ["--user", "--map-root-user", "sh", "-c", script, "sh", ...node], {
    env: {},
  });
  const { report } = JSON.parse(stdout);
  expect(report.holds).toBe(false);
  expect(report.detail).toContain("user.max_user_namespaces");
});
