/** Reactions of waiting messages that Slack does not let the bot take away for a while. */
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RemoraError } from "../../../src/lib/errors.ts";
import { silentLog } from "../../../src/lib/log.ts";
import type { SlackApi } from "../../../src/platforms/slack/api/api.ts";
import { createReceipts, type Receipts } from "../../../src/platforms/slack/outbound/receipts.ts";
import type { Store } from "../../../src/ports/store.ts";
import { createInMemoryStore } from "../../doubles/in-memory-store.ts";
import { inboundMessage } from "../../doubles/records.ts";

const dueKey = "slack-reactions-to-remove";

let isAway: boolean;
let added: number;
let removals: number;
let store: Store;
let receipts: Receipts;
let ended: AbortController;
beforeEach(() => {
  [isAway, added, removals] = [true, 0, 0];
  ended = new AbortController();
  const kept = createInMemoryStore();
  store = {
    ...kept,
    // Other writes come in between, as on a disk.
    async get(key) {
      const value = await kept.get(key);
      await setImmediate();
      return value;
    },
  };
  const call = async (method: string) => {
    if (method === "reactions.add") added += 1;
    else removals += 1;
    if (method === "reactions.remove" && isAway)
      throw new RemoraError({ code: "slack.token_revoked", place: method, message: "revoked", isRetryable: false });
    return {};
  };
  receipts = createReceipts({
    api: { call } as unknown as SlackApi,
    sessions: () => {
      throw new Error("no message is in a thread");
    },
    ...{ store, ackReaction: null, signal: ended.signal, log: silentLog },
  });
});
afterEach(() => ended.abort());

async function give(channel: string, ts: string): Promise<string> {
  const before = added;
  const id = `${channel}:${ts}`;
  void receipts.give(inboundMessage({ id, conversationId: `slack:T1:${channel}` }));
  await expect.poll(() => added).toBe(before + 1);
  return id;
}

test("conversations whose reactions can't go away at the same time are all remembered", async () => {
  const channels = ["D1", "D2", "D3"];
  const ids: string[] = [];
  for (const channel of channels) ids.push(await give(channel, "1700000000.000100"));
  await Promise.all(channels.map((channel) => receipts.end(`slack:T1:${channel}`)));
  expect(((await store.get(dueKey)) as string[]).toSorted()).toEqual(ids);
  isAway = false;
  await receipts.resume();
  expect(await store.get(dueKey)).toBeUndefined();
});

test("while Slack refuses, one try is enough, and every reaction stays due", async () => {
  const ids = [await give("D1", "1700000000.000100"), await give("D1", "1700000000.000200")];
  await receipts.end("slack:T1:D1");
  expect([removals, await store.get(dueKey)]).toEqual([1, ids]);
  await receipts.resume();
  expect([removals, await store.get(dueKey)]).toEqual([2, ids]);
  isAway = false;
  await receipts.resume();
  expect([removals, await store.get(dueKey)]).toEqual([4, undefined]);
});
