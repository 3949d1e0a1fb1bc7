/**
 * One service on one store: the real process goes through one fault while people write and click. Then everything must
 * come to rest, and is counted.
 */
import { setTimeout as wait } from "node:timers/promises";
import { createWorld, type World } from "../chaos/world.ts";
import type { ChatService } from "./chat-service.ts";
import { type Counts, count } from "./count.ts";
import { createCrew } from "./crew.ts";
import { createDiscordService } from "./discord-service.ts";
import type { Fault } from "./faults.ts";
import { answeredIds, answerTasks } from "./model.ts";
import { createPeople, type People } from "./people.ts";
import { createSlackService } from "./slack-service.ts";

export const services = ["slack", "discord"] as const;
export const stores = ["embedded", "redis"] as const;

export interface Combination {
  service: (typeof services)[number];
  store: (typeof stores)[number];
}

export interface Result extends Counts, Combination {
  fault: string;
  kills: number;
  seconds: number;
  /** Messages, turns, cards and questions that did not come to rest. */
  open: number;
}

const restMs = 2_000;
const maxRestMs = 300_000;
const pingIntervalMs = 5_000;
/** Longer than a busy machine keeps a process waiting, so that locks are lost by deaths alone. */
const lockMs = 5_000;
/** With Redis, what a dead process held is free after the lock has expired. In shorter lives, nothing would be answered. */
const crews = {
  embedded: { roles: ["all"], maxLifeMs: 2_000 },
  redis: { roles: ["platforms", "worker"], maxLifeMs: lockMs + 3_000 },
};

/** A fast clock shortens the process's waits, but not Redis. */
const configFor = (clockSpeed: number) => ({
  redis: { lockMs: Math.round(lockMs * clockSpeed), waitMs: Math.round(5_000 * clockSpeed) },
  limits: { userRequestsPerMinute: 10_000, channelRequestsPerMinute: 10_000 },
  // What was said before would be read as said again.
  context: { backfill: { messages: 0, channelMessages: 0 } },
});

export async function runFault(
  { service: name, store }: Combination,
  fault: Fault,
  onProgress: (line: string) => void,
): Promise<Result> {
  const began = Date.now();
  const speed = fault.clockSpeed ?? 1;
  const service = await (name === "slack" ? createSlackService(pingIntervalMs / speed) : createDiscordService());
  const world = await createWorld(store, { config: configFor(speed), answer: answerTasks });
  const clock = speed === 1 ? {} : fastClock(speed);
  const crew = createCrew(world, { env: { ...service.env, ...clock }, ...crews[store] });
  const ended = new AbortController();
  try {
    await crew.start();
    const people = createPeople(service, world);
    const pressing = people.press(ended.signal);
    let kills = 0;
    await fault.run({
      ...{ service, people, wait },
      async kill(limits) {
        await crew.killAll(limits, (done) => {
          kills = done;
          if (done % 10 === 0) onProgress(`${done} kills, ${people.said.length} messages`);
        });
      },
    });
    onProgress(`the fault is over after ${people.said.length} messages`);
    const open = await untilRest(world, service, people);
    ended.abort();
    await pressing;
    const counts = await count(service, world, people.said);
    const seconds = Math.round((Date.now() - began) / 1_000);
    const notes = [...counts.notes, ...open.map((each) => `still open: ${each}`)];
    const trouble = notes.length === 0 ? [] : [world.logged()];
    const ofRun = { service: name, store, fault: fault.name, kills, seconds, open: open.length };
    return { ...ofRun, ...counts, notes: [...notes, ...trouble] };
  } finally {
    ended.abort();
    await crew.stop();
    await Promise.all([world.close(), service.stop()]);
  }
}

function fastClock(speed: number): Record<string, string> {
  const module = new URL("./fast-clock.ts", import.meta.url).pathname;
  return { NODE_OPTIONS: `--import ${module}`, REMORA_CLOCK_SPEED: String(speed) };
}

/** Resolves to what is still open when patience ends. */
async function untilRest(world: World, service: ChatService, { said }: People): Promise<string[]> {
  const look = async () => {
    const answered = new Set(service.shown().flatMap(({ text }) => answeredIds(text)));
    const turns = await world.ledger.list("turn", {});
    const ended = turns.filter(({ state }) => state === "failed" || state === "stopped");
    const endedTexts = ended.map(({ body }) => body.messages.map(({ text }) => text).join(" ")).join(" ");
    const missing = said
      .filter(({ id }) => !answered.has(id) && !endedTexts.includes(id))
      .map(({ id }) => `message ${id}`);
    const inLedger = await Promise.all([
      world.ledger.list("message", { states: ["queued", "taken"] }),
      world.ledger.list("approval", { states: ["open", "approved"] }),
      world.ledger.list("notice", { states: ["due"] }),
      world.ledger.list("question", { states: ["open", "answered", "withdrawn"] }),
    ]);
    const running = turns.filter(({ state }) => state === "running" || state === "parked");
    return [...missing, ...[...running, ...inLedger.flat()].map(({ id, state }) => `${state} ${id}`)];
  };
  let restingSince = Number.POSITIVE_INFINITY;
  for (const until = Date.now() + maxRestMs; ; ) {
    const open = await look();
    restingSince = open.length > 0 ? Number.POSITIVE_INFINITY : Math.min(restingSince, Date.now());
    if (Date.now() - restingSince > restMs || Date.now() > until) return open;
    await wait(restMs / 4);
  }
}
