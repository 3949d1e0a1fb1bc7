/** Actions of operators. Each is in the audit log before it happens, with the person's name if one has signed in. */
import type { Audit, AuditMap } from "../../ports/audit.ts";
import { identityOf, type Visitor } from "../../ports/visitor.ts";
import type { Receipt } from "./respond.ts";

export type Operate = (
  visitor: Visitor,
  acted: Omit<AuditMap["operator.acted"], "by">,
  work: () => Promise<Receipt>,
) => Promise<Receipt>;

/** If the audit log can't be written, the action does not happen. */
export function createOperate(audit: Audit): Operate {
  return async (visitor, acted, work) => {
    const by = visitor.type === "machine" ? {} : { by: { id: identityOf(visitor.person), name: visitor.person.name } };
    await audit.record("operator.acted", { ...acted, ...by });
    return await work();
  };
}
