/** What the suites of the tool queue share: the harness that a queue's test provides, jobs, and scripted tools. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { Backoff } from "../../src/lib/backoff.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { EventMap, EventName, Events } from "../../src/ports/events.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { ToolAttempt, Toolbox, ToolJob, ToolQueue } from "../../src/ports/tool.ts";

interface QueueSetup {
  toolbox: Toolbox;
  events: Events;
  backoff: Backoff;
  concurrency: number;
  outputLimit: number;
  outputsFolder(): string;
}

export interface QueueHarness {
  ledger: Ledger;
  /** Creates a queue on the same state: a second one is another process or the next start. */
  open(setup: QueueSetup): Promise<ToolQueue>;
  dispose(): Promise<void>;
}

type Attempt = (job: { name: string; attempt: number; signal: AbortSignal }) => ToolAttempt | Promise<ToolAttempt>;

export const never = new AbortController().signal;
export const ok = (text = "fine"): ToolAttempt => ({ isOk: true, text, files: [], isRetryable: false });
export const failed = (text: string, more: Partial<ToolAttempt> = {}): ToolAttempt => ({
  isOk: false,
  text,
  files: [],
  isRetryable: false,
  ...more,
});
export const untilAborted = (signal: AbortSignal): Promise<ToolAttempt> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(failed("was told to stop")), { once: true }));
export const forEver = (): Promise<ToolAttempt> => new Promise(() => {});

/** Of the running test. */
export let harness: QueueHarness;
export let workingFolder: string;
export let heard: { name: EventName; fields: object }[];

export function useQueue(createHarness: () => Promise<QueueHarness>): void {
  beforeEach(async () => {
    harness = await createHarness();
    workingFolder = await mkdtemp(join(tmpdir(), "remora-queue-"));
    heard = [];
  });
  afterEach(async () => {
    await harness.dispose();
    await rm(workingFolder, { recursive: true });
  });
}

/** A queue with a scripted toolbox; `runs` lists the tools it ran, in order. */
export async function open(attempt: Attempt, setup: Partial<QueueSetup> = {}) {
  const runs: string[] = [];
  const toolbox: Toolbox = {
    specs: () => [],
    async run(call, _scope, signal) {
      runs.push(call.id);
      return await attempt({ name: call.name, attempt: runs.length, signal });
    },
  };
  const events = createEvents();
  // The tool of a "killed" process may time out during a later test.
  const heardByThisTest = heard;
  events.listen((event) => heardByThisTest.push(event));
  const outputsFolder = () => join(workingFolder, "outputs");
  const rest = { backoff: [1, 2, 3], concurrency: 4, outputLimit: 30_000, outputsFolder };
  const queue = await harness.open({ toolbox, events, ...rest, ...setup });
  return { queue, runs };
}

export function jobOf(callId: string, more: Partial<ToolJob> = {}): ToolJob {
  return {
    id: `turn-${callId}`,
    call: { id: callId, name: "tool", input: { with: callId } },
    scope: {
      turnId: "turn",
      conversationId: "local:dm:ann",
      scope: "dm:ann",
      requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
      workingFolder,
    },
    isIdempotent: false,
    timeoutMs: 10_000,
    ...more,
  };
}

export function heardOf<N extends EventName>(wanted: N): EventMap[N][] {
  return heard.flatMap((event) => (event.name === wanted ? [event.fields as EventMap[N]] : []));
}

export const stateOf = async (callId: string) => (await harness.ledger.get("call", `turn-${callId}`))?.state;
