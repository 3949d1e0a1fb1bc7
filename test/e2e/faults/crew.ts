/** The processes of one combination, and their death at random instants. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import type { RemoraProcess } from "../../doubles/remora-process.ts";
import type { World } from "../chaos/world.ts";

export interface Crew {
  start(): Promise<void>;
  /** Kills each process again and again at a random instant of its start or its first seconds, and starts it again. */
  killAll(limits: KillLimits, onKill: (done: number) => void): Promise<void>;
  stop(): Promise<void>;
}

/** Whichever comes first. */
export interface KillLimits {
  kills: number;
  forMs: number;
}

/** This share dies before it is ready. */
const duringStart = 0.2;

export interface CrewOptions {
  env: Record<string, string>;
  roles: readonly string[];
  /** The longest life before a kill, or as long as the start took: a busy machine needs longer to do anything. */
  maxLifeMs: number;
}

export function createCrew(world: World, { env, roles, maxLifeMs }: CrewOptions): Crew {
  const alive = new Map<string, RemoraProcess>();
  const startMs = new Map<string, number>();
  const children = new Set<ChildProcess>();

  async function startRole(role: string, killAfterMs?: number): Promise<boolean> {
    const began = Date.now();
    let timer: NodeJS.Timeout | undefined;
    let isKilled = false;
    const started = world.start(env, role === "all" ? [] : ["--role", role], (child) => {
      children.add(child);
      child.once("exit", () => children.delete(child));
      if (killAfterMs === undefined) return;
      timer = setTimeout(() => {
        isKilled = true;
        child.kill("SIGKILL");
      }, killAfterMs);
    });
    try {
      alive.set(role, await started);
      startMs.set(role, Date.now() - began);
      return true;
    } catch (thrown) {
      if (!isKilled) throw thrown;
      return false;
    } finally {
      clearTimeout(timer);
    }
  }

  async function kill(role: string, onKill: () => void): Promise<void> {
    await wait(Math.random() * Math.max(maxLifeMs, startMs.get(role) ?? 0));
    await alive.get(role)?.kill();
    onKill();
    while (Math.random() < duringStart) {
      if (await startRole(role, Math.random() * (startMs.get(role) ?? 1_000))) await alive.get(role)?.kill();
      onKill();
    }
    await startRole(role);
  }

  return {
    async start() {
      await Promise.all(roles.map((role) => startRole(role)));
    },
    async killAll({ kills, forMs }, onKill) {
      let done = 0;
      const until = Date.now() + forMs;
      const killUntilDone = async (role: string) => {
        while (done < kills && Date.now() < until) await kill(role, () => onKill(++done));
      };
      // A role whose start fails ends the campaign, so the other one must not start again after that.
      const ended = await Promise.allSettled(roles.map(killUntilDone));
      for (const { reason } of ended.filter(({ status }) => status === "rejected") as PromiseRejectedResult[])
        throw reason;
    },
    async stop() {
      const ended = [...children].map((child) => once(child, "exit"));
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(ended);
    },
  };
}
