/**
 * Drafts put together: calls that run over them (call-runner.ts), jobs in the background (jobs.ts), and what becomes of them
 * (settle.ts). Everything that changes or decides a draft holds its lock (draft-locks.ts).
 */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { ApprovalCard, ApprovalRecord, ChangeApprovals, ChangesActions } from "../../ports/approval.ts";
import type { Audit } from "../../ports/audit.ts";
import type { Bus, Lease, Leases } from "../../ports/cluster.ts";
import type { DraftRecord, Drafts, FolderCall } from "../../ports/draft.ts";
import type { Events } from "../../ports/events.ts";
import type { FileOrigins } from "../../ports/file-origins.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { AnswerReceipt, Author, InboundMessage, Scope } from "../../ports/message.ts";
import type { Sandbox } from "../../ports/sandbox.ts";
import { requesterOf, type TurnRecord } from "../../ports/turn.ts";
import { listEffects } from "../effects/list-effects.ts";
import { recoverKeeps } from "../effects/recover-keeps.ts";
import { createUndoJournal } from "../effects/undo-journal.ts";
import type { Egress } from "../egress/egress.ts";
import { startUnconfined } from "../unconfined.ts";
import { createCallRunner } from "./call-runner.ts";
import type { ChangePolicy } from "./change-policy.ts";
import { openSession, placeOf, startInView } from "./commands.ts";
import { openDraftsFolder, readDraftDiff } from "./draft-diff.ts";
import { createDraftLocks, lockNameOf } from "./draft-locks.ts";
import { createDraftStore } from "./draft-store.ts";
import { createJobs, type JobStart, jobCallKey, jobsLeaseName, type StartedJob } from "./jobs.ts";
import { removeLeftovers } from "./leftovers.ts";
import { createSettler, type KeepLock } from "./settle.ts";
import { createUndo } from "./undo-changes.ts";

export interface DraftsOptions {
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
  /** Drafts, their jobs and the undo journal are kept below it. */
  folder: string;
  /** Why no command runs without a sandbox; absent: one does, once an owner has approved it. */
  unconfinedRefusal?: string | undefined;
  /** Whether the real folder is one that the configuration names. */
  isGiven(folder: string): boolean;
  exposed(call: Pick<FolderCall, "scope" | "usesOutputs">): {
    readable: string[];
    mounts: { from: string; at: string }[];
  };
  fileOrigins: FileOrigins;
  /** Where outputs are kept that are too long for the model. */
  outputsFolder(scope: Scope): string;
  /** Added to what every command gets. */
  environment: Readonly<Record<string, string>>;
  show(card: ApprovalCard): Promise<void>;
  isTainted(turn: TurnRecord): boolean;
  /** Takes in a message as if its author had written it. */
  accept(message: InboundMessage): Promise<unknown>;
  redact(text: string): string;
  log: Log;
}

const never = new AbortController().signal;
/** After that an undecided draft without a card is discarded. */
const maxUndecidedMs = 24 * 60 * 60 * 1_000;
const maxNamedPaths = 20;

