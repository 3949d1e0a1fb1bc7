/**
 * Paces the edits of messages older than an hour, of which Discord takes few per channel: cards that are answered after lunch,
 * footers, receipts. They wait here and not with discord.js, where they would hold up the edits of newer messages. While an
 * edit waits, a later one of the same message takes its place, so that one request shows the newest state.
 */
import { pause } from "../../../lib/backoff.ts";
import { elapsedSince, leftOf } from "../../../lib/elapsed.ts";
import { isLimited } from "../api/api.ts";
import { waitOf } from "../api/rate-limits.ts";
import { oldEditsPerWindow, oldEditWindowMs } from "../limits.ts";

export interface OldEdits {
  /** Settles with the edit that was sent: this one, or a later one that took its place. */
  edit(channelId: string, messageId: string, send: () => Promise<void>): Promise<void>;
  /** Rejects all that waits, as if Discord were away. */
  close(): void;
}

interface Waiting {
  send(): Promise<void>;
  shown: PromiseWithResolvers<void>;
}

interface Lane {
  /** By message, in the order of their first edits. */
  waiting: Map<string, Waiting>;
  sentAt: number[];
  isRunning: boolean;
}

export function createOldEdits(): OldEdits {
  const lanes = new Map<string, Lane>();
  const ended = new AbortController();

  async function mayEdit({ sentAt }: Lane): Promise<void> {
    const oldest = sentAt.length < oldEditsPerWindow ? undefined : sentAt.shift();
    const wait = oldest === undefined ? 0 : leftOf(oldEditWindowMs, oldest);
    if (wait > 0) await pause(wait, ended.signal);
  }

  /** Discord refused in spite of the pace, perhaps because another process edits there too. */
  function putBack(lane: Lane, messageId: string, refused: Waiting): void {
    const newer = lane.waiting.get(messageId);
    if (newer === undefined) lane.waiting = new Map([[messageId, refused], ...lane.waiting]);
    else newer.shown.promise.then(refused.shown.resolve, refused.shown.reject);
  }

  async function sendNext(lane: Lane): Promise<void> {
    await mayEdit(lane);
    const [next] = lane.waiting;
    if (next === undefined) return;
    const [messageId, edit] = next;
    lane.waiting.delete(messageId);
    if (ended.signal.aborted) return edit.shown.reject(new DOMException("Remora stops", "AbortError"));
    try {
      edit.shown.resolve(await edit.send().finally(() => lane.sentAt.push(Date.now())));
    } catch (thrown) {
      if (!isLimited(thrown)) return edit.shown.reject(thrown);
      putBack(lane, messageId, edit);
      await pause(waitOf(thrown), ended.signal);
    }
  }

  async function run(channelId: string, lane: Lane): Promise<void> {
    lane.isRunning = true;
    while (lane.waiting.size > 0) await sendNext(lane);
    lane.isRunning = false;
    const forget = () => {
      const isUnused = elapsedSince(lane.sentAt.at(-1) ?? 0) >= oldEditWindowMs && !lane.isRunning;
      if (isUnused && lanes.get(channelId) === lane) lanes.delete(channelId);
    };
    setTimeout(forget, oldEditWindowMs).unref();
  }

  return {
    edit(channelId, messageId, send) {
      const lane = lanes.get(channelId) ?? { waiting: new Map(), sentAt: [], isRunning: false };
      lanes.set(channelId, lane);
      const edit = lane.waiting.get(messageId) ?? { send, shown: Promise.withResolvers<void>() };
      edit.send = send;
      lane.waiting.set(messageId, edit);
      if (!lane.isRunning) void run(channelId, lane);
      return edit.shown.promise;
    },
    close: () => ended.abort(),
  };
}
