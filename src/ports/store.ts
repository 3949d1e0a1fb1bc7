/** Key-value state that may be written twice without harm. What must happen once lives in the ledger. */
import type { Json } from "./message.ts";

export interface Store {
  get(key: string): Promise<Json | undefined>;
  /** `ttlMs` absent: kept until deleted. */
  set(key: string, value: Json, ttlMs?: number): Promise<void>;
  delete(key: string): Promise<void>;
  close(): Promise<void>;
}
