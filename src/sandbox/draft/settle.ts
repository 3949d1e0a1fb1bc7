/**
 * What becomes of a draft when its turn has ended, and when people have answered:
 *
 *   no effects                 the draft is removed; nobody is asked
 *   kept by the rules          they are applied at once; a small card says what changed and offers Undo
 *   asked about                a card shows them; Approve applies exactly these bytes, Deny discards them
 *
 * Every step may be repeated after a crash: applying has an id, and what it has done is found again by it.
 */
import { stat } from "node:fs/promises";
import { codeOf, messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { ApprovalCard, ChangeApprovals, ChangesRecord } from "../../ports/approval.ts";
import type { Audit } from "../../ports/audit.ts";
import type { DraftEnd, DraftRecord } from "../../ports/draft.ts";
import type { Events } from "../../ports/events.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { requesterOf, type TurnRecord } from "../../ports/turn.ts";
import { createDiff } from "../effects/create-diff.ts";
import type { Effects } from "../effects/effect.ts";
import { type KeepResult, keepEffects } from "../effects/keep-effects.ts";
import { tooLargeReason } from "../effects/limits.ts";
import { listEffects } from "../effects/list-effects.ts";
import type { UndoJournal } from "../effects/undo-journal.ts";
import { changedSinceNoted, readStamps } from "./base-state.ts";
import type { CallRunner } from "./call-runner.ts";
import { type ChangePolicy, decide } from "./change-policy.ts";
import type { DraftStore } from "./draft-store.ts";
import { describeChanges, describeKept, filesText, folderName, shownEffects } from "./shown-changes.ts";

export interface SettlerOptions {
  ledger: Ledger;
  store: DraftStore;
  runner: Pick<CallRunner, "finishPending">;
  undo: UndoJournal;
  undoFolder: string;
  keepLock: KeepLock;
  policy: ChangePolicy;
  approvals: ChangeApprovals;
  events: Events;
  audit: Audit;
  /** Posts the card below what the turn has said. */
  show(card: ApprovalCard): Promise<void>;
  /** Whether the turn has read what somebody else may have written: then nothing may be allowed in advance. */
  isTainted(turn: TurnRecord): boolean;
  log: Log;
}

/** Runs work while nobody, in any process, keeps or takes back changes. */
export type KeepLock = <T>(work: () => Promise<T>) => Promise<T>;

export interface Settler {
  /** The caller holds the draft's lock. */
  settle(draft: DraftRecord, turn: TurnRecord, end: DraftEnd): Promise<void>;
  decided(draft: DraftRecord): Promise<void>;
  discard(draft: DraftRecord, ending: string | undefined): Promise<void>;
}

const draftLifetimeMs = 24 * 60 * 60 * 1_000;
const maxCardDiffCharacters = 1_800;
const maxNamedFiles = 5;

type Kept = KeepResult | { type: "gone" } | { type: "unrecorded"; reason: string };
const folderGone: Kept = { type: "gone" };

const never = new AbortController().signal;

export function createSettler(options: SettlerOptions): Settler {
  const { ledger, store, undo, approvals, policy, log } = options;

  async function settle(draft: DraftRecord, turn: TurnRecord, end: DraftEnd): Promise<void> {
    await options.runner.finishPending(draft);
    const now = (await store.active(draft.conversationId, draft.folder)) ?? draft;
    if (now.askedAt === now.changedAt) return;
    const kept = (await undo.list(now.folder)).find(({ id }) => id === keepIdOf(now));
    if (kept !== undefined) return await reportKept(now, turn, kept.id, [], describeKept(now, kept.paths));
    const { layer, base } = store.places(now.id);
    const effects = await listEffects({ base: now.folder, layer }, never);
    if (effects.type === "too-large")
      return await discard(now, `The changes in ${folderName(now)} were not kept. ${tooLargeReason(effects)}`);
    if (effects.effects.length === 0) return await discard(now, undefined);
    const changedBase = await changedSinceNoted(base, now.folder);
    const decision = await decide({ draft: now, effects, end, changedBase }, policy);
    if (decision.type === "keep") return await keepByRules(now, turn, effects);
    await ask(now, turn, effects, end, decision.why);
  }

  /** Changes of earlier turns are in the draft as well: their askers have asked for what the card shows too. */
  async function requestOf(draft: DraftRecord, turn: TurnRecord) {
    const { id: turnId, target, scope } = turn;
    const requester = requesterOf(turn);
    const turns = await Promise.all(draft.turnIds.map((id) => ledger.get("turn", id)));
    const askers = turns.flatMap((entry) => (entry === undefined ? [] : [requesterOf(entry.body).id]));
    const alsoAsked = [...new Set(askers)].filter((id) => id !== requester.id);
    return { turnId, target, scope, requester, alsoAsked };
  }

  async function keepByRules(draft: DraftRecord, turn: TurnRecord, effects: Effects): Promise<void> {
    const shown = await describeChanges(ledger, { draft, effects, end: "done", summary: "", diff: undefined });
    const result = await keep(draft, effects.hash);
    if (result.type === "kept") return await reportKept(draft, turn, result.undo?.id, pathsOf(effects), shown);
    await ask(draft, turn, effects, "done", problemText(result));
  }

  async function reportKept(
    draft: DraftRecord,
    turn: TurnRecord,
    undoId: string | undefined,
    paths: string[],
    shown: ChangesRecord["shown"],
  ): Promise<void> {
    const { folder, id: draftId } = draft;
    const undone = undoId === undefined ? {} : { undoId };
    const changes: ChangesRecord = {
      draftId,
      kind: "report",
      hash: keepIdOf(draft),
      shown,
      paths,
      result: "Kept",
      ...undone,
    };
    const { card } = await approvals.openChanges({
      ...(await requestOf(draft, turn)),
      workingFolder: folder,
      changes,
      expiresAt: null,
    });
    await replaceOlder(draft, "Continued below.");
    // Before the ledger says that it is done: after a crash in between nobody would show it any more.
    await show(card, draft);
    await store.end(draft.id, "kept", (body) => ({ ...body, ...undone }));
    await store.remove(draft.id);
  }

  async function ask(
    draft: DraftRecord,
    turn: TurnRecord,
    effects: Effects,
    end: DraftEnd,
    why: string,
  ): Promise<void> {
    const { layer } = store.places(draft.id);
    const { text } = await createDiff({ base: draft.folder, layer }, effects, never);
    const diff = text.length <= maxCardDiffCharacters ? text : undefined;
    const shown = await describeChanges(ledger, { draft, effects, end, summary: why, diff });
    const paths = pathsOf(effects);
    const changes: ChangesRecord = { draftId: draft.id, kind: "ask", hash: effects.hash, shown, paths };
    const isGrantable = end === "done" && !options.isTainted(turn) && !(await holdsTainted(draft));
    const kind = effects.totals.deleted > 0 ? "keep changes with deletions" : "keep changes without deletions";
    const opened = await approvals.openChanges({
      ...(await requestOf(draft, turn)),
      workingFolder: draft.folder,
      changes,
      expiresAt: Date.now() + draftLifetimeMs,
      ...(isGrantable
        ? { grant: { pattern: `${kind} ${draft.folder}`, reason: `${kind} in ${folderName(draft)}` } }
        : {}),
    });
    if (draft.approvalId !== opened.approvalId) await replaceOlder(draft, "Continued below.");
    const { approvalId } = opened;
    await show(opened.card, draft);
    const asked = await store.touch(draft, (body) => ({ ...body, approvalId, askedAt: draft.changedAt }));
    if (opened.state !== "open") await decided(asked ?? { ...draft, approvalId });
  }

  /** The history may have been cleared since an earlier turn wrote to the draft. One that is gone may have read anything. */
  async function holdsTainted({ turnIds }: DraftRecord): Promise<boolean> {
    const turns = await Promise.all(turnIds.map((id) => ledger.get("turn", id)));
    return turns.some((entry) => entry === undefined || options.isTainted(entry.body));
  }

  async function replaceOlder({ approvalId }: DraftRecord, reason: string): Promise<void> {
    if (approvalId !== undefined) await approvals.replaceChanges(approvalId, reason);
  }

  async function decided(draft: DraftRecord): Promise<void> {
    const { approvalId = "" } = draft;
    const outcome = await approvals.redeemChanges(approvalId);
    if (outcome.type === "waiting") return;
    if (outcome.type === "discard")
      return await discard(draft, `The changes in ${folderName(draft)} were not kept. ${outcome.sentence}`);
    const result = await keep(draft, outcome.hash, outcome.paths, approvalId);
    if (result.type !== "kept") {
      await approvals.finishChanges(approvalId, { result: problemText(result), mayRunAgain: true });
      await store.touch(draft, ({ approvalId: _answered, ...body }) => body);
      return;
    }
    const { undo: entry } = result;
    const undone = entry === undefined ? {} : { undoId: entry.id };
    const rest = outcome.paths === undefined ? "" : " The other files were discarded.";
    await approvals.finishChanges(approvalId, { result: `Kept ${filesText(entry?.paths ?? 0)}.${rest}`, ...undone });
    const ending = `${outcome.by.name} approved the changes in ${folderName(draft)}, and they were kept.${rest}`;
    await store.end(draft.id, "kept", (body) => ({ ...body, ...undone, ending }));
    await store.remove(draft.id);
  }

  async function keep(draft: DraftRecord, expectedHash: string, paths?: string[], approvalId?: string): Promise<Kept> {
    const { id: draftId, conversationId, turnIds } = draft;
    const unrecorded = await recordKeep(draft, expectedHash, paths, approvalId);
    const result = unrecorded ?? (await apply(draft, expectedHash, paths));
    if (result.type === "kept") {
      const { id: undoId, paths: files = 0 } = result.undo ?? {};
      options.events.emit("changes.kept", {
        draftId,
        conversationId,
        turnIds,
        files,
        ...(undoId === undefined ? {} : { undoId }),
      });
    } else options.events.emit("changes.refused", { draftId, conversationId, turnIds, message: problemText(result) });
    return result;
  }

  /** Before the first file is written. When it fails, nothing is kept. */
  async function recordKeep(
    draft: DraftRecord,
    hash: string,
    paths: string[] | undefined,
    approvalId: string | undefined,
  ): Promise<Kept | undefined> {
    const { id: draftId, conversationId, folder, turnIds } = draft;
    const fields = { turnId: turnIds.at(-1) ?? "", conversationId, draftId, undoId: keepIdOf(draft), folder, hash };
    const part = { ...(paths === undefined ? {} : { paths }), ...(approvalId === undefined ? {} : { approvalId }) };
    try {
      await options.audit.record("changes.keeping", { ...fields, ...part });
      return undefined;
    } catch (thrown) {
      log.error({ draftId, error: messageOf(thrown) }, "changes were not kept, because that could not be recorded");
      return { type: "unrecorded", reason: messageOf(thrown) };
    }
  }

  async function apply(draft: DraftRecord, expectedHash: string, paths?: string[]): Promise<Kept> {
    const { layer } = store.places(draft.id);
    const id = keepIdOf(draft);
    const part = paths === undefined ? {} : { paths };
    const folders = { base: draft.folder, layer, undoFolder: options.undoFolder };
    const stamps = await readStamps(store.places(draft.id).base);
    if (!(await isThere(draft.folder))) return folderGone;
    return await options.keepLock(() => keepEffects({ ...folders, expectedHash, stamps, ...part, id }, never));
  }

  async function discard(draft: DraftRecord, ending: string | undefined): Promise<void> {
    if (draft.approvalId !== undefined && ending === undefined) {
      await approvals.replaceChanges(draft.approvalId, "Nothing is left to keep: later work took the changes back.");
    }
    await store.end(draft.id, "discarded", (body) => (ending === undefined ? body : { ...body, ending }));
    await store.remove(draft.id);
  }

  /** A card that nobody can see must not hold up the turn: the changes stay a draft, and the log says so. */
  async function show(card: ApprovalCard, { id }: DraftRecord): Promise<void> {
    await options.show(card).catch((thrown: unknown) => {
      log.warn({ draftId: id, error: messageOf(thrown) }, "a card about changes could not be posted");
    });
  }

  return { settle, decided, discard };
}

/** Of one state of the draft: the same after a crash, another once a call has joined it. */
function keepIdOf({ id, changedAt }: DraftRecord): string {
  return `${id}-${changedAt.toString(36)}`;
}

/** In the order in which the card shows them. */
function pathsOf(effects: Effects): string[] {
  return shownEffects(effects).map(({ raw }) => raw);
}

async function isThere(folder: string): Promise<boolean> {
  return await stat(folder).then(
    (found) => found.isDirectory(),
    (thrown) => {
      if (codeOf(thrown) === "ENOENT") return false;
      throw thrown;
    },
  );
}

function problemText(result: Exclude<Kept, { type: "kept" }>): string {
  switch (result.type) {
    case "unrecorded":
      return `Nothing was kept: ${result.reason}.`;
    case "gone":
      return "Nothing was kept: the folder is not there any more.";
    case "failed":
      return `Nothing was kept: ${result.path} could not be written (${result.reason}).`;
    case "too-large":
      return `Nothing was kept. ${tooLargeReason(result)}`;
    case "changed": {
      const { paths } = result;
      const what = paths.length === 0 ? "some of these files" : namedPaths(paths);
      return `Nothing was kept: ${what} ${paths.length === 1 ? "has" : "have"} changed in the meantime.`;
    }
    default:
      return result satisfies never;
  }
}

function namedPaths(paths: readonly string[]): string {
  const named = paths.slice(0, maxNamedFiles).join(", ");
  const more = paths.length - maxNamedFiles;
  return more > 0 ? `${named} and ${more.toLocaleString("en")} more` : named;
}
