/**
 * Key-value state that may be written twice without harm: conversation history, cursors, preferences.
 * There is no compare-and-set here; what must happen once lives in the ledger.
 */
import type { Json } from "./message.ts";

export interface Store {
  /** Undefined when there is none, or when it has expired. */
  get(key: string): Promise<Json | undefined>;
  /** `ttlMs` absent: kept until deleted. */
  set(key: string, value: Json, ttlMs?: number): Promise<void>;
  delete(key: string): Promise<void>;
  close(): Promise<void>;
}
