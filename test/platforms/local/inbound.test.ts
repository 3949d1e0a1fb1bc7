import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { type ChatStore, createChatStore } from "../../../src/platforms/local/chat-store.ts";
import { createInbound } from "../../../src/platforms/local/inbound.ts";
import type { PlatformHandlers } from "../../../src/ports/platform.ts";

let store: ChatStore;
beforeEach(() => {
  store = createChatStore(":memory:");
  store.addPerson({ id: "ann", name: "Ann" });
});
afterEach(() => store.close());

const handlers = {
  onMessage: async () => undefined,
  onEdited: async () => {},
  onDeleted: async () => {},
} as unknown as PlatformHandlers;

test("an edit does not bring back a message whose deletion is not committed yet", async () => {
  const inbound = createInbound({ store, handlers: () => handlers, log: silentLog });
  const { id } = await inbound.say({ person: "ann", place: "dm:ann", thread: null, text: "first", files: [] });
  const puts = vi.spyOn(store, "put");
  const removed = inbound.remove("ann", id);
  for (let turn = 0; turn < 100 && puts.mock.calls.length === 0; turn += 1) await undefined;
  expect(puts).toHaveBeenCalledTimes(1);
  await expect(inbound.edit("ann", id, "second")).rejects.toMatchObject({ status: 404 });
  await removed;
  expect(store.get(id)).toMatchObject({ isDeleted: true, text: "" });
});
