/**
 * A chain of processes on one home, each of which dies at its step, while a person asks for changes and answers cards. Each new
 * process continues from what the last one left. At the end, everything must have finished exactly once.
 */
import { readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { startRemora as startHere } from "../../doubles/remora-in-process.ts";
import type { RemoraProcess, RunningRemora } from "../../doubles/remora-process.ts";
import { createPerson } from "../chaos/person.ts";
import { checkTask, createTask, jobLayers, type Kind, pursue, type Task } from "./tasks.ts";
import { createDraftWorld, type DraftWorld } from "./world.ts";

export type Role = "all" | "platforms" | "worker";

/** Where a process of this role dies, and the request while it runs. */
export interface Life {
  role: Role;
  step: string;
  kind: Kind;
  /** Steps count from the start, so it may die during recovery. */
  fromStart?: true;
}

const lookMs = 100;
/** On a machine that is busy and has a slow disk, a life takes half a minute. */
const maxLifeMs = 90_000;
const minChainMs = 600_000;
/** Requests after which a step counts as missed, because an earlier death left less work. */
const mostRequestsInLife = 3;

/** The timeout of a test with so many lives. */
export function chainMs(lives: number): number {
  return Math.max(minChainMs, lives * maxLifeMs);
}

export async function inDraftWorld(
  store: "embedded" | "redis",
  work: (world: DraftWorld) => Promise<void>,
  config: object = {},
): Promise<void> {
  const world = await createDraftWorld(store, config);
  // Also after a test timeout.
  onTestFinished(() => world.close());
  try {
    await work(world);
  } catch (thrown) {
    process.stderr.write(world.logged());
    throw thrown;
  }
}

/** Returns the processes that ended before their step. */
export async function liveAndDie(world: DraftWorld, lives: Life[], roles: readonly Role[]): Promise<Life[]> {
  const alive = new Map<Role, RunningRemora>();
  const tasks: Task[] = [];
  const pursuits: Promise<void>[] = [];
  const missed: Life[] = [];
  const person = createPerson(async () => {
    for (;;) {
      const front = alive.get("all") ?? alive.get("platforms");
      if (front !== undefined) return front;
      await wait(lookMs);
    }
  });

  const argumentsFor = (role: Role) => (role === "all" ? [] : ["--role", role]);

  /** In this process, because no step kills it. */
  async function start(role: Role): Promise<void> {
    const started = await startHere(world.home, world.env, argumentsFor(role));
    onTestFinished(async () => void (await started.stop()));
    alive.set(role, started);
  }

  async function startDoomed(role: Role, fault: Record<string, string>): Promise<RemoraProcess | undefined> {
    try {
      const started = await world.start(fault, argumentsFor(role));
      alive.set(role, started);
      void started.exited.then(() => alive.get(role) === started && alive.delete(role));
      return started;
    } catch (thrown) {
      // It may die during recovery, before it is ready.
      if (!/ended with null/.test(String(thrown))) throw thrown;
      return undefined;
    }
  }

  async function live({ role, step, kind, fromStart }: Life, armed: string): Promise<boolean> {
    for (const other of roles) if (other !== role && !alive.has(other)) await start(other);
    await alive.get(role)?.stop();
    alive.delete(role);
    const doomed = await startDoomed(role, {
      REMORA_KILL_STEP: step,
      ...(fromStart ? {} : { REMORA_STEPS_ARMED: armed }),
    });
    if (doomed === undefined) return true;
    const died = doomed.exited.then(() => true);
    // A repeatedly interrupted call ends as unknown, so each call is interrupted once.
    if (!fromStart) await Promise.all(pursuits);
    await writeFile(armed, "");
    for (let asked = 0; asked < mostRequestsInLife; asked++) {
      const task = await createTask(world, kind);
      tasks.push(task);
      const pursuit = pursue(world, person, task);
      pursuits.push(pursuit);
      if (await Promise.race([died, pursuit.then(() => false)])) return true;
    }
    await doomed.kill();
    return false;
  }

  for (const [index, life] of lives.entries())
    if (!(await live(life, join(world.root, `armed-${index}`)))) missed.push(life);
  for (const role of roles) if (!alive.has(role)) await start(role);
  await Promise.all(pursuits);
  await expectNothingLeft(world);
  for (const task of tasks) await checkTask(world, person, task);
  const codes = await Promise.all([...alive.values()].map((each) => each.stop()));
  expect(codes.every((code) => code === 0)).toBe(true);
  expect(await processesOf(world)).toEqual([]);
  return missed;
}

/** No work, draft, call or job files, or partial journal is left. */
export async function expectNothingLeft(world: DraftWorld): Promise<void> {
  const ledger = await world.ledger();
  const drafts = join(world.home.workspace, "drafts");
  await expect
    .poll(
      async () => ({
        turns: await ledger.list("turn", { states: ["running", "parked"] }),
        messages: await ledger.list("message", { states: ["queued", "taken"] }),
        notices: await ledger.list("notice", { states: ["due"] }),
        approvals: await ledger.list("approval", { states: ["open", "approved"] }),
        drafts: await ledger.list("draft", { states: ["open"] }),
        open: await readdir(join(drafts, "open")),
        layers: await jobLayers(world),
        undo: await unfinishedEntries(join(drafts, "undo")),
      }),
      { timeout: 30_000 },
    )
    .toEqual({ turns: [], messages: [], notices: [], approvals: [], drafts: [], open: [], layers: [], undo: [] });
}

async function unfinishedEntries(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  const states = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name, "entry.json"), "utf8").catch(() => "{}");
      const inside = await readdir(join(folder, name));
      const { state } = JSON.parse(text) as { state?: string };
      return { name, isEnded: state === "done" && !inside.includes("gone") && !inside.includes("after") };
    }),
  );
  return states.flatMap(({ name, isEnded }) => (isEnded ? [] : [name]));
}

/** The world's processes, by environment, working folder or mounted file system. */
async function processesOf({ root, home }: DraftWorld): Promise<string[]> {
  const real = await realpath(root);
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const texts = ["environ", "mounts"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => ""));
      const [environment = "", mounts = ""] = await Promise.all(texts);
      return environment.includes(`REMORA_DATA=${home.data}`) || mounts.includes(real) ? [pid] : [];
    }),
  );
  return found.flat();
}
