/** Keeps a draft: writes the audit record, applies the changes to the real folder, and reports the outcome. */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { ifMissing, messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { never } from "../../lib/never.ts";
import { formatNumber } from "../../lib/text/format-number.ts";
import type { Audit } from "../../ports/audit.ts";
import type { DraftRecord } from "../../ports/draft.ts";
import type { Events } from "../../ports/events.ts";
import type { KeepResult } from "../effects/keep-effects.ts";
import { tooLargeReason } from "../effects/limits.ts";
import { readStamps } from "./base-state.ts";
import type { DraftStore } from "./draft-store.ts";

export interface DraftKeeperOptions {
  store: DraftStore;
  undoFolder: string;
  keepLock: KeepLock;
  events: Events;
  audit: Audit;
  log: Log;
}

export type KeepLock = <T>(work: () => Promise<T>) => Promise<T>;

export type KeepOutcome = KeepResult | { type: "folder-missing" } | { type: "not-recorded"; reason: string };

export interface DraftKeeper {
  /** `paths` selects the changes to keep. Repeating the call, for example after a crash, applies them only once. */
  keep(draft: DraftRecord, expectedHash: string, paths?: string[], approvalId?: string): Promise<KeepOutcome>;
}

const maxNamedPaths = 5;

export function createDraftKeeper({
  store,
  undoFolder,
  keepLock,
  events,
  audit,
  log,
}: DraftKeeperOptions): DraftKeeper {
  async function keep(
    draft: DraftRecord,
    expectedHash: string,
    paths?: string[],
    approvalId?: string,
  ): Promise<KeepOutcome> {
    const { id: draftId, conversationId, turnIds } = draft;
    const notRecorded = await record(draft, expectedHash, paths, approvalId);
    const outcome = notRecorded ?? (await apply(draft, expectedHash, paths));
    if (outcome.type === "kept") {
      const { id: undoId, paths: files = 0 } = outcome.undo ?? {};
      const undone = undoId === undefined ? {} : { undoId };
      events.emit("changes.kept", { draftId, conversationId, turnIds, files, ...undone });
    } else events.emit("changes.refused", { draftId, conversationId, turnIds, message: keepProblem(outcome) });
    return outcome;
  }

  /** Must run before the first file is written. If it fails, nothing is kept. */
  async function record(
    draft: DraftRecord,
    hash: string,
    paths: string[] | undefined,
    approvalId: string | undefined,
  ): Promise<KeepOutcome | undefined> {
    const { id: draftId, conversationId, folder, turnIds } = draft;
    const fields = { turnId: turnIds.at(-1) ?? "", conversationId, draftId, undoId: keepId(draft), folder, hash };
    const part = { ...(paths === undefined ? {} : { paths }), ...(approvalId === undefined ? {} : { approvalId }) };
    try {
      await audit.record("changes.keeping", { ...fields, ...part });
      return undefined;
    } catch (thrown) {
      log.error({ draftId, error: messageOf(thrown) }, "could not write the audit log, so changes were not kept");
      return { type: "not-recorded", reason: messageOf(thrown) };
    }
  }

  async function apply(draft: DraftRecord, expectedHash: string, paths?: string[]): Promise<KeepOutcome> {
    const { layer, base: stampsFile } = store.paths(draft.id);
    const part = paths === undefined ? {} : { paths };
    const folders = { base: draft.folder, layer, undoFolder };
    const stamps = await readStamps(stampsFile);
    if (!(await isFolder(draft.folder))) return { type: "folder-missing" };
    const { keepEffects } = await import("../effects/keep-effects.ts");
    return await keepLock(() => keepEffects({ ...folders, expectedHash, stamps, ...part, id: keepId(draft) }, never));
  }

  return { keep };
}

/** The id is the same after a crash, but differs after the next merged call. */
export function keepId({ id, changedAt }: DraftRecord): string {
  return `${id}-${changedAt.toString(36)}`;
}

export function draftOfKeep(keepId: string): string {
  return keepId.slice(0, keepId.lastIndexOf("-"));
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(ifMissing(undefined)))?.isDirectory() === true;
}

export function keepProblem(outcome: Exclude<KeepOutcome, { type: "kept" }>): string {
  switch (outcome.type) {
    case "not-recorded":
      return `Nothing was kept: ${outcome.reason}.`;
    case "folder-missing":
      return "Nothing was kept: the folder no longer exists.";
    case "failed":
      return `Nothing was kept: ${outcome.path} could not be written (${outcome.reason}).`;
    case "too-large":
      return `Nothing was kept. ${tooLargeReason(outcome)}`;
    case "changed": {
      const { paths } = outcome;
      const what = paths.length === 0 ? "some of these files" : namedPaths(paths);
      return `Nothing was kept: ${what} ${paths.length === 1 ? "has" : "have"} changed in the meantime.`;
    }
    default:
      return outcome satisfies never;
  }
}

export function namedPaths(paths: readonly string[]): string {
  const named = paths.slice(0, maxNamedPaths).join(", ");
  const more = paths.length - maxNamedPaths;
  return more > 0 ? `${named} and ${formatNumber(more)} more` : named;
}

export function folderPhrase({ kind, folder }: Pick<DraftRecord, "kind" | "folder">): string {
  return kind === "own" ? "the working folder" : basename(folder);
}

export function filesText(count: number): string {
  return count === 1 ? "1 file" : `${formatNumber(count)} files`;
}
