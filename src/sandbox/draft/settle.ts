/**
 * Decides what happens to a draft when its turn ends, and again when people answer. Approve must apply exactly the
 * changes that the card shows. Every step can be repeated after a crash.
 */
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { never } from "../../lib/never.ts";
import type { ChangeApprovals, ChangesGrant, ChangesRecord } from "../../ports/approval.ts";
import type { ApprovalCard } from "../../ports/card.ts";
import type { DraftEnd, DraftRecord } from "../../ports/draft.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { requesterOf, type TurnRecord } from "../../ports/turn.ts";
import type { Effect, Effects } from "../effects/effect.ts";
import { type TooLarge, tooLargeReason } from "../effects/limits.ts";
import { listEffects } from "../effects/list-effects.ts";
import type { RawPath } from "../effects/raw-path.ts";
import type { UndoJournal } from "../effects/undo-journal.ts";
import { findAutorunFiles } from "./autorun-files.ts";
import { changedSinceRecorded } from "./base-state.ts";
import { type ChangeDecision, type ChangePolicy, decide } from "./change-policy.ts";
import { cardDiff, createWarningDiff, wholeChanges } from "./draft-diff.ts";
import { type DraftStore, maxUndecidedMs } from "./draft-store.ts";
import { grantRules } from "./grant-scope.ts";
import { type DraftKeeper, filesText, folderPhrase, keepId, keepProblem } from "./keep-draft.ts";
import { lossProblem, lostUnderGrant, shrunkSizes } from "./lost-files.ts";
import type { CallMerger } from "./merge-call.ts";
import {
  callsThatRan,
  describeChanges,
  describeKept,
  namedEffects,
  type RanCall,
  shownEffects,
} from "./shown-changes.ts";

export interface SettlerOptions {
  ledger: Ledger;
  store: DraftStore;
  merger: Pick<CallMerger, "finishPending">;
  keeper: DraftKeeper;
  undo: UndoJournal;
  policy: ChangePolicy;
  undoMs: number;
  approvals: ChangeApprovals;
  show(card: ApprovalCard): Promise<void>;
  /** True if the turn read text that somebody else may have written. Its changes can't be approved in advance. */
  isTainted(turn: TurnRecord): boolean;
  log: Log;
}

/** The caller must hold the draft's lock. */
export interface Settler {
  settle(draft: DraftRecord, turn: TurnRecord, end: DraftEnd): Promise<void>;
  /** Keeps or discards the draft according to people's answers. Does nothing while the card is open. */
  applyDecision(draft: DraftRecord): Promise<void>;
  /** If defined, `ending` tells the conversation's next turn why the draft was discarded. */
  discard(draft: DraftRecord, ending: string | undefined): Promise<void>;
}

interface FoundChanges {
  effects: Effects;
  /** Of `findAutorunFiles`. */
  autorun: ReadonlySet<RawPath>;
}

interface WhyAsked extends Omit<Extract<ChangeDecision, { type: "ask" }>, "type"> {
  /** As of `ChangesRequest`. */
  keepsUnasked: boolean;
  /** Hash of the effects that were found coverable. */
  decidedHash?: string;
}

