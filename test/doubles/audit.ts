/** An audit that is kept in memory, and that a test may let fail. */
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
