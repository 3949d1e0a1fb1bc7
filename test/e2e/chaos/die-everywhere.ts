/**
 * Nothing lost, nothing twice: the process dies at every named point (test/faults/kill-points.ts), in a seeded random order on
 * one home, while a person writes messages and approves. Each new process continues from what the last one left. At the end,
 * everything must have finished exactly once.
 *
 * A plain run takes one of the points; `npm run chaos` takes all, with more seeds (CHAOS_SEEDS).
 */
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import type { RemoraProcess, RunningRemora } from "../../doubles/remora-process.ts";
import { type KillPoint, killPoints } from "../../faults/kill-points.ts";
import { shareOf } from "../../faults/share.ts";
import { checkInvariants, processesOn, type Task } from "./invariants.ts";
import { createPerson, type Person, type Served } from "./person.ts";
import { createWorld, type World } from "./world.ts";

export const seeds = Number(process.env.CHAOS_SEEDS ?? 1);
const killPointsModule = resolve(import.meta.dirname, "../../faults/kill-points.ts");
const lookMs = 100;
const sharesOfPoints = 25;
export const chainMs = 540_000;

/** Points at which the platforms process dies; workers die at all others. */
const frontPoints: readonly KillPoint[] = ["before-accept", "accepted", "click-taken"];
const kinds = [null, "effect_safe", "effect_ask", "effect_again"] as const;

export function seedList(): number[] {
  return Array.from({ length: seeds }, (_, index) => index + 1);
}

export async function inWorld(store: "embedded" | "redis", work: (world: World) => Promise<void>): Promise<void> {
  const world = await createWorld(store);
  // Also after a test timeout.
  onTestFinished(() => world.close());
  try {
    await work(world);
  } catch (thrown) {
    // Rare failures can only be understood from these logs.
    process.stderr.write(world.logged());
    throw thrown;
  }
}

type Role = "all" | "platforms" | "worker";

/** The running processes. A process that dies is replaced by one that dies at its role's next point. */
function createCrew(world: World, specs: Map<Role, string[]>) {
  const alive = new Map<Role, RunningRemora>();
  const died: string[] = [];
  /** Where each dies; absent: nowhere. */
  const doomed = new Map<Role, string>();
  const ends: (() => Promise<unknown>)[] = [];
  let isOver = false;

  async function start(role: Role): Promise<void> {
    const killAt = specs.get(role)?.shift();
    const args = role === "all" ? [] : ["--role", role];
    if (killAt === undefined) {
      doomed.delete(role);
      const started = await world.startHere(args);
      ends.push(started.stop);
      alive.set(role, started);
      return;
    }
    doomed.set(role, killAt);
    const begun = world.start({ REMORA_KILL_AT: killAt, REMORA_PORT_WRAPPERS: killPointsModule }, args);
    const started: RemoraProcess | undefined = await begun.catch((thrown: unknown) => {
      // It may die during recovery, before it is ready. That counts like any other death.
      if (!/ended with null/.test(String(thrown))) throw thrown;
      return undefined;
    });
    if (started === undefined) return await followed(role, killAt);
    ends.push(started.kill);
    alive.set(role, started);
    void started.exited.then(async (code) => {
      if (alive.get(role) === started) alive.delete(role);
      if (code === null) await followed(role, killAt);
    });
  }

  async function followed(role: Role, killAt: string): Promise<void> {
    if (isOver) return;
    died.push(killAt);
    await start(role);
  }

  return {
    ...{ alive, died, doomed, start },
    async served(): Promise<Served> {
      for (;;) {
        const front = alive.get("all") ?? alive.get("platforms");
        if (front !== undefined) return front;
        await wait(lookMs);
      }
    },
    async end(): Promise<void> {
      isOver = true;
      await Promise.all(ends.map((end) => end()));
    },
    async stop(): Promise<void> {
      const codes = await Promise.all([...alive.values()].map((each) => each.stop()));
      expect(codes.every((code) => code === 0)).toBe(true);
    },
  };
}

export async function dieEverywhere(world: World, seed: number, roles: [Role, ...Role[]]): Promise<void> {
  const random = randomFrom(seed);
  const [frontRole, workRole = frontRole] = roles;
  const specs = new Map<Role, string[]>(roles.map((role) => [role, []]));
  const points = shareOf(shuffled(killPoints, random), sharesOfPoints);
  for (const point of points) {
    const role = frontPoints.includes(point) ? frontRole : workRole;
    specs.get(role)?.push(`${point}:${1 + Math.floor(random() * 2)}`);
  }
  const crew = createCrew(world, specs);
  onTestFinished(crew.end);
  const person = createPerson(crew.served);
  const [tasks, talks]: [Task[], Promise<void>[]] = [[], []];
  await Promise.all(roles.map(crew.start));
  while (crew.doomed.size > 0) {
    const round = kinds.map((tool): Task => ({ id: `m${randomUUID().replaceAll("-", "").slice(0, 12)}`, tool }));
    tasks.push(...round);
    const talk = converse(world, person, round);
    talks.push(talk);
    const before = crew.died.length;
    await Promise.race([talk, until(() => crew.died.length > before)]);
  }
  await Promise.all(talks);
  await until(async () => (await openWork(world)) === 0);
  await checkInvariants(world, person, tasks);
  await crew.stop();
  expect(crew.died.map((spec) => spec.split(":")[0]).toSorted()).toEqual([...points].toSorted());
  expect(await processesOn(world)).toEqual([]);
}

/** Sends all messages and approves all cards until everything is answered. */
async function converse(world: World, person: Person, round: readonly Task[]): Promise<void> {
  await Promise.all(round.map(({ id, tool }) => person.say(id, tool === null ? `plain ${id}` : `call ${tool} ${id}`)));
  for (;;) {
    for (const { id, tool } of round) if (tool === "effect_ask") await person.approve(id);
    const ended = await Promise.all(round.map(({ id }) => isAnswered(world, id)));
    if (ended.every(Boolean)) return;
    await wait(lookMs);
  }
}

async function isAnswered({ ledger }: World, id: string): Promise<boolean> {
  return (await ledger.get("message", `local:${id}`))?.state === "answered";
}

async function openWork({ ledger }: World): Promise<number> {
  const turns = await ledger.list("turn", { states: ["running", "parked"] });
  const messages = await ledger.list("message", { states: ["queued", "taken"] });
  const notices = await ledger.list("notice", { states: ["due"] });
  return turns.length + messages.length + notices.length;
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await wait(lookMs);
}

/** mulberry32, a small deterministic generator. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((one, other) => one.key - other.key)
    .map(({ item }) => item);
}