export function createDrafts(options: DraftsOptions): Drafts & ChangesActions {
  const { ledger, bus, sandbox, egress, approvals, log } = options;
  const openDrafts = openDraftsFolder(options.folder);
  const store = createDraftStore(ledger, openDrafts);
  const locks = createDraftLocks(options.leases);
  const undoFolder = join(options.folder, "undo");
  const undo = createUndoJournal(undoFolder, options.undo);
  /** One keep, undo or recovery at a time over all processes: a recovery must not meddle with work under way. */
  const keepLock: KeepLock = (work) => locks.use("keeps", "exclusive", never, work);

  const jobsOwner = randomBytes(8).toString("hex");
  let jobsLease: Promise<Lease | undefined> | undefined;

  const jobs = createJobs({
    folder: join(options.folder, "jobs", jobsOwner),
    async claim() {
      jobsLease ??= options.leases.acquire(jobsLeaseName(jobsOwner));
      await jobsLease;
    },
    start: startJob,
    log,
    async join({ call, draft, view, over, scratch, since, origins, jobId }) {
      await locks.use(lockNameOf(draft), "exclusive", never, async () => {
        const current = (await store.active(draft.conversationId, draft.folder)) ?? store.plan(draft);
        const { turnId } = call.scope;
        const attempt = { isOk: true, text: "", files: [], isRetryable: false };
        await runner.join(
          { draft: current, view, over, scratch, since, callKey: jobCallKey(jobId), turnId, attempt, origins },
          never,
        );
      });
      wake(draft.conversationId, call.scope.turnId);
    },
  });

  async function startJob({ call, draft, text, layer, scratch }: JobStart): Promise<StartedJob> {
    if (draft === undefined) {
      const running = await startUnconfined(text, await realpath(call.scope.workingFolder));
      return { running, view: undefined, close: async () => running.kill() };
    }
    const session = await openSession({ egress, audit: options.audit }, call.network, placeOf(call), never);
    const { readable, mounts } = options.exposed(call);
    const places = { folder: draft.folder, layers: [layer], scratch, readable };
    const view = await sandbox.open({ ...places, mounts: [...mounts, ...(session?.mounts ?? [])] }, never);
    const close = async () => {
      await session?.close();
      await view.close();
    };
    try {
      return {
        running: await startInView({ view, session, environment: options.environment }, text, never),
        view,
        close,
      };
    } catch (thrown) {
      await close();
      throw thrown;
    }
  }

  const runner = createCallRunner({
    ...{ store, locks, sandbox, log, isGiven: options.isGiven, exposed: options.exposed, redact: options.redact },
    ...{ egress, events: options.events, audit: options.audit },
    fileOrigins: options.fileOrigins,
    outputsFolder: options.outputsFolder,
    environment: options.environment,
    unconfinedRefusal: options.unconfinedRefusal,
    startJob: (order) => jobs.start(order, order.draft && store.places(order.draft.id).layer),
    jobsFor: jobs.forCall,
  });

  const settler = createSettler({
    ...{ ledger, store, runner, undo, undoFolder, keepLock, approvals, log },
    ...{ events: options.events, audit: options.audit },
    policy: options.policy,
    show: options.show,
    isTainted: options.isTainted,
  });
  const takeBack = createUndo({
    ...{ ledger, undo, keepLock, endKept, approvals },
    ...{ events: options.events, audit: options.audit },
  });

  function wake(conversationId: string, turnId: string): void {
    bus.publish({ type: "work", conversationId, turnId });
  }

  async function settleLocked(draft: DraftRecord, work: (now: DraftRecord) => Promise<void>): Promise<void> {
    await locks.use(lockNameOf(draft), "exclusive", never, async () => {
      const now = await store.active(draft.conversationId, draft.folder);
      if (now !== undefined) await work(now);
    });
  }

  async function endKept(draftId: string, undoId: string): Promise<void> {
    const draft = await ledger.get("draft", draftId);
    if (draft?.state !== "open") return;
    await settleLocked(draft.body, async (now) => {
      if (now.id !== draftId) return;
      await store.end(draftId, "kept", (body) => ({ ...body, undoId }));
      await store.remove(draftId);
    });
  }

  /** Turns of the draft that have not ended would have it change under them. */
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
    if (draft.approvalId !== undefined && draft.askedAt === draft.changedAt) return await settler.decided(draft);
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
    runCall: runner.run,
    async settle(turn, end) {
      for (const draft of await store.listOpen(turn.conversationId))
        await settleLocked(draft, (now) => settler.settle(now, turn, end));
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
    async changedPaths(conversationId) {
      const paths: string[] = [];
      for (const draft of await store.listOpen(conversationId)) {
        const effects = await listEffects({ base: draft.folder, layer: store.places(draft.id).layer }, never);
        if (effects.type === "effects") paths.push(...effects.effects.slice(0, maxNamedPaths).map(({ path }) => path));
      }
      return paths;
    },
    async undoNewest(scope, by) {
      const newest = await takeBack.newest(scope);
      if (newest === undefined) return { accepted: false, text: "There is nothing to undo here." };
      if (!(await approvals.mayTakeBack(newest, by)))
        return { accepted: false, text: "Only the person who asked for these changes, or an approver, can undo them." };
      return await takeBack.undo(newest, by);
    },
    async sweep(now) {
      for (const draft of await store.listOpen()) {
        if (!(await isDue(draft, now))) continue;
        const turnId = draft.turnIds.at(-1);
        if (turnId !== undefined) wake(draft.conversationId, turnId);
      }
      await takeBack.prune(now);
      await removeLeftovers({
        ...{ store, leases: options.leases },
        drafts: openDrafts,
        jobs: join(options.folder, "jobs"),
      });
    },
    diff: (record) => readDraftDiff(ledger, options.folder, record),
    undo: (_record, approvalId, by) => takeBack.undo(approvalId, by),
    async runAgain(record, approvalId, by) {
      return await runAgain(record, approvalId, by);
    },
    async recover() {
      for (const found of await keepLock(() => recoverKeeps(undoFolder))) {
        if (found.outcome !== "completed") log.error({ ...found }, "changes that were being kept were cut off");
      }
      await takeBack.recover();
    },
    async close() {
      await jobs.close();
      await (await jobsLease)?.release();
    },
  };

  /** The request is worked on again from the folder as it is now; the old draft is thrown away. */
  async function runAgain(record: ApprovalRecord, approvalId: string, by: Author): Promise<AnswerReceipt> {
    const turn = await ledger.get("turn", record.turnId);
    const first = turn?.body.messages[0];
    if (turn === undefined || first === undefined)
      return { accepted: false, text: "The request is not on record any more. Ask again." };
    const draft = record.changes === undefined ? undefined : await ledger.get("draft", record.changes.draftId);
    if (draft?.state === "open") await settleLocked(draft.body, (now) => settler.discard(now, undefined));
    // The message's id is the same each time: after a crash the button may be used again.
    await options
      .accept({
        ...first,
        id: `schedule:again-${approvalId}:${record.createdAt}`,
        author: requesterOf(turn.body),
        text: turn.body.messages.map(({ text }) => text).join("\n\n"),
        attachments: turn.body.messages.flatMap(({ attachments }) => attachments),
        at: Date.now(),
      })
      .catch((thrown: unknown) => {
        log.error({ approvalId, error: messageOf(thrown) }, "a request could not be run again");
        throw thrown;
      });
    const { result } = record.changes ?? {};
    await approvals.finishChanges(approvalId, { result: `${result ?? ""} ${by.name} had it run again.`.trim() });
    return { accepted: true, text: "Working on it again." };
  }
}

/**
 * For nobody else on the machine: a layer holds what a command wrote, with setuid bits, and belongs to the user that Remora
 * runs as.
 */
export async function makeDraftFolders(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  for (const name of ["open", "undo", "jobs"]) await mkdir(join(folder, name), { recursive: true });
}
