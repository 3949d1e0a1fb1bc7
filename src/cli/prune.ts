/** `remora prune` removes what is older than its retention, as the agent does once a day. It may run beside the agent. */
import { openRetention } from "../app/retention.ts";
import { redisSettings } from "../config/derive.ts";
import type { Environment } from "../config/environment.ts";
import { messageOf } from "../lib/errors.ts";
import { type Log, silentLog } from "../lib/log.ts";
import { counted } from "../lib/text/counted.ts";
import { formatBytes } from "../lib/text/format-bytes.ts";
import type { KindReport } from "../retention/retention.ts";
import { openRecords } from "../storage/open-state.ts";
import { requireLedger } from "./open-state.ts";
import { settingsFor } from "./settings.ts";

interface PruneOptions {
  dryRun?: boolean;
  json?: boolean;
}

export async function pruneCommand(env: Environment, root: string, { dryRun, json }: PruneOptions): Promise<void> {
  const settings = settingsFor(env, root);
  requireLedger(settings, "prune");
  const isDryRun = dryRun === true;
  const records = await openRecords({ data: settings.data, redis: redisSettings(settings), log: silentLog });
  try {
    const reports = await openRetention(settings, records, problemLog()).prune(isDryRun);
    process.stdout.write(json === true ? `${JSON.stringify(reports, null, 1)}\n` : pruneText(reports, isDryRun));
  } finally {
    await records.close();
  }
}

/** Problems are for the person at the terminal. */
function problemLog(): Log {
  return {
    ...silentLog,
    error(fields, message) {
      process.stderr.write(`${message}: ${messageOf("error" in fields ? fields.error : "")}\n`);
      process.exitCode = 1;
    },
  };
}

export function pruneText(reports: readonly KindReport[], isDryRun: boolean): string {
  const lines = reports.map(({ name, days, items, bytes }) => {
    const kept = days === null ? "kept until people delete them" : `older than ${counted(days, "day")}`;
    const size = bytes === 0 ? "" : `, ${formatBytes(bytes)}`;
    return `${name} (${kept}): ${items}${size}\n`;
  });
  const items = reports.reduce((sum, report) => sum + report.items, 0);
  const bytes = reports.reduce((sum, report) => sum + report.bytes, 0);
  if (items === 0) return `${lines.join("")}Nothing is old enough.\n`;
  const total = `${counted(items, "item")}, ${formatBytes(bytes)}`;
  return `${lines.join("")}${isDryRun ? `${total} would be removed. Nothing was changed.` : `${total} removed.`}\n`;
}
