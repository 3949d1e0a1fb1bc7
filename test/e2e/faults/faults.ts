/** The faults of the campaign, by name. People write and click before, during and after each. */
import type { ChatService } from "./chat-service.ts";
import type { KillLimits } from "./crew.ts";
import type { People } from "./people.ts";

export interface FaultContext {
  service: ChatService;
  people: People;
  wait(ms: number): Promise<unknown>;
  kill(limits: KillLimits): Promise<void>;
}

export interface Fault {
  name: string;
  /** Faults of one group run side by side, because they mostly wait. */
  group: "long" | "short" | "kills";
  /** The process's clock runs this many times as fast. */
  clockSpeed?: number;
  run(context: FaultContext): Promise<void>;
}

export interface FaultLimits extends KillLimits {
  /** In a longer outage, the process's clock runs faster instead. */
  maxOutageMs: number;
}

const second = 1_000;
const minute = 60 * second;
const warmUpMs = 5 * second;
const routeMs = 10 * second;
const newcomerMs = 4 * second;

export function createFaults({ maxOutageMs, ...killLimits }: FaultLimits): Record<string, Fault> {
  /** A clock that runs faster makes every timeout of the process shorter too, so only as much as needed. */
  const outage = (what: string, type: Outage, outageMs: number): Fault => {
    const clockSpeed = Math.max(1, outageMs / maxOutageMs);
    const isFast = clockSpeed > 1;
    const lasts = outageMs < minute ? `${outageMs / second} s` : `${outageMs / minute} min`;
    return {
      name: `${what} for ${lasts}${isFast ? ` (process clock ${Math.round(clockSpeed * 10) / 10} ×)` : ""}`,
      group: outageMs > 2 * minute ? "long" : "short",
      ...(isFast ? { clockSpeed } : {}),
      run: duringOutage(type, outageMs / clockSpeed),
    };
  };
  return {
    "away-30s": outage("requests fail", "away", 30 * second),
    "gone-30s": outage("unreachable, events too,", "gone", 30 * second),
    "token-60s": outage("token refused", "refuseToken", minute),
    routes: {
      ...{ name: `503 on one route after the other, ${routeMs / second} s each`, group: "short" },
      run: routeByRoute,
    },
    "away-6m": outage("requests fail", "away", 6 * minute),
    "gone-6m": outage("unreachable, events too,", "gone", 6 * minute),
    "away-2h": outage("requests fail", "away", 120 * minute),
    kills: {
      ...{ name: "kill -9 at random instants", group: "kills" },
      run: ({ people, kill }) => talkWhile(people, 3, 300, () => withNewcomers(people, kill(killLimits))),
    },
  };
}

async function withNewcomers(people: People, work: Promise<void>): Promise<void> {
  let isOver = false;
  const writing = people.comeAndWrite(newcomerMs, () => isOver);
  await work.finally(() => {
    isOver = true;
  });
  await writing;
}

type Outage = "away" | "gone" | "refuseToken";

function duringOutage(type: Outage, forMs: number): Fault["run"] {
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
