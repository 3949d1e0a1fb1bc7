/**
 * Keeps a busy machine from looking like a silent connection. The SDK compares the time of the last pong with the clock. While
 * the event loop is blocked, pongs wait unread, and the timers run before them.
 */

export interface LoopWatch {
  /** True if the event loop is or was blocked, and what has arrived since may still be unread. */
  wasBlocked(): boolean;
  stop(): void;
}

const beatMs = 500;
/** A later beat means that the loop was blocked. */
const maxLateMs = 300;
/** Enough for another ping and its pong. */
const graceMs = 2_000;

export function createLoopWatch(now: () => number = () => performance.now()): LoopWatch {
  let lastBeat = now();
  let forgivenUntil = 0;
  const look = () => {
    if (now() - lastBeat > beatMs + maxLateMs) forgivenUntil = now() + graceMs;
  };
  const timer = setInterval(() => {
    look();
    lastBeat = now();
  }, beatMs);
  timer.unref();
  return {
    wasBlocked() {
      look();
      return now() < forgivenUntil;
    },
    stop: () => clearInterval(timer),
  };
}

/** Lets the SDK's socket count every pong as fresh while `loop` was blocked. */
export function forgiveBlockedLoop(socket: unknown, loop: Pick<LoopWatch, "wasBlocked">): void {
  const lastPong = "lastPongReceivedTimestamp";
  if (typeof socket !== "object" || socket === null) return;
  let at: unknown = Reflect.get(socket, lastPong);
  Object.defineProperty(socket, lastPong, {
    configurable: true,
    get: () => (at !== undefined && loop.wasBlocked() ? Date.now() : at),
    set(value: unknown) {
      at = value;
    },
  });
}
