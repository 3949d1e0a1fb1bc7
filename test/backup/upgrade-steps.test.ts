/** An upgrade that dies at each of its steps, as `kill -9` leaves it, and one that runs into a full disk. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { finishUpgrade, goBack, type UpgradeWork, upgrade } from "../../src/backup/upgrade.ts";
import { readNote, type UpgradeNote, writeNote } from "../../src/backup/upgrade-note.ts";
import { interruptedUpgrade } from "../../src/cli/interrupted-upgrade.mjs";

let root: string;
let folder: string;
/** What is in force. */
let state: { code: string; packages: string; data: string; runs: boolean };
const before = { code: "old", packages: "old", data: "old", runs: true };
const after = { code: "new", packages: "new", data: "new", runs: true };
const versions = {
  from: { commit: "old", version: "0.1.0" },
  to: { commit: "new", version: "0.2.0" },
  wasRunning: true,
};
/** No process has this id. */
const deadPid = 2 ** 30;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "remora-steps-"));
  folder = join(root, "backups");
  state = { ...before };
});
afterEach(() => rm(root, { recursive: true, force: true }));

type Step = Exclude<keyof UpgradeWork, "say">;

/** `interfere` is called in the middle of every step. */
function workWith(interfere: (step: Step) => Promise<void> = async () => {}): UpgradeWork {
  const step =
    (name: Step, change: (value: string) => void) =>
    async (value = "") => {
      await interfere(name);
      change(value);
    };
  return {
    stop: step("stop", () => (state.runs = false)),
    backUp: async () => {
      await interfere("backUp");
      return state.data;
    },
    moveTo: step("moveTo", (commit) => (state.code = commit)),
    moveBack: step("moveBack", (commit) => (state.code = commit)),
    installPackages: step("installPackages", () => (state.packages = state.code)),
    tryOnCopy: step("tryOnCopy", () => {}),
    checkHealth: step("checkHealth", () => (state.data = state.code)),
    start: step("start", () => (state.runs = true)),
    restore: step("restore", (backup) => (state.data = backup)),
    say() {},
  };
}

/** Resolves as soon as the step has begun, which never ends. */
async function dieAt(wanted: Step, run: (work: UpgradeWork) => Promise<unknown>): Promise<UpgradeNote> {
  await new Promise<void>((died, fail) => {
    const work = workWith(async (step) => {
      if (step !== wanted) return;
      died();
      await new Promise(() => {});
    });
    run(work).catch(fail);
  });
  return await noteOfDead();
}

async function noteOfDead(): Promise<UpgradeNote> {
  const note = await readNote(folder);
  if (note === undefined) throw new Error("there is no note");
  await writeNote(folder, { ...note, pid: deadPid });
  return note;
}

const said: [Step, string][] = [
  ["stop", "while stopping the service, and nothing was changed"],
  ["backUp", "while backing up, and nothing was changed"],
  ["moveTo", "while putting the new code in place"],
  ["installPackages", "while installing packages"],
  ["tryOnCopy", "while trying the new version on a copy of the data"],
  ["checkHealth", "while migrating and checking the data"],
  ["start", "while starting the new version"],
];

test.each(said)("killed at %s: the next command says so, and going back undoes it", async (step, words) => {
  const note = await dieAt(step, (work) => upgrade(folder, versions, work));
  const found = interruptedUpgrade(root);
  expect(found?.what).toBe(`the upgrade to Remora 0.2.0 was interrupted ${words}`);
  expect(found?.todo).toContain("npm run -s remora -- upgrade --back");
  expect(found?.mayRun).toBe(["stop", "backUp", "start"].includes(step));
  await goBack(folder, note, workWith());
  expect(state).toEqual(before);
  expect(interruptedUpgrade(root)).toBeUndefined();
});

test("killed in its last step, an upgrade is finished by the next one", async () => {
  const note = await dieAt("start", (work) => upgrade(folder, versions, work));
  await finishUpgrade(folder, note, workWith());
  expect(state).toEqual(after);
  expect(await readNote(folder)).toMatchObject({ step: "done" });
});

test.each<Step>(["stop", "moveBack", "installPackages", "restore"])(
  "killed at %s while going back: nothing half-done is started, and going back again works",
  async (step) => {
    await upgrade(folder, versions, workWith());
    expect(state).toEqual(after);
    const done = await readNote(folder);
    if (done === undefined) throw new Error("there is no note");
    const note = await dieAt(step, (work) => goBack(folder, done, work));
    expect(interruptedUpgrade(root)).toMatchObject({
      what: "the upgrade to Remora 0.2.0 was interrupted while going back",
      mayRun: false,
    });
    await goBack(folder, note, workWith());
    expect(state).toEqual(before);
  },
);

const full = () => Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });

test.each<[Step, string]>([
  ["stop", "Nothing was changed. Remora 0.1.0 runs again."],
  ["backUp", "Nothing was changed. Remora 0.1.0 runs again."],
  ["moveTo", "The code is as it was before; the data was not touched. Remora 0.1.0 runs again."],
  ["tryOnCopy", "The code is as it was before; the data was not touched. Remora 0.1.0 runs again."],
  ["checkHealth", "Code and data are as they were before. Remora 0.1.0 runs again."],
])("a disk that fills at %s: everything goes back, and the old version runs", async (wanted, words) => {
  let hasFailed = false;
  const work = workWith(async (step) => {
    if (step !== wanted || hasFailed) return;
    hasFailed = true;
    throw full();
  });
  await expect(upgrade(folder, versions, work)).rejects.toThrow(
    `[upgrade] to Remora 0.2.0 failed: ENOSPC: no space left on device, write\n${words}`,
  );
  expect(state).toEqual(before);
  expect(interruptedUpgrade(root)).toBeUndefined();
});

test("what can't be stopped stays as it is, and nothing counts as interrupted", async () => {
  const work = workWith(async (step) => {
    if (step === "stop" || step === "start") throw new Error(`there is no ${step}`);
  });
  state.runs = false;
  await expect(upgrade(folder, { ...versions, wasRunning: false }, work)).rejects.toThrow(
    /^\[upgrade\] to Remora 0\.2\.0 failed: there is no stop\nNothing was changed\.$/,
  );
  expect(interruptedUpgrade(root)).toBeUndefined();
});

test("if going back fails too, that is said, and it can be repeated", async () => {
  let isFull = true;
  const work = workWith(async (step) => {
    if (isFull && (step === "installPackages" || step === "moveBack")) throw full();
  });
  await expect(upgrade(folder, versions, work)).rejects.toThrow(
    /going back failed too: ENOSPC.*Solve that and run: npm run -s remora -- upgrade --back\. Your data is also in old/s,
  );
  isFull = false;
  const note = await noteOfDead();
  expect(interruptedUpgrade(root)).toMatchObject({ mayRun: false });
  await goBack(folder, note, work);
  expect(state).toEqual(before);
});

test("a service that did not run before is not started", async () => {
  state.runs = false;
  await upgrade(folder, { ...versions, wasRunning: false }, workWith());
  expect(state).toEqual({ ...after, runs: false });
});

test("a note that can't be read is named, and a running upgrade is not interrupted", async () => {
  await upgrade(folder, versions, workWith());
  await writeFile(join(folder, "upgrade.json"), "{");
  await expect(readNote(folder)).rejects.toThrow("upgrade.json] can't be read");
  expect(await readFile(join(folder, "upgrade.json"), "utf8")).toBe("{");
  expect(interruptedUpgrade(root)).toBeUndefined();
});
