/**
 * How each part is now, what waits in the queues, and the changes of the last seven days. What is in memory is shown even
 * while the ledger can't be reached, and `historyProblem` says why the rest is missing.
 */
import type { Hono } from "hono";
import { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import { oneLine } from "../../lib/text/sanitize.ts";
import type { HealthChange, StatusLine } from "../../ports/health.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { StorageSize } from "../../ports/storage-size.ts";
import type { ToolQueue } from "../../ports/tool.ts";
import { isOperator } from "../../ports/visitor.ts";
import type { HealthHistory } from "../health-history.ts";
import { reading } from "./respond.ts";

export interface HealthData {
  version: string;
  startedAt: number;
  status: StatusLine[];
  jobs: { waiting: number; running: number };
  calls: WaitingCall[];
  changes: HealthChange[];
  older: number | null;
  historyProblem: string | null;
  /** Null while it is measured for the first time. */
  storage: StorageSize[] | null;
}

export interface WaitingCall {
  id: string;
  turnId: string;
  tool: string;
  state: "planned" | "started" | "waiting";
  attempts: number;
  startedAt: number;
  retryAt: number | null;
  failure: string | null;
}

export interface HealthOptions {
  version: string;
  startedAt: number;
  ledger: Ledger;
  queue: Pick<ToolQueue, "counts">;
  status(): StatusLine[];
  history: Pick<HealthHistory, "list">;
  /** Undefined while it is measured for the first time. Returns at once. */
  storageSizes(): StorageSize[] | undefined;
}

const pageSize = 50;
const maxTextCharacters = 300;
const querySchema = z.object({ before: z.coerce.number().int().min(0).optional() });

export function mountHealth(app: Hono, options: HealthOptions): void {
  const { version, startedAt, ledger, queue, status, history } = options;
  reading(app, "/dashboard/data/health", querySchema, async ({ before }, visitor): Promise<HealthData> => {
    const place = before === undefined ? {} : { before };
    const stored = await Promise.all([waitingCalls(ledger), history.list({ limit: pageSize, ...place })]).catch(
      (thrown: unknown) => messageOf(thrown),
    );
    const [calls, { changes, older }] = typeof stored === "string" ? [[], { changes: [], older: null }] : stored;
    return {
      ...{ version, startedAt, changes, older },
      // A call's failure can quote what it was about.
      calls: isOperator(visitor) ? calls : [],
      status: status(),
      jobs: queue.counts(),
      storage: options.storageSizes() ?? null,
      historyProblem: typeof stored === "string" ? stored : null,
    };
  });
}

async function waitingCalls(ledger: Ledger): Promise<WaitingCall[]> {
  const entries = await ledger.list("call", { states: ["planned", "started", "waiting"], limit: pageSize });
  return entries.map(({ id, state, body }) => ({
    id,
    state: state as WaitingCall["state"],
    turnId: body.turnId,
    tool: oneLine(body.name, maxTextCharacters),
    attempts: body.attempts,
    startedAt: body.startedAt,
    retryAt: body.retryAt ?? null,
    failure: body.failure === undefined ? null : oneLine(body.failure, maxTextCharacters),
  }));
}
