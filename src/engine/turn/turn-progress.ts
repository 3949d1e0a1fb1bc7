/**
 * Shows a turn's progress while it runs: at each change, and again a little later and then every few seconds, so that
 * platforms can renew their indicators and the elapsed time moves. Stops with the process. Never fails the turn.
 */
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { durationText } from "../../ports/progress.ts";
import type { ToolSpec } from "../../ports/tool.ts";
import { callsOf, type TurnRecord } from "../../ports/turn.ts";
import type { Delivery } from "../../ports/turn-deps.ts";
import { describeProgress, type Phase } from "./describe-progress.ts";

export interface TurnProgress {
  /** Says what the turn does now, besides its calls. Undefined while the model writes. */
  phase(text: string | undefined): void;
  /** Shows the calls of the turn's record as they are now. */
  update(): void;
  stop(): void;
}

export interface TurnProgressOptions {
  turn: TurnRecord;
  delivery: Pick<Delivery, "progress">;
  ledger: Pick<Ledger, "get">;
  specs(): readonly ToolSpec[];
  log: Log;
  now?: () => number;
}

/** The first one is for platforms that wait before they show a line. The last one repeats. */
const showAgainAfterMs = [2_000, 3_000, 5_000] as const;
const repeatMs = 5_000;

export function createTurnProgress(options: TurnProgressOptions): TurnProgress {
  const { turn, delivery, ledger, log, now = Date.now } = options;
  const holdUps = new Map<string, string>();
  let phase: Phase | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function show(): void {
    try {
      delivery.progress(
        describeProgress({ turn, specs: callsOf(turn).length === 0 ? [] : options.specs(), phase, holdUps }),
      );
    } catch (thrown) {
      log.warn({ turnId: turn.id, error: messageOf(thrown) }, "could not show the progress of a turn");
    }
  }

  function schedule(times: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => void tick(times), showAgainAfterMs[times] ?? repeatMs);
    timer.unref();
  }

  async function tick(times: number): Promise<void> {
    await readHoldUps().catch((thrown: unknown) =>
      log.debug({ turnId: turn.id, error: messageOf(thrown) }, "could not read what holds up the calls of a turn"),
    );
    if (isStopped) return;
    show();
    schedule(times + 1);
  }

  /** Reads the calls' own records, because another process may run them. */
  async function readHoldUps(): Promise<void> {
    const running = callsOf(turn).filter(({ startedAt, result }) => startedAt !== undefined && result === undefined);
    const found = await Promise.all(
      running.map(async ({ raw }) => [raw.id, await holdUp(`${turn.id}-${raw.id}`)] as const),
    );
    holdUps.clear();
    for (const [id, text] of found) if (text !== undefined) holdUps.set(id, text);
  }

  async function holdUp(jobId: string): Promise<string | undefined> {
    const entry = await ledger.get("call", jobId);
    if (entry === undefined || entry.state === "planned") return "waiting for other tools to finish";
    const { retryAt, attempts } = entry.body;
    if (entry.state !== "waiting" || retryAt === undefined) return undefined;
    return `trying again in ${durationText(Math.max(1_000, retryAt - now()))} (attempt ${attempts + 1})`;
  }

  function changed(): void {
    if (isStopped) return;
    show();
    schedule(0);
  }

  return {
    phase(text) {
      if (text === phase?.text) return;
      phase = text === undefined ? undefined : { text, since: now() };
      changed();
    },
    update: changed,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
