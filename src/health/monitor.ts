/** Runs checks again and again, keeps their newest results, and logs what breaks and what works again. */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { checkText, type HealthCheck } from "../ports/health.ts";

export interface HealthProbe {
  name: string;
  everyMs: number;
  /** Then it counts as broken. */
  maxMs?: number;
  /** Should not reject: what can't be checked is a result too. */
  run(signal: AbortSignal): Promise<HealthCheck[]>;
}

export interface HealthMonitor {
  /** Runs every probe once, and starts to repeat them. Resolves when all have a first result. */
  start(probes: HealthProbe[]): Promise<void>;
  checks(): HealthCheck[];
  close(): Promise<void>;
}

/** A disk or service that gives no answer in this time is broken. */
const maxRunMs = 25_000;

export function createHealthMonitor({ log }: { log: Log }): HealthMonitor {
  const results = new Map<string, HealthCheck[]>();
  const ended = new AbortController();
  const timers = new Set<NodeJS.Timeout>();

  async function run(probe: HealthProbe): Promise<void> {
    const checks = await checksOf(probe);
    if (ended.signal.aborted) return;
    tell(results.get(probe.name) ?? [], checks);
    results.set(probe.name, checks);
  }

  async function checksOf(probe: HealthProbe): Promise<HealthCheck[]> {
    const { maxMs = maxRunMs } = probe;
    let timer: NodeJS.Timeout | undefined;
    const silent = new Promise<HealthCheck[]>((resolve) => {
      const what = `no answer within ${maxMs / 1_000} s`;
      timer = setTimeout(() => resolve([{ name: probe.name, state: "broken", what }]), maxMs);
    });
    const limit = AbortSignal.any([ended.signal, AbortSignal.timeout(maxMs)]);
    try {
      return await Promise.race([probe.run(limit), silent]);
    } catch (thrown) {
      return [{ name: probe.name, state: "broken", what: messageOf(thrown) }];
    } finally {
      clearTimeout(timer);
    }
  }

  function tell(before: HealthCheck[], now: HealthCheck[]): void {
    const left = before.filter(({ name, state }) => state !== "ok" && now.every((check) => check.name !== name));
    for (const { name } of left) log.info({}, `${name}: works again`);
    for (const check of now) {
      const last = before.find(({ name }) => name === check.name)?.state ?? "ok";
      if (last === check.state) continue;
      const text = `${check.name}: ${checkText(check)}`;
      if (check.state === "broken") log.error({}, text);
      else if (check.state === "warning") log.warn({}, text);
      else log.info({}, `${text} (again)`);
    }
  }

  function repeat(probe: HealthProbe): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      void run(probe).then(() => {
        if (!ended.signal.aborted) repeat(probe);
      });
    }, probe.everyMs).unref();
    timers.add(timer);
  }

  return {
    async start(probes) {
      await Promise.all(probes.map((probe) => run(probe).then(() => repeat(probe))));
    },
    checks: () => [...results.values()].flat(),
    async close() {
      ended.abort();
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
