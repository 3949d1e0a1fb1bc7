/** The contract of every store: each sentence of src/ports/store.ts. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Json } from "../../src/ports/message.ts";
import type { Store } from "../../src/ports/store.ts";
import { anyCharacter } from "../doubles/any-character.ts";

export interface StoreHarness {
  /** A connection to the same state each time; one after `close` is a restart. */
  open(): Promise<Store>;
  dispose(): Promise<void>;
}

export function storeConformance(name: string, createHarness: () => Promise<StoreHarness>): void {
  describe(`${name} keeps the store's contract`, () => {
    let harness: StoreHarness;
    let store: Store;
    beforeEach(async () => {
      harness = await createHarness();
      store = await harness.open();
    });
    afterEach(() => harness.dispose());

    test("a value is returned until it is replaced or deleted", async () => {
      expect(await store.get("a")).toBeUndefined();
      await store.set("a", { list: [1, "two", null] });
      expect(await store.get("a")).toEqual({ list: [1, "two", null] });
      await store.set("a", "new");
      expect(await store.get("a")).toBe("new");
      await store.delete("a");
      expect(await store.get("a")).toBeUndefined();
    });

    test("deleting an unknown key changes nothing", async () => {
      await store.set("a", 1);
      await store.delete("b");
      expect(await store.get("a")).toBe(1);
    });

    test("any JSON value under any key is returned unchanged", async () => {
      const key = fc.string({ unit: anyCharacter, minLength: 1 });
      await fc.assert(
        fc.asyncProperty(key, fc.jsonValue(), async (anyKey, anyValue) => {
          // Through JSON, which has no negative zero.
          const value = JSON.parse(JSON.stringify(anyValue)) as Json;
          await store.set(anyKey, value);
          expect(await store.get(anyKey)).toEqual(value);
        }),
        { numRuns: 100 },
      );
    });

    test("keys differ by case, separators and suffixes", async () => {
      const keys = ["a", "A", "a:b", "a:b:c", "a::b", "a%", "a_"];
      for (const key of keys) await store.set(key, `value of ${key}`);
      for (const key of keys) expect(await store.get(key)).toBe(`value of ${key}`);
      await store.delete("a%");
      expect(await store.get("a")).toBe("value of a");
    });

    test("a value with a time to live expires", async () => {
      await store.set("long", 1, 60_000);
      await store.set("short", 1, 20);
      expect(await store.get("long")).toBe(1);
      await expect.poll(() => store.get("short")).toBeUndefined();
      expect(await store.get("long")).toBe(1);
    });

    test("reading an expired value does not delete a value set in the meantime", async () => {
      await store.set("a", 1, 20);
      await store.set("clock", 1, 40);
      await expect.poll(() => store.get("clock")).toBeUndefined();
      await Promise.all([store.get("a"), store.set("a", 2)]);
      expect(await store.get("a")).toBe(2);
    });

    test("setting without a time to live removes an earlier one", async () => {
      await store.set("a", 1, 30);
      await store.set("a", 2);
      await store.set("clock", 1, 60);
      await expect.poll(() => store.get("clock")).toBeUndefined();
      expect(await store.get("a")).toBe(2);
    });

    test("values and their times to live survive a restart", async () => {
      await store.set("kept", { deep: { er: true } });
      await store.set("short", 1, 20);
      await store.close();
      const again = await harness.open();
      expect(await again.get("kept")).toEqual({ deep: { er: true } });
      await expect.poll(() => again.get("short")).toBeUndefined();
    });

    test("two connections see each other's values", async () => {
      const second = await harness.open();
      await store.set("a", 1);
      expect(await second.get("a")).toBe(1);
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? store : second).set(`k${index}`, index)),
      );
      for (let index = 0; index < 50; index += 1) expect(await store.get(`k${index}`)).toBe(index);
    });

    test("a closed store rejects, and can be closed again", async () => {
      await store.close();
      await store.close();
      await expect(store.get("a")).rejects.toThrow(/closed/);
      await expect(store.set("a", 1)).rejects.toThrow(/closed/);
    });
  });
}
