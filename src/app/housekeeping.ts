/** Periodic work: sweeps every few seconds, cleanups every hour. */
import { join } from "node:path";
import { createHousekeeping, type Housekeeping } from "../engine/housekeeping.ts";
import { runIfDue } from "../lib/periodic.ts";
import type { OwnedMemory } from "../memory/memory.ts";
import { pruneFiles } from "../storage/prune-files.ts";
import type { ConversationParts } from "./conversations.ts";
import type { Models } from "./models.ts";
import { type AppOptions, takesTurns } from "./options.ts";
import type { SandboxParts } from "./sandbox.ts";
import type { Skills } from "./skills.ts";
import type { State } from "./state.ts";

export interface HousekeepingParts {
  sandbox: SandboxParts;
  skills: Skills;
  models: Models;
  memory: OwnedMemory;
  parts: ConversationParts;
  servePage(): Promise<void>;
}

const weekMs = 7 * 86_400_000;
/** Only interrupted turns need these copies, to resend their files. */
const outboxRetentionMs = weekMs;
const outputsRetentionMs = 30 * 86_400_000;

export function buildHousekeeping(
  { settings: { workspace }, role, log }: AppOptions,
  { ledger, store, auditLog }: State,
  { memory, sandbox, skills, models, parts, servePage }: HousekeepingParts,
): Housekeeping {
  const { approvals, conversations, questions, schedules } = parts;
  return createHousekeeping({
    sweeps: {
      approvals: approvals.sweep,
      conversations: conversations.sweep,
      ...(takesTurns(role) ? { drafts: sandbox.drafts.sweep } : {}),
      questions: questions.sweep,
      schedules: schedules.sweep,
      plugins: skills.refreshFirstUse,
      page: servePage,
    },
    ledger,
    cleanUps: [
      () => runIfDue(store, { name: "consolidation", everyMs: weekMs, work: memory.consolidate }),
      models.usage.prune,
      () => pruneFiles(join(workspace, "outbox"), Date.now() - outboxRetentionMs),
      () => pruneFiles(join(workspace, "outputs"), Date.now() - outputsRetentionMs),
      // Runs last, because it writes: on a full disk, the other cleanups must free space first.
      auditLog.prune,
    ],
    log,
  });
}
