/** Whoever has the page's token acts as the operator. Each action is in the audit log before it happens. */
import type { Audit, AuditMap } from "../../ports/audit.ts";
import type { Receipt } from "./respond.ts";

export type Operate = (acted: AuditMap["operator.acted"], work: () => Promise<Receipt>) => Promise<Receipt>;

/** If the audit log can't be written, the action does not happen. */
export function createOperate(audit: Audit): Operate {
  return async (acted, work) => {
    await audit.record("operator.acted", acted);
    return await work();
  };
}
