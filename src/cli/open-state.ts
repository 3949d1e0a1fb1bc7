/** Opens what commands use beside a running agent: the ledger, the audit log, and a copy of what Redis holds. */
import { existsSync } from "node:fs";
import { createAuditLog } from "../audit/audit-log.ts";
import { auditFolderOf } from "../audit/files.ts";
import { headsFolderOf } from "../audit/heads.ts";
import { redisSettings } from "../config/derive.ts";
import type { Settings } from "../config/settings.ts";
import { RemoraError } from "../lib/errors.ts";
import { createEvents } from "../lib/event-bus.ts";
import { silentLog } from "../lib/log.ts";
import type { Mask } from "../lib/redact.ts";
import type { Audit } from "../ports/audit.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { RedisSettings } from "../storage/durable-state.ts";
import { ledgerFile, openLedger } from "../storage/open-state.ts";

export async function withLedger<T>(settings: Settings, work: (ledger: Ledger) => Promise<T>): Promise<T> {
  const ledger = await openLedger({ data: settings.data, redis: redisSettings(settings), log: silentLog });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

/** For commands that only make sense with what an agent has stored. */
export function requireLedger(settings: Settings, command: string): void {
  if (hasLedger(settings)) return;
  throw new RemoraError({
    code: `${command}.no-ledger`,
    place: ledgerFile(settings.data),
    message:
      "there is no ledger, so no agent has used this data folder yet. Set REMORA_DATA to the agent's data folder",
  });
}

/** With Redis, nobody has to have made it. */
export function hasLedger({ data, redisUrl }: Settings): boolean {
  return redisUrl !== null || existsSync(ledgerFile(data));
}

export async function withAudit<T>(settings: Settings, mask: Mask, work: (audit: Audit) => Promise<T>): Promise<T> {
  const audit = createAuditLog({
    ...{ events: createEvents(), mask, log: silentLog, retentionDays: settings.config.events.retentionDays },
    folder: auditFolderOf(settings.workspace),
    headsFolder: headsFolderOf(settings.data),
  });
  try {
    return await work(audit);
  } finally {
    await audit.close();
  }
}

/** The caller closes it. */
export async function openCopy(redis: RedisSettings) {
  const { openRedisCopy } = await import("../storage/redis/copy.ts");
  return await openRedisCopy(redis, silentLog, AbortSignal.timeout(redis.waitMs));
}
