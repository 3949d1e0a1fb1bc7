/**
 * Slack's clock: everything that waits or expires in the double goes by it.
 *
 * `createRunningClock` goes with real time and can be moved ahead; what falls due on the way happens at once, in order.
 * `createStandingClock` moves by `advance` alone.
 */

export interface SlackClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `task` once, `ms` from now. The returned function cancels it. */
  after(ms: number, task: () => void): () => void;
  advance(ms: number): void;
  stop(): void;
}

interface Alarm {
  at: number;
  task: () => void;
}

export function createRunningClock(): SlackClock {
  return createClock(() => Date.now(), true);
}

export function createStandingClock(start = Date.now()): SlackClock {
  return createClock(() => start, false);
}

function createClock(source: () => number, isRunning: boolean): SlackClock {
  let ahead = 0;
  let alarms: Alarm[] = [];
  let timer: NodeJS.Timeout | undefined;
  const now = () => source() + ahead;

  function arm(): void {
    clearTimeout(timer);
    timer = undefined;
    const next = alarms[0];
    // A due alarm of a standing clock rings too; what lies ahead waits for `advance`.
    if (next !== undefined && (isRunning || next.at <= now())) {
      timer = setTimeout(ring, Math.max(0, next.at - now())).unref();
    }
  }

  function ring(): void {
    for (let due = alarms[0]; due !== undefined && due.at <= now(); due = alarms[0]) {
      alarms.shift();
      due.task();
    }
    arm();
  }

  return {
    now,
    after(ms, task) {
      const alarm = { at: now() + ms, task };
      alarms = [...alarms, alarm].sort((one, other) => one.at - other.at);
      arm();
      return () => {
        alarms = alarms.filter((other) => other !== alarm);
      };
    },
    advance(ms) {
      const end = now() + ms;
      for (let next = alarms[0]; next !== undefined && next.at <= end; next = alarms[0]) {
        alarms.shift();
        ahead += Math.max(0, next.at - now());
        next.task();
      }
      ahead += Math.max(0, end - now());
      arm();
    },
    stop() {
      alarms = [];
      clearTimeout(timer);
    },
  };
}
