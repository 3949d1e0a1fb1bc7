/**
 * Merges what a call or background job wrote into the draft. Marks what was written with its origins and saves the
 * plan to disk before applying it. After a crash, `finishPending` applies a saved plan.
 */
import { join } from "node:path";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { DraftRecord } from "../../ports/draft.ts";
import { notKeptText } from "../../ports/ephemeral.ts";
import type { Events } from "../../ports/events.ts";
import type { FileOrigins } from "../../ports/file-origins.ts";
import type { Origin } from "../../ports/origin.ts";
import type { View } from "../../ports/sandbox.ts";
import type { ToolAttempt } from "../../ports/tool.ts";
import { type TooLarge, tooLargeReason } from "../effects/limits.ts";
import type { MergeEntry } from "../effects/merge-entry.ts";
import { displayPath, type RawPath } from "../effects/raw-path.ts";
import { recordBaseStamps } from "./base-state.ts";
import type { DraftStore } from "./draft-store.ts";

export interface CallMergerOptions {
  store: DraftStore;
  fileOrigins: FileOrigins;
  events: Events;
  /** Removes configured secrets before the result is written to disk. */
  redact(text: string): string;
  log: Log;
}

export interface CallMerger {
  /** Merges nothing and rejects with `draft.too-large`, or with `draft.stale` if newer versions would be lost. */
  merge(merge: CallMerge, signal: AbortSignal): Promise<DraftRecord | undefined>;
  finishPending(draft: DraftRecord): Promise<void>;
}

export interface CallMerge {
  draft: DraftRecord;
  view: Pick<View, "merged" | "upper">;
  /** The draft's layer, which is below the view's own writes. */
  over: string;
  scratch: string;
  /** The `fileSystemTime` before the view was opened. */
  since: string;
  /** What the view showed as it was before, although it has changed since. */
  stale: readonly RawPath[];
  callKey: string;
  turnId: string;
  attempt: ToolAttempt;
  origins: readonly Origin[];
}

export function createCallMerger({ store, fileOrigins, events, redact, log }: CallMergerOptions): CallMerger {
  async function merge(merge: CallMerge, signal: AbortSignal): Promise<DraftRecord | undefined> {
    const { draft, view, over, scratch, since, stale, callKey, turnId, attempt, origins } = merge;
    // `merged` is a link in /proc, and `planMerge` follows no links, so `/.` opens the folder itself.
    const folders = { merged: `${view.merged}/.`, upper: view.upper, base: draft.folder, layer: over };
    // Loaded by the first call that has written something, not at the start.
    const { planMerge } = await import("../effects/merge-plan.ts");
    const plan = await planMerge(folders, signal);
    if (plan.type === "too-large") throw tooLarge(plan);
    if (plan.entries.length === 0) return undefined;
    const lost = staleIn(plan.entries, stale);
    if (lost !== undefined) throw staleWrite(lost);
    const written = plan.entries.flatMap((entry) => {
      if (entry.action === "delete" || (entry.type === "folder" && !entry.isNew)) return [];
      return [{ path: entry.path, isNew: entry.isNew }];
    });
    // Mark the files first: after a crash, a mark without a file is harmless, but an unmarked file would be trusted.
    await fileOrigins.mark({ root: draft.folder, seen: view.merged }, written, origins);
    const result = withIgnored(
      { ...attempt, text: attempt.isEphemeral ? notKeptText : redact(attempt.text) },
      plan.ignored.length,
    );
    const call = { attempt: result, turnId, since, joinedAt: Date.now() };
    await store.saveMergedCall(draft.id, callKey, { ...call, plan, from: view.upper ?? join(scratch, "copy") });
    const { id: draftId, conversationId } = draft;
    events.emit("tool.changed", { turnId, conversationId, jobId: callKey, draftId, files: plan.entries.length });
    return await apply(draft, callKey);
  }

  async function apply(draft: DraftRecord, callKey: string): Promise<DraftRecord | undefined> {
    const call = await store.mergedCall(draft.id, callKey);
    if (call?.plan === undefined || call.from === undefined) return draft;
    const updated = await store.update(draft, (body) => ({
      ...body,
      turnIds: [...new Set([...body.turnIds, call.turnId])],
      changedAt: Math.max(Date.now(), body.changedAt + 1),
    }));
    if (updated === undefined) return undefined;
    const { layer, base } = store.paths(draft.id);
    await recordBaseStamps(base, draft.folder, call.plan, call.since);
    const { applyMerge } = await import("../effects/merge-layer.ts");
    await applyMerge(call.plan, { from: call.from, base: draft.folder, layer });
    const { plan: _plan, from: _from, ...rest } = call;
    await store.saveMergedCall(draft.id, callKey, rest);
    return updated;
  }

  async function finishPending(draft: DraftRecord): Promise<void> {
    for (const { callKey } of await store.unfinished(draft.id)) {
      await apply(draft, callKey).catch((thrown: unknown) => {
        log.error({ draftId: draft.id, callKey, error: messageOf(thrown) }, "could not merge a call into its draft");
        throw thrown;
      });
    }
  }

  return { merge, finishPending };
}

function withIgnored(attempt: ToolAttempt, count: number): ToolAttempt {
  if (count === 0) return attempt;
  const what = count === 1 ? "A socket, pipe or device was" : `${count} sockets, pipes or devices were`;
  return { ...attempt, text: `${attempt.text}\n\n(${what} not kept: drafts hold only files, folders and links.)` };
}

function tooLarge(found: TooLarge): RemoraError {
  return new RemoraError({
    code: "draft.too-large",
    place: "draft",
    message: `None of this call's changes were kept. ${tooLargeReason(found)} ${adviceFor(found)}`,
  });
}

/** A newer version that the entries would replace or remove, also with the folder around it or the folders that they need. */
function staleIn(entries: readonly MergeEntry[], stale: readonly RawPath[]): RawPath | undefined {
  const foldersOf = (path: RawPath) => path.split("/").map((_, depth, parts) => parts.slice(0, depth + 1).join("/"));
  const staleOnes = new Set(stale);
  const withStale = new Set(stale.flatMap(foldersOf));
  for (const entry of entries) {
    const { path } = entry;
    const found = foldersOf(path).find((folder) => staleOnes.has(folder));
    if (found !== undefined) return found;
    const isReplaced = entry.action === "delete" || entry.type !== "folder";
    if (isReplaced && withStale.has(path)) return stale.find((one) => one.startsWith(`${path}/`));
  }
  return undefined;
}

function staleWrite(path: RawPath): RemoraError {
  return new RemoraError({
    code: "draft.stale",
    place: "draft",
    message: `None of this call's changes were kept: ${displayPath(path)} has changed since people approved the call, which saw it as it was. Call it again.`,
  });
}

function adviceFor({ limit }: TooLarge): string {
  return limit === "maxDepth" ? "Nest the folders less deeply." : "Work on fewer files at a time.";
}
