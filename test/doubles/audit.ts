/** An audit log in memory that a test can make fail. */
import type { Audit, AuditName } from "../../src/ports/audit.ts";

export interface RecordedAudit extends Audit {
  lines: { name: AuditName; fields: object }[];
  /** Undefined: it works. */
  failure: Error | undefined;
}

export function createRecordedAudit(): RecordedAudit {
  const audit: RecordedAudit = {
    lines: [],
    failure: undefined,
    async record(name, fields) {
      if (audit.failure !== undefined) throw audit.failure;
      audit.lines.push({ name, fields });
    },
  };
  return audit;
}
