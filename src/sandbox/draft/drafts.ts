/** Combines calls, jobs, decisions and undo into drafts. To change or settle one, hold its lock (draft-locks.ts). */
import { randomBytes } from "node:crypto";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../lib/log.ts";
import { never } from "../../lib/never.ts";
import type { Repeats } from "../../ports/access.ts";
import type { ChangeApprovals, ChangesActions } from "../../ports/approval.ts";
import type { Audit } from "../../ports/audit.ts";
import type { ApprovalCard } from "../../ports/card.ts";
import type { Bus, Lease, Leases } from "../../ports/cluster.ts";
import type { DraftRecord, Drafts } from "../../ports/draft.ts";
import type { Events } from "../../ports/events.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Sandbox } from "../../ports/sandbox.ts";
import type { ToolSpec } from "../../ports/tool.ts";
import type { TurnRecord } from "../../ports/turn.ts";
import { createBoundStore } from "../bound/bound-files.ts";
import { createFileBinder } from "../bound/file-binder.ts";
import type { ReadCommandFiles } from "../bound/find-bound.ts";
import { listEffects } from "../effects/list-effects.ts";
import { recoverKeeps } from "../effects/recover-keeps.ts";
import { createUndoJournal } from "../effects/undo-journal.ts";
import type { Egress } from "../egress/egress.ts";
import { type CallRunnerOptions, createCallRunner } from "./call-runner.ts";
import type { ChangePolicy } from "./change-policy.ts";
import { openDraftsFolder } from "./draft-folders.ts";
import { createDraftLocks, draftLockName } from "./draft-locks.ts";
import { createDraftStore, maxUndecidedMs } from "./draft-store.ts";
import { createJobs, jobCallKey, jobsLeaseName } from "./jobs.ts";
import { createDraftKeeper, type KeepLock } from "./keep-draft.ts";
import { removeLeftovers } from "./leftovers.ts";
import { createCallMerger } from "./merge-call.ts";
import { runAgain } from "./run-again.ts";
import type { Settler } from "./settle.ts";
import { startJobCommand } from "./start-job.ts";
import { createUndo } from "./undo-changes.ts";

export interface DraftsOptions
  extends Pick<CallRunnerOptions, "isGiven" | "exposed" | "fileOrigins" | "outputsFolder" | "environment"> {
  ledger: Ledger;
  leases: Leases;
  bus: Bus;
  events: Events;
  audit: Audit;
  sandbox: Sandbox;
  egress: Egress;
  approvals: ChangeApprovals;
  policy: ChangePolicy;
  undo: { maxAgeMs: number; maxBytes: number };
  folder: string;
  /** Why commands must not run without a sandbox. If absent, they may run after an owner approves. */
  unconfinedRefusal?: string | undefined;
  show(card: ApprovalCard): Promise<void>;
  isTainted(turn: TurnRecord): boolean;
  repeats: Repeats;
  redact(text: string): string;
  /** The tool of a call, which tells what the call may open. */
  specOf(conversationId: string, tool: string): ToolSpec | undefined;
  readCommandFiles: ReadCommandFiles;
  log: Log;
}

const maxNamedPaths = 20;

