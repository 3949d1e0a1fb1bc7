/** Sums up usage for operators: by day, person, channel and model. Reads a bounded number of the newest entries. */
import { toIsoDate } from "../lib/iso-date.ts";
import type { Ledger } from "../ports/ledger.ts";
import { summed, type UsageCount, type UsageOverview, type UsageRow } from "../ports/usage.ts";
import { emptyRecord } from "./budgets.ts";

const maxEntries = 5_000;
const maxDays = 31;
const maxRows = 20;
/** Several viewers of the dashboard share one reading. */
const keptMs = 5_000;

interface OverviewOptions {
  ledger: Ledger;
  now(): number;
}

interface Row {
  name: string;
  today: UsageCount;
  total: UsageCount;
}

export function createOverview({ ledger, now }: OverviewOptions): () => Promise<UsageOverview> {
  let kept: { at: number; overview: Promise<UsageOverview> } | undefined;

  async function read(): Promise<UsageOverview> {
    const today = toIsoDate(now());
    const entries = await ledger.list("usage", { order: "newest", limit: maxEntries });
    const days = new Map<string, UsageCount>();
    const rows = new Map<string, Row>();
    for (const { group: subject, body } of entries) {
      const count = summed(emptyRecord(body.day), body);
      if (subject === "everyone") days.set(body.day, count);
      const known = rows.get(subject) ?? { name: "", today: emptyRecord(today), total: emptyRecord("") };
      // The newest entry comes first.
      rows.set(subject, {
        name: known.name === "" ? (body.name ?? "") : known.name,
        today: body.day === today ? summed(known.today, count) : known.today,
        total: summed(known.total, count),
      });
    }
    return {
      today,
      days: [...days.values()].sort((one, other) => (one.day < other.day ? 1 : -1)).slice(0, maxDays),
      people: topRows(rows, /^user:([^:]+):(.+)$/s),
      channels: topRows(rows, /^scope:([^:]+):(channel:.+)$/s),
      models: topRows(rows, /^model:()(.+)$/s),
      isComplete: entries.length < maxEntries,
    };
  }

  return async () => {
    if (kept === undefined || now() < kept.at || now() - kept.at >= keptMs) kept = { at: now(), overview: read() };
    const { overview } = kept;
    overview.catch(() => {
      kept = undefined;
    });
    return await overview;
  };
}

/** `pattern` finds the platform and the id in the subject. */
function topRows(rows: ReadonlyMap<string, Row>, pattern: RegExp): UsageRow[] {
  const found = [...rows].flatMap(([subject, row]) => {
    const [, platform, id] = pattern.exec(subject) ?? [];
    return platform === undefined || id === undefined ? [] : [{ id, platform, ...row }];
  });
  return found
    .sort((one, other) => other.total.cost - one.total.cost || other.total.calls - one.total.calls)
    .slice(0, maxRows);
}
