/** Key-value state that may safely be written twice. Anything that must happen only once belongs in the ledger. */
import type { Json } from "./message.ts";

export interface Store {
  /** Undefined also if the value is damaged, so that one of them never prevents a start. */
  get(key: string): Promise<Json | undefined>;
  set(key: string, value: Json, ttlMs?: number): Promise<void>;
  delete(key: string): Promise<void>;
  close(): Promise<void>;
}