export function createDrafts(options: DraftsOptions): Drafts & ChangesActions {
  const { ledger, leases, bus, events, audit, approvals, log } = options;
  const openDrafts = openDraftsFolder(options.folder);
  const store = createDraftStore(ledger, openDrafts);
  const locks = createDraftLocks(leases);
  const undoFolder = join(options.folder, "undo");
  const undo = createUndoJournal(undoFolder, options.undo);
  /** Only one process at a time may keep, undo or recover changes. */
  const keepLock: KeepLock = (work) => locks.use("keeps", "exclusive", never, work);
  const merger = createCallMerger({
    ...{ store, fileOrigins: options.fileOrigins, events, redact: options.redact, log },
  });

  const jobsOwner = randomBytes(8).toString("hex");
  let jobsLease: Promise<Lease | undefined> | undefined;

  const jobs = createJobs({
    folder: join(options.folder, "jobs", jobsOwner),
    async claim() {
      jobsLease ??= leases.acquire(jobsLeaseName(jobsOwner));
      await jobsLease;
    },
    start: (start) => startJobCommand(options, start),
    log,
    async merge({ call, draft, jobId, ...written }) {
      const { turnId } = call.scope;
      await locks.use(draftLockName(draft), "exclusive", never, async () => {
        const current = (await store.active(draft.conversationId, draft.folder)) ?? store.plan(draft);
        const attempt = { isOk: true, text: "", files: [], isRetryable: false };
        await merger.merge({ ...written, draft: current, callKey: jobCallKey(jobId), turnId, attempt }, never);
      });
      wake(draft.conversationId, turnId);
    },
  });

  const boundStore = createBoundStore(join(options.folder, "bound"), options.readCommandFiles, async () => {
    const { holds, layers } = await options.sandbox.probe();
    return holds && layers === "overlay";
  });
  const binder = createFileBinder({ ...options, store, locks, boundStore });
  const runner = createCallRunner({
    ...options,
    ...{ store, locks, merger, boundStore, unconfinedRefusal: options.unconfinedRefusal },
    startJob: (request) => jobs.start(request, request.draft && store.paths(request.draft.id).layer),
    jobsFor: jobs.forCall,
  });
  const keeper = createDraftKeeper({ store, undoFolder, keepLock, events, audit, log });
  let loading: Promise<Settler> | undefined;
  const undoChanges = createUndo({ ledger, undo, keepLock, endKept, approvals, events, audit });

  /** Loaded with the first draft that ends, because a start should not wait for it. */
  function settlerOf(): Promise<Settler> {
    loading ??= import("./settle.ts").then(({ createSettler }) =>
      createSettler({ ...options, undoMs: options.undo.maxAgeMs, store, merger, keeper, undo }),
    );
    return loading;
  }

  function wake(conversationId: string, turnId: string): void {
    bus.publish({ type: "work", conversationId, turnId });
  }

  async function settleLocked(draft: DraftRecord, work: (now: DraftRecord) => Promise<void>): Promise<void> {
    await locks.use(draftLockName(draft), "exclusive", never, async () => {
      const now = await store.active(draft.conversationId, draft.folder);
      if (now !== undefined) await work(now);
    });
  }

  const discardLocked = (draft: DraftRecord) =>
    settleLocked(draft, async (now) => (await settlerOf()).discard(now, undefined));

  async function endKept(draftId: string, undoId: string): Promise<void> {
    const draft = await ledger.get("draft", draftId);
    if (draft?.state !== "open") return;
    await settleLocked(draft.body, async (now) => {
      if (now.id !== draftId) return;
      await store.end(draftId, "kept", (body) => ({ ...body, undoId }));
      await store.remove(draftId);
    });
  }

  /** True if a turn of the draft has not ended, so the draft must not be settled yet. */
  async function isInUse({ turnIds }: DraftRecord): Promise<boolean> {
    const turns = await Promise.all(turnIds.map((id) => ledger.get("turn", id)));
    return turns.some((turn) => turn?.state === "running" || turn?.state === "parked");
  }

  async function isDue(draft: DraftRecord, now: number): Promise<boolean> {
    if (draft.approvalId !== undefined && draft.askedAt === draft.changedAt) {
      const approval = await ledger.get("approval", draft.approvalId);
      return approval === undefined || approval.state !== "open";
    }
    if (draft.askedAt !== draft.changedAt) return !(await isInUse(draft));
    return now - draft.changedAt > maxUndecidedMs;
  }

  async function settleDraft(draft: DraftRecord): Promise<void> {
    const settler = await settlerOf();
    if (draft.approvalId !== undefined && draft.askedAt === draft.changedAt) return await settler.applyDecision(draft);
    if (draft.askedAt === draft.changedAt) {
      if (Date.now() - draft.changedAt > maxUndecidedMs) await settler.discard(draft, undefined);
      return;
    }
    const turn = await ledger.get("turn", draft.turnIds.at(-1) ?? "");
    if (turn === undefined) return await settler.discard(draft, undefined);
    if (await isInUse(draft)) return;
    await settler.settle(draft, turn.body, turn.state === "failed" || turn.state === "stopped" ? turn.state : "done");
  }

  return {
    ...binder,
    runCall: runner.run,
    async settle(turn, end) {
      for (const draft of await store.listOpen(turn.conversationId))
        await settleLocked(draft, async (now) => (await settlerOf()).settle(now, turn, end));
    },
    async settleDecided(turnId) {
      const turn = await ledger.get("turn", turnId);
      if (turn === undefined) return;
      for (const draft of await store.listOpen(turn.body.conversationId)) await settleLocked(draft, settleDraft);
    },
    async news({ id, conversationId }) {
      const sentences: string[] = [];
      for (const { id: draftId, state, body } of await store.untold(conversationId, id)) {
        await ledger.transition("draft", draftId, [state], state, (draft) => ({ ...draft, toldIn: id }));
        sentences.push(body.ending ?? "");
      }
      return sentences;
    },
    async hides(conversationId, workingFolder, folder) {
      const draft = await store.active(conversationId, workingFolder);
      if (draft === undefined) return false;
      const found = await lstat(join(store.paths(draft.id).layer, folder)).catch(() => undefined);
      return found !== undefined && !found.isDirectory();
    },
    async changedPaths(conversationId) {
      const paths: string[] = [];
      for (const draft of await store.listOpen(conversationId)) {
        const effects = await listEffects({ base: draft.folder, layer: store.paths(draft.id).layer }, never);
        if (effects.type === "effects") paths.push(...effects.effects.slice(0, maxNamedPaths).map(({ path }) => path));
      }
      return paths;
    },
    async undoNewest(scope, by) {
      const newest = await undoChanges.newest(scope);
      if (newest === undefined) return { accepted: false, text: "There is nothing to undo here." };
      if (!(await approvals.mayTakeBack(newest, by)))
        return { accepted: false, text: "Only the person who asked for these changes or an approver can undo them." };
      return await undoChanges.undo(newest, by);
    },
    async sweep(now) {
      for (const draft of await store.listOpen()) {
        if (!(await isDue(draft, now))) continue;
        const turnId = draft.turnIds.at(-1);
        if (turnId !== undefined) wake(draft.conversationId, turnId);
      }
      await undoChanges.prune(now);
      await boundStore.sweep(ledger, now);
      await removeLeftovers({
        ...{ store, leases },
        drafts: openDrafts,
        jobs: join(options.folder, "jobs"),
      });
    },
    async diff(record) {
      const { readDraftDiff } = await import("./draft-diff.ts");
      return await readDraftDiff(ledger, options.folder, record);
    },
    undo: (_record, approvalId, by) => undoChanges.undo(approvalId, by),
    runAgain: (record, approvalId, by) => runAgain({ ...options, discardDraft: discardLocked }, record, approvalId, by),
    async recover() {
      for (const found of await keepLock(() => recoverKeeps(undoFolder))) {
        if (found.outcome !== "completed")
          log.error({ ...found }, "a crash interrupted a keep or an undo, and it could not be completed");
      }
      await undoChanges.recover();
    },
    async close() {
      await jobs.close();
      await (await jobsLease)?.release();
    },
  };
}
