/** No process of a view outlives its command, `close`, or the process that made the view. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { createSandbox } from "../../../src/sandbox/view/sandbox.ts";
import { createWorkbench, isRunning, patience, pidNamespace, processesIn } from "./workbench.ts";

test("background processes end with the command: children, sessions of their own, orphans", async () => {
  const { open } = createWorkbench();
  const view = await open();
  const namespace = pidNamespace(view.pid);
  const running = view.start({
    text: "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'trap \"\" HUP TERM; sleep 1000 & sleep 1000' &) ; nohup sleep 1000 & echo started",
  });
  running.output.resume();
  expect(await running.ended).toMatchObject({ exitCode: 0 });
  expect(processesIn(namespace)).toEqual([view.pid]);
});

test("orphans are buried while the command runs", async () => {
  const { run } = createWorkbench();
  const { output } = await run(
    "for i in $(seq 50); do (sh -c 'exit 3' &); done; while ps -eo stat | grep -q Z; do :; done; ps -e | wc -l; exit 4",
  );
  expect(Number(output)).toBeLessThan(10);
});

test("close ends what runs, and leaves no process, no mount and no file but the layer", async () => {
  const { open, scratch, place } = createWorkbench();
  const own = scratch();
  const view = await open({ scratch: own });
  const namespace = pidNamespace(view.pid);
  const running = view.start({ text: "mkdir locked; touch locked/in; chmod 0 locked; sleep 1000 & sleep 1000" });
  await expect.poll(() => readdirSync(view.merged)).toEqual(["locked"]);
  await view.close();
  await view.close();
  expect(await running.ended).toMatchObject({ signal: "SIGKILL" });
  // On a busy machine, the kernel takes a moment to bury what was killed.
  await expect.poll(() => processesIn(namespace)).toEqual([]);
  expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(place);
  expect(readdirSync(own)).toEqual(["upper"]);
});

test("a view that never ran a command closes too", async () => {
  const view = await createWorkbench().open();
  await view.close();
  expect(isRunning(view.pid)).toBe(false);
});

test("everything dies with a process that was killed", async () => {
  const place = realpathSync(mkdtempSync(join(tmpdir(), "remora-view-")));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  for (const name of ["folder", "waiting", "running"]) mkdirSync(join(place, name));
  const source = new URL("../../../src/sandbox/view/sandbox.ts", import.meta.url).href;
  const code = `
    const { createSandbox } = await import(${JSON.stringify(source)});
    const sandbox = createSandbox({ folder: ${JSON.stringify(join(place, "sandbox"))} });
    const open = (name) => sandbox.open({ folder: ${JSON.stringify(join(place, "folder"))}, layers: [], scratch: ${JSON.stringify(place)} + "/" + name }, AbortSignal.timeout(90_000));
    const [waiting, running] = [await open("waiting"), await open("running")];
    running.start({ text: "setsid sleep 1000 & echo up; wait" }).output.once("data", () => console.log(waiting.pid, running.pid));
    setInterval(() => {}, 1000);
  `;
  const holder = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void holder.kill("SIGKILL"));
  const [line] = (await once(createInterface(holder.stdout), "line")) as [string];
  const pids = line.split(" ").map(Number);
  const namespaces = pids.map(pidNamespace);
  expect(namespaces.map((namespace) => processesIn(namespace).length)).toEqual([1, 3]);
  holder.kill("SIGKILL");
  await expect.poll(() => namespaces.flatMap(processesIn)).toEqual([]);
});

test("files of a start that was killed are removed by the next", async () => {
  const { sandbox, place } = createWorkbench();
  const left = join(place, "sandbox", "start-999999999-1-abcdef");
  mkdirSync(left, { recursive: true });
  await sandbox.probe();
  expect(existsSync(left)).toBe(false);
});

test("the next start takes over the /etc of views, and repairs it", async () => {
  const { sandbox, place, folder, scratch } = createWorkbench();
  await sandbox.probe();
  await sandbox.close();
  const left = join(place, "sandbox", "etc");
  writeFileSync(join(left, "hostname"), "changed");
  writeFileSync(join(left, "added"), "");
  const next = createSandbox({ folder: join(place, "sandbox") });
  onTestFinished(next.close);
  const view = await next.open({ folder, layers: [], scratch: scratch() }, patience());
  const { output } = view.start({ text: "cat /etc/hostname; ls /etc/added" });
  expect(await text(output)).toMatch(/^sandbox\n.*No such file/);
  expect(existsSync(left)).toBe(false);
});

test("what was deleted in the sandbox's folder is made again for the next views", async () => {
  const { run, place } = createWorkbench();
  await run("true");
  rmSync(join(place, "sandbox"), { recursive: true });
  const both = await Promise.all([run("cat /etc/hostname"), run("cat /etc/hostname")]);
  expect(both.map(({ output }) => output)).toEqual(["sandbox\n", "sandbox\n"]);
  expect(readdirSync(join(place, "sandbox"))).toHaveLength(1);
  for (const part of ["remora-view", "root", "etc"]) {
    for (const start of readdirSync(join(place, "sandbox")))
      rmSync(join(place, "sandbox", start, part), { recursive: true, force: true });
    expect((await run("cat /etc/hostname")).output).toBe("sandbox\n");
  }
});
