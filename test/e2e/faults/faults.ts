/** The faults of the campaign, by name. People write and click before, during and after each. */
import type { ChatService } from "./chat-service.ts";
import type { People } from "./people.ts";

export interface FaultContext {
  service: ChatService;
  people: People;
  wait(ms: number): Promise<unknown>;
  kill(times: number): Promise<void>;
}

export interface Fault {
  name: string;
  /** The process's clock runs this many times as fast. */
  clockSpeed?: number;
  run(context: FaultContext): Promise<void>;
}

const second = 1_000;
const minute = 60 * second;
const warmUpMs = 5 * second;
const routeMs = 10 * second;
const fastClockSpeed = 20;
/** A clock that runs faster makes every timeout of the process shorter, so only as much as needed. */
const twoHoursMs = (120 * minute) / fastClockSpeed;

export const faults: Record<string, Fault> = {
  "away-30s": { name: "requests fail for 30 s", run: duringOutage("away", 30 * second) },
  "gone-30s": { name: "unreachable for 30 s, events too", run: duringOutage("gone", 30 * second) },
  "away-6m": { name: "requests fail for 6 min", run: duringOutage("away", 6 * minute) },
  "gone-6m": { name: "unreachable for 6 min, events too", run: duringOutage("gone", 6 * minute) },
  "away-2h": {
    name: `requests fail for 2 h (process clock ${fastClockSpeed} ×, 6 min)`,
    clockSpeed: fastClockSpeed,
    run: duringOutage("away", twoHoursMs),
  },
  "token-60s": { name: "token refused for 60 s", run: duringOutage("refuseToken", minute) },
  routes: { name: `503 on one route after the other, ${routeMs / second} s each`, run: routeByRoute },
  kills: { name: "kill -9 at random instants", run: killed },
};

function duringOutage(type: "away" | "gone" | "refuseToken", forMs: number): Fault["run"] {
  return async ({ service, people, wait }) => {
    await talkWhile(
      people,
      2,
      second,
      async () => {
        await wait(warmUpMs);
        const back = service[type]();
        await wait(forMs);
        back();
        await wait(warmUpMs);
      },
      forMs,
    );
  };
}

async function routeByRoute({ service, people, wait }: FaultContext): Promise<void> {
  await talkWhile(people, 3, second, async () => {
    await wait(warmUpMs);
    for (const route of service.routes) {
      const back = service.failRoute(route);
      await wait(routeMs);
      back();
    }
    await wait(warmUpMs);
  });
}

async function killed({ people, kill }: FaultContext): Promise<void> {
  await talkWhile(people, 2, 300, () => kill(Number(process.env.FAULT_KILLS ?? 125)));
}

/** In a long outage, people write more messages, but not one a second. */
async function talkWhile(
  people: People,
  open: number,
  everyMs: number,
  work: () => Promise<void>,
  outageMs = 0,
): Promise<void> {
  let isOver = false;
  const longMs = Math.max(everyMs, outageMs / 12);
  const talking = people.talk({ open: outageMs === 0 ? open : 8, everyMs: longMs }, () => isOver);
  await work();
  isOver = true;
  await talking;
}
