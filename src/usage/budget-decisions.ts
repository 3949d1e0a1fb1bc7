/** Records in a budget what people decide about it. An addition counts once, however often it is repeated. */
import { toIsoDate } from "../lib/iso-date.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { BudgetDecisions, UsageRecord } from "../ports/usage.ts";
import { emptyRecord } from "./budgets.ts";

export interface BudgetDecisionsOptions {
  ledger: Ledger;
  now?: () => number;
}

export function createBudgetDecisions({ ledger, now = Date.now }: BudgetDecisionsOptions): BudgetDecisions {
  async function change(id: string, work: (record: UsageRecord) => UsageRecord | undefined): Promise<boolean> {
    await ensure(id);
    return (await ledger.transition("usage", id, ["counted"], "counted", work)) !== undefined;
  }

  /** People may be asked about a budget of nothing before anything was counted. */
  async function ensure(id: string): Promise<void> {
    if ((await ledger.get("usage", id)) !== undefined) return;
    const [, day, subject] = /^(\d{4}-\d\d-\d\d) (.*)$/s.exec(id) ?? [];
    const body = emptyRecord(day ?? toIsoDate(now()));
    await ledger.create("usage", id, { state: "counted", body, group: subject ?? id });
  }

  return {
    async asked({ id, addition }, turnId) {
      let isOwn = false;
      const isFirst = await change(id, (record) => {
        const isCurrent = (record.continued?.length ?? 0) === addition;
        isOwn = isCurrent && record.asked?.addition === addition && record.asked.turnId === turnId;
        return isCurrent && record.asked?.addition !== addition
          ? { ...record, asked: { addition, turnId } }
          : undefined;
      });
      return isFirst || isOwn;
    },
    async continued({ id, addition, step: dollars }, by, at) {
      await change(id, (record) => {
        const { continued = [], declined: _declined, ...rest } = record;
        return continued.length === addition ? { ...rest, continued: [...continued, { by, at, dollars }] } : undefined;
      });
    },
    async declined({ id, addition }, by) {
      await change(id, (record) =>
        (record.continued?.length ?? 0) === addition ? { ...record, declined: { addition, by } } : undefined,
      );
    },
  };
}
