/** Counts of model calls, and what one call adds to them. */
import type { Usage } from "./provider.ts";

export interface UsageCount extends Usage {
  /** For example `2026-11-21`, in UTC. */
  day: string;
  calls: number;
  /** US dollars. Covers only calls whose model has a price. */
  cost: number;
  unpricedCalls: number;
  /** Calls whose provider reported no tokens, or which broke off. Their tokens are estimated. */
  estimatedCalls?: number;
  /** Time that Remora itself needed before it called the models. */
  addedMs: number;
}

/** What a call adds to one entry. Can be stored until it is written. */
export interface UsageAddition {
  /** Of the ledger entry. */
  id: string;
  subject: string;
  /** Absent to only release a reservation. */
  more?: UsageCount;
  name?: string;
  releases?: string;
}
