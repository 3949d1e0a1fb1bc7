/** A store whose values a test can read. Values pass through JSON, as in every real store. Nothing expires. */
import type { Json } from "../../src/ports/message.ts";
import type { Store } from "../../src/ports/store.ts";

export function createInMemoryStore(): Store & { values: Map<string, string> } {
  const values = new Map<string, string>();
  return {
    values,
    async get(key) {
      const value = values.get(key);
      return value === undefined ? undefined : (JSON.parse(value) as Json);
    },
    async set(key, value) {
      values.set(key, JSON.stringify(value));
    },
    async delete(key) {
      values.delete(key);
    },
    close: async () => {},
  };
}