export function createSettler(options: SettlerOptions): Settler {
  const { ledger, store, keeper, undo, approvals, policy, log } = options;

  async function settle(draft: DraftRecord, turn: TurnRecord, end: DraftEnd): Promise<void> {
    await options.merger.finishPending(draft);
    const now = (await store.active(draft.conversationId, draft.folder)) ?? draft;
    if (now.askedAt === now.changedAt) return;
    const kept = (await undo.list(now.folder)).find(({ id }) => id === keepId(now));
    if (kept !== undefined) return await reportKept(now, turn, kept.id, [], describeKept(now, kept.paths));
    const { layer, base } = store.paths(now.id);
    const effects = await listEffects({ base: now.folder, layer }, never);
    if (effects.type === "too-large") return await discardTooLarge(now, effects);
    if (effects.effects.length === 0) return await discard(now, undefined);
    const changedBase = await changedSinceRecorded(base, now.folder);
    const found: FoundChanges = { effects, autorun: findAutorunFiles(effects, now.folder, now.kind) };
    const decision = await decide({ draft: now, ...found, end, changedBase }, policy);
    if (decision.type === "keep") return await keepByRules(now, turn, found);
    const keepsUnasked = policy[now.kind] === "keep" && changedBase.length === 0;
    await ask(now, turn, end, { ...decision, keepsUnasked, decidedHash: effects.hash });
  }

  async function discardTooLarge(draft: DraftRecord, found: TooLarge): Promise<void> {
    await discard(draft, `The changes in ${folderPhrase(draft)} were not kept. ${tooLargeReason(found)}`);
  }

  /** The draft may contain changes from earlier turns, so those turns' requesters count as requesters too. */
  async function requestOf(draft: DraftRecord, turn: TurnRecord) {
    const { id: turnId, target, scope } = turn;
    const requester = requesterOf(turn);
    const turns = await Promise.all(draft.turnIds.map((id) => ledger.get("turn", id)));
    const askers = turns.flatMap((entry) => (entry === undefined ? [] : [requesterOf(entry.body).id]));
    const alsoAsked = [...new Set(askers)].filter((id) => id !== requester.id);
    return { turnId, target, scope, requester, alsoAsked };
  }

  async function keepByRules(draft: DraftRecord, turn: TurnRecord, found: FoundChanges): Promise<void> {
    const files = shownEffects(found.effects, found.autorun);
    const ran = await callsThatRan(ledger, store, draft);
    const shown = describeChanges({ draft, ...found, files, end: "done", summary: "", diff: undefined, ran });
    const result = await keeper.keep(draft, found.effects.hash);
    if (result.type === "kept") return await reportKept(draft, turn, result.undo?.id, pathsOf(files), shown);
    await ask(draft, turn, "done", { why: keepProblem(result), isCoverable: false, keepsUnasked: false });
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
      hash: keepId(draft),
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
    // Show the card before the ledger says `kept`, because after a crash in between nobody would see it.
    await show(card, draft);
    await store.end(draft.id, "kept", (body) => ({ ...body, ...undone }));
    await store.remove(draft.id);
  }

  async function ask(
    draft: DraftRecord,
    turn: TurnRecord,
    end: DraftEnd,
    { why, isCoverable, keepsUnasked, decidedHash }: WhyAsked,
  ): Promise<void> {
    const { layer } = store.paths(draft.id);
    // From here on, only what the diff was made of counts: the folder may have changed since.
    const made = await createWarningDiff(draft, layer);
    if (made.type === "too-large") return await discardTooLarge(draft, made);
    const { effects } = made;
    if (effects.effects.length === 0) return await discard(draft, undefined);
    const found: FoundChanges = { effects, autorun: findAutorunFiles(effects, draft.folder, draft.kind) };
    const diff = cardDiff(made);
    const ran = await callsThatRan(ledger, store, draft);
    const files = shownEffects(effects, found.autorun);
    const shown = describeChanges({ draft, ...found, files, end, summary: why, diff, ran });
    const changes: ChangesRecord = { draftId: draft.id, kind: "ask", hash: effects.hash, shown, paths: pathsOf(files) };
    const isGrantable = end === "done" && !options.isTainted(turn) && !(await holdsTainted(draft));
    const grant = isGrantable
      ? await grantFor(draft, found, isCoverable && effects.hash === decidedHash, ran)
      : undefined;
    const opened = await approvals.openChanges({
      ...(await requestOf(draft, turn)),
      workingFolder: draft.folder,
      changes,
      whole: wholeChanges(ran, made),
      keepsUnasked,
      expiresAt: Date.now() + maxUndecidedMs,
      undo: undoText(options.undoMs),
      ...(grant === undefined ? {} : { grant }),
    });
    if (draft.approvalId !== opened.approvalId) await replaceOlder(draft, "Continued below.");
    const { approvalId } = opened;
    const isShown = await show(opened.card, draft);
    // What was allowed in advance is kept only once its post says so. The sweep comes back to it.
    if (opened.state === "approved" && !isShown) return;
    const asked = await store.update(draft, (body) => ({ ...body, approvalId, askedAt: draft.changedAt }));
    if (opened.state !== "open") await applyDecision(asked ?? { ...draft, approvalId });
  }

  async function grantFor(
    draft: DraftRecord,
    found: FoundChanges,
    isCoverable: boolean,
    ran: readonly RanCall[],
  ): Promise<ChangesGrant | undefined> {
    const rules = grantRules(draft, found.effects, found.autorun);
    if (rules.length === 0 || !isCoverable) return rules.length === 0 ? undefined : { rules };
    const files = namedEffects(found.effects);
    const shown = describeChanges({ draft, ...found, files, end: "done", summary: "", diff: undefined, ran });
    return {
      rules,
      covers: {
        shown: { shown, paths: pathsOf(files) },
        lost: (first) => lostUnderGrant(found.effects, first),
        shrunk: shrunkSizes(found.effects),
        problem: (lost, before) => lossProblem(draft.folder, lost, { isEachFolder: true, before }),
      },
    };
  }

  /** A turn whose record was cleared counts as tainted, because it may have read anything. */
  async function holdsTainted({ turnIds }: DraftRecord): Promise<boolean> {
    const turns = await Promise.all(turnIds.map((id) => ledger.get("turn", id)));
    return turns.some((entry) => entry === undefined || options.isTainted(entry.body));
  }

  async function replaceOlder({ approvalId }: DraftRecord, reason: string): Promise<void> {
    if (approvalId !== undefined) await approvals.replaceChanges(approvalId, reason);
  }

  async function applyDecision(draft: DraftRecord): Promise<void> {
    const { approvalId = "" } = draft;
    const outcome = await approvals.redeemChanges(approvalId);
    if (outcome.type === "waiting") return;
    if (outcome.type === "discard")
      return await discard(draft, `The changes in ${folderPhrase(draft)} were not kept. ${outcome.sentence}`);
    const result = await keeper.keep(draft, outcome.hash, outcome.paths, approvalId);
    if (result.type !== "kept") {
      await approvals.finishChanges(approvalId, { result: keepProblem(result), mayRunAgain: true });
      await store.update(draft, ({ approvalId: _answered, ...body }) => body);
      return;
    }
    const { undo: entry } = result;
    const undone = entry === undefined ? {} : { undoId: entry.id };
    const rest = outcome.paths === undefined ? "" : " The other files were discarded.";
    await approvals.finishChanges(approvalId, { result: `Kept ${filesText(entry?.paths ?? 0)}.${rest}`, ...undone });
    const ending = `${outcome.by.name} approved the changes in ${folderPhrase(draft)}, and they were kept.${rest}`;
    await store.end(draft.id, "kept", (body) => ({ ...body, ...undone, ending }));
    await store.remove(draft.id);
  }

  async function discard(draft: DraftRecord, ending: string | undefined): Promise<void> {
    if (draft.approvalId !== undefined && ending === undefined) {
      await approvals.replaceChanges(draft.approvalId, "Nothing is left to keep: later work reverted these changes.");
    }
    await store.end(draft.id, "discarded", (body) => (ending === undefined ? body : { ...body, ending }));
    await store.remove(draft.id);
  }

  /** Must not throw: if the card can't be posted, the changes remain a draft and the turn continues. */
  async function show(card: ApprovalCard, { id }: DraftRecord): Promise<boolean> {
    try {
      await options.show(card);
      return true;
    } catch (thrown) {
      log.warn({ draftId: id, error: messageOf(thrown) }, "could not post a card about changes");
      return false;
    }
  }

  return { settle, applyDecision, discard };
}

function undoText(keptMs: number): string {
  const days = Math.round(keptMs / (24 * 60 * 60 * 1_000));
  if (days < 1) return "Can't be undone once it is approved.";
  return `Can be undone for ${days === 1 ? "a day" : `${days} days`}.`;
}

function pathsOf(effects: readonly Effect[]): RawPath[] {
  return effects.map(({ raw }) => raw);
}
