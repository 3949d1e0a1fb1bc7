/** Key-value state that may safely be written twice. Anything that must happen only once belongs in the ledger. */
import type { Fence } from "./cluster.ts";
import type { Json } from "./message.ts";

export interface Store {
  /** Undefined also if the value is damaged, so that one of them never prevents a start. */
  get(key: string): Promise<Json | undefined>;
  /** With a fence, `set` and `delete` change nothing and reject with `coordination.lock-lost` once its lease is not held. */
  set(key: string, value: Json, ttlMs?: number, fence?: Fence): Promise<void>;
  delete(key: string, fence?: Fence): Promise<void>;
  close(): Promise<void>;
}
