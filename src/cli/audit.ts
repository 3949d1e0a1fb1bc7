/** `remora audit verify` and `export` read the event log in `brain/corpus`, even if no agent is running. */
import { once } from "node:events";
import { join } from "node:path";
import { exportAudit } from "../audit/export.ts";
import { auditFolderOf } from "../audit/files.ts";
import { headsFolderOf } from "../audit/heads.ts";
import { verifyAudit } from "../audit/verify.ts";
import type { Environment } from "../config/environment.ts";
import { RemoraError } from "../lib/errors.ts";
import { settingsFor } from "./settings.ts";

export async function auditVerifyCommand(env: Environment, root: string, { json }: { json?: boolean }): Promise<void> {
  const { workspace, data } = settingsFor(env, root);
  const folder = auditFolderOf(workspace);
  const report = await verifyAudit({ folder, headsFolder: headsFolderOf(data) });
  const { chains, lines, problems, notes } = report;
  if (problems.length > 0) process.exitCode = 1;
  if (json === true) {
    process.stdout.write(`${JSON.stringify(report, null, 1)}\n`);
    return;
  }
  for (const { file, line, kind, message } of problems)
    process.stdout.write(`${kind.toUpperCase()} ${join(folder, file)}${line === 0 ? "" : `:${line}`} ${message}\n`);
  for (const note of notes) process.stdout.write(`Note: ${note}\n`);
  const found = problems.length === 0 ? "nothing is missing or changed" : `problems: ${problems.length}`;
  process.stdout.write(`${lines} lines in ${chains} ${chains === 1 ? "chain" : "chains"}: ${found}.\n`);
}

export async function auditExportCommand(env: Environment, root: string, { since }: { since: string }): Promise<void> {
  const at = Date.parse(since);
  if (Number.isNaN(at))
    throw new RemoraError({
      code: "audit.since",
      place: `--since ${since}`,
      message: "is not a date. Write it as 2026-01-31 or 2026-01-31T12:00:00Z",
    });
  const { workspace } = settingsFor(env, root);
  for await (const line of exportAudit(auditFolderOf(workspace), at))
    if (!process.stdout.write(`${line}\n`)) await once(process.stdout, "drain");
}
