/** Periodic work: sweeps every few seconds, cleanups every hour. */
import type { StoredChatLog } from "../chat-log/chat-log.ts";
import { createHousekeeping, type Housekeeping } from "../engine/housekeeping.ts";
import { elapsedSince } from "../lib/elapsed.ts";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { runIfDue } from "../lib/periodic.ts";
import type { OwnedMemory } from "../memory/memory.ts";
import { pruneSignedRequests } from "../platforms/slack/api/signed-requests.ts";
import type { Retention } from "../retention/retention.ts";
import { logsFolderOf } from "../storage/folders.ts";
import { pruneFiles } from "../storage/prune-files.ts";
import type { Accounts } from "../web/accounts/accounts.ts";
import type { HealthHistory } from "../web/health-history.ts";
import type { ConversationParts } from "./conversations.ts";
import type { Health } from "./health.ts";
import type { Models } from "./models.ts";
import { type AppOptions, takesTurns } from "./options.ts";
import type { SandboxParts } from "./sandbox.ts";
import type { Skills } from "./skills.ts";
import type { State } from "./state.ts";
import type { Tools } from "./tools.ts";

export interface HousekeepingParts {
  sandbox: SandboxParts;
  skills: Skills;
  models: Models;
  memory: OwnedMemory;
  chatLog: StoredChatLog;
  tools: Tools;
  parts: ConversationParts;
  healthHistory: HealthHistory;
  accounts: Pick<Accounts, "prune">;
  health: Pick<Health, "tellOwners">;
  retention: Pick<Retention, "prune">;
  servePage(): Promise<void>;
}

const dayMs = 86_400_000;
const weekMs = 7 * dayMs;
const documentsEveryMs = 10_000;
const journalsEveryMs = 60_000;

export function buildHousekeeping(
  { settings: { data, config }, role, log }: AppOptions,
  { ledger, store, auditLog, stubEnded }: State,
  {
    memory,
    chatLog,
    sandbox,
    skills,
    models,
    tools,
    parts,
    health,
    healthHistory,
    accounts,
    retention,
    servePage,
  }: HousekeepingParts,
): Housekeeping {
  const { approvals, conversations, questions, schedules, history, registry } = parts;
  const pruneSummaries = async () => {
    if (config.memory.retentionDays === null) return;
    for (const { id } of await registry.list()) await history.prune(id);
  };
  return createHousekeeping({
    sweeps: {
      // Runs first, because the others may wait long for an unreachable Redis.
      health: healthHistory.note,
      owners: health.tellOwners,
      approvals: approvals.sweep,
      conversations: conversations.sweep,
      ...(takesTurns(role) ? { drafts: sandbox.drafts.sweep } : {}),
      questions: questions.sweep,
      schedules: schedules.sweep,
      plugins: skills.refreshFirstUse,
      async skills() {
        if (await skills.switches.refresh()) tools.toolbox.applySwitches();
      },
      page: servePage,
      ...(takesTurns(role) ? { documents: followDocuments(memory) } : {}),
      ...(takesTurns(role) && stubEnded !== undefined ? { journals: journalEnded(stubEnded, log) } : {}),
    },
    ledger,
    cleanUps: [
      ...(takesTurns(role) ? [memory.removeLeftovers] : []),
      () => runIfDue(store, { name: "consolidation", everyMs: weekMs, work: memory.consolidate }),
      chatLog.prune,
      () => runIfDue(store, { name: "summaries", everyMs: dayMs, work: pruneSummaries }),
      models.usage.prune,
      healthHistory.prune,
      accounts.prune,
      () => pruneSignedRequests(ledger),
      ...(takesTurns(role)
        ? [() => runIfDue(store, { name: "retention", everyMs: dayMs, work: () => retention.prune(false) })]
        : []),
      () => pruneFiles(logsFolderOf(data), Date.now() - config.log.keepDays * dayMs),
      // Runs last, because it writes: on a full disk, the other cleanups must free space first.
      auditLog.prune,
    ],
    log,
  });
}

/** Does not wait, because reading a long document takes longer than a sweep may. */
function followDocuments(memory: OwnedMemory): (now: number) => Promise<void> {
  let checkedAt = Number.NEGATIVE_INFINITY;
  return async (now) => {
    if (elapsedSince(checkedAt, now) < documentsEveryMs) return;
    checkedAt = now;
    void memory.refreshDocuments();
  };
}

/** Does not wait, because the first time after an upgrade there is much to move. */
function journalEnded(stubEnded: (now: number) => Promise<number>, log: Log): (now: number) => Promise<void> {
  let startedAt = Number.NEGATIVE_INFINITY;
  let isRunning = false;
  return async (now) => {
    if (isRunning || elapsedSince(startedAt, now) < journalsEveryMs) return;
    startedAt = now;
    isRunning = true;
    void stubEnded(now)
      .catch((thrown: unknown) =>
        log.error({ error: messageOf(thrown) }, "could not move ended turns to their journal"),
      )
      .finally(() => {
        isRunning = false;
      });
  };
}
