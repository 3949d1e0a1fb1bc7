/**
 * Stores tool calls in the ledger: plan → start → finish, or after a failure start → postpone → start. Every step is a
 * compare-and-set so that across all processes and crashes at most one process starts an attempt that may not run
 * twice. If another caller was faster, a step changes nothing and returns the current entry.
 */
import type { AbortCause } from "../../lib/abort.ts";
import { RemoraError } from "../../lib/errors.ts";
import type { CallEntry, CallState, Ledger, LedgerEntry } from "../../ports/ledger.ts";
import type { ToolJob, ToolResult } from "../../ports/tool.ts";

/** Adds fields for several processes. They are part of the body so that they change together with the state. */
interface CallBody extends CallEntry {
  /** The process that runs the attempt. Absent after a release, or if there is only one process. */
  startedBy?: string;
  /** Set if somebody stopped the call; then no further attempt starts. */
  stop?: AbortCause;
  /** A unique id of the step that wrote the result. */
  endedBy?: string;
}

export type CallRecordEntry = LedgerEntry<"call"> & { body: CallBody };

export type SeenCall = Pick<CallRecordEntry, "id" | "state"> & { body: Pick<CallBody, "attempts"> };

export interface CallStep {
  entry: CallRecordEntry;
  isMine: boolean;
}

export interface CallRecord {
  plan(job: ToolJob): Promise<CallRecordEntry>;
  /** Creates the entry as `planned`. Returns the existing entry if the id already exists. */
  propose(job: ToolJob): Promise<CallRecordEntry | undefined>;
  look(jobId: string): Promise<CallRecordEntry | undefined>;
  /** Moves the call to `started`, unless it was stopped. Only the caller that gets `isMine` may run the attempt. */
  start(seen: SeenCall): Promise<CallStep>;
  /** Moves the call from `started` to `waiting`: the attempt has certainly ended, and another one is due later. */
  postpone(entry: CallRecordEntry, retryAt: number, failure: string): Promise<CallStep>;
  /** Records that no process runs the call so that nobody checks for one. The state is still `started`. */
  release(entry: CallRecordEntry): Promise<CallRecordEntry>;
  /** Records that no further attempt may start. The state does not change. */
  requestStop(entry: CallRecordEntry, cause: AbortCause): Promise<CallRecordEntry>;
  /** Ends the call. `done` succeeds even if another attempt has started, because the first known outcome counts. */
  finish(entry: CallRecordEntry, state: "done" | "unknown", result: ToolResult): Promise<CallStep>;
}

/** Clocks of several machines differ by less. So a change that lies further in the future shows that a clock was set back. */
const maxClockSkewMs = 60_000;
const unfinished: CallState[] = ["planned", "started", "waiting"];

export function runnerOf({ body }: CallRecordEntry): string | undefined {
  return body.startedBy?.split("#", 1)[0];
}

/** With a `runner`, each step writes a unique id so that the process recognizes it even if the answer was lost. */
export function createCallRecord(ledger: Ledger, runner?: string): CallRecord {
  let marks = 0;
  const mark = () => {
    marks += 1;
    return runner === undefined ? undefined : `${runner}#${marks}`;
  };

  async function read(id: string): Promise<CallRecordEntry> {
    const entry = await ledger.get("call", id);
    if (entry !== undefined) return entry;
    throw new RemoraError({
      code: "queue.record-missing",
      place: `tool call ${id}`,
      message: "its record has disappeared from the ledger. It did not run now, because it may have run before.",
    });
  }

  async function move(
    seen: SeenCall,
    to: CallState,
    change: (body: CallBody) => CallBody | undefined,
  ): Promise<CallRecordEntry | undefined> {
    return await ledger.transition("call", seen.id, [seen.state], to, (body) =>
      body.attempts === seen.body.attempts ? change(body) : undefined,
    );
  }

  async function propose({ id, call, scope }: ToolJob): Promise<CallRecordEntry | undefined> {
    const body = { turnId: scope.turnId, callId: call.id, name: call.name, attempts: 0, startedAt: Date.now() };
    const isNew = await ledger.create("call", id, { state: "planned", body, group: scope.turnId });
    return isNew ? undefined : await read(id);
  }

  return {
    plan: async (job) => (await propose(job)) ?? (await read(job.id)),
    propose,
    look: (jobId) => ledger.get("call", jobId),
    async start(seen) {
      const startedBy = mark();
      const started = await move(seen, "started", ({ turnId, callId, name, attempts, startedAt, stop }) => {
        if (stop !== undefined) return undefined;
        const isFirst = attempts === 0;
        const begun = { turnId, callId, name, attempts: attempts + 1, startedAt: isFirst ? Date.now() : startedAt };
        return startedBy === undefined ? begun : { ...begun, startedBy };
      });
      const entry = started ?? (await read(seen.id));
      return { entry, isMine: started !== undefined || isMarked(entry.body.startedBy, startedBy) };
    },
    async postpone(seen, retryAt, failure) {
      const waiting = await move(seen, "waiting", (body) => ({ ...body, retryAt, failure }));
      const entry = waiting ?? (await read(seen.id));
      // Compare the attempts, because only the process that started an attempt can move it to `waiting`.
      return { entry, isMine: entry.state === "waiting" && entry.body.attempts === seen.body.attempts };
    },
    async release(seen) {
      return (await move(seen, "started", ({ startedBy: _gone, ...body }) => body)) ?? (await read(seen.id));
    },
    async requestStop(seen, cause) {
      return (await move(seen, seen.state, (body) => ({ ...body, stop: cause }))) ?? (await read(seen.id));
    },
    async finish(seen, state, result) {
      const endedBy = mark();
      const withResult = (body: CallBody) => ({ ...body, result, ...(endedBy === undefined ? {} : { endedBy }) });
      const ended: CallRecordEntry | undefined =
        state === "done" && seen.state === "started"
          ? await ledger.transition("call", seen.id, unfinished, state, withResult)
          : await move(seen, state, withResult);
      const entry = ended ?? (await read(seen.id));
      return { entry, isMine: ended !== undefined || isMarked(entry.body.endedBy, endedBy) };
    },
  };
}

/** How long until the next attempt of a waiting call is due. */
export function retryInMs({ body, updatedAt }: CallRecordEntry, now = Date.now()): number {
  if (now < updatedAt - maxClockSkewMs) return 0;
  return Math.max(0, (body.retryAt ?? 0) - now);
}

function isMarked(found: string | undefined, own: string | undefined): boolean {
  return own !== undefined && found === own;
}
