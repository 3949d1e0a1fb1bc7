/**
 * One call over a draft:
 *
 *   1. a call that only reads gets the real folder as long as there is no draft; every other gets a view
 *   2. the call works in its view, on a layer of its own
 *   3. when it has ended, its plan and its result are written to disk, the draft is touched in the ledger, and then the
 *      layer is merged; a crash in between is made good by whoever uses the draft next
 *
 * A call that was cut off leaves nothing: its layer is thrown away.
 */
import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Audit } from "../../ports/audit.ts";
import type { CallFolder, DraftRecord, FolderCall, JobSummary, PluginJobs } from "../../ports/draft.ts";
import type { Events } from "../../ports/events.ts";
import type { FileOrigins, SeenFolder } from "../../ports/file-origins.ts";
import type { Scope } from "../../ports/message.ts";
import { distinctOrigins, type Origin, originsOfHosts, untrustedFor } from "../../ports/origin.ts";
import type { CommandEnd, Sandbox, View } from "../../ports/sandbox.ts";
import type { ToolAttempt } from "../../ports/tool.ts";
import { type TooLarge, tooLargeReason } from "../effects/limits.ts";
import { applyMerge } from "../effects/merge-layer.ts";
import { planMerge } from "../effects/merge-plan.ts";
import { discardLayer } from "../effects/remove-tree.ts";
import type { Egress } from "../egress/egress.ts";
import { clockOf, noteBase } from "./base-state.ts";
import { createUnconfinedCommands, createViewCommands, openSession, placeOf, startInView } from "./commands.ts";
import { type DraftLocks, lockNameOf } from "./draft-locks.ts";
import type { DraftStore } from "./draft-store.ts";

export interface CallRunnerOptions {
  store: DraftStore;
  locks: DraftLocks;
  sandbox: Sandbox;
  /** Whether the folder is one that the configuration names. */
  isGiven(folder: string): boolean;
  /** Why no command runs without a sandbox; absent: one does, once an owner has approved it. */
  unconfinedRefusal: string | undefined;
  /** Folders that commands may read, and where others appear inside. */
  exposed(call: Pick<FolderCall, "scope" | "usesOutputs">): {
    readable: string[];
    mounts: { from: string; at: string }[];
  };
  fileOrigins: FileOrigins;
  /** Where outputs are kept that are too long for the model. */
  outputsFolder(scope: Scope): string;
  egress: Egress;
  events: Events;
  audit: Audit;
  /** Added to what every command gets. */
  environment: Readonly<Record<string, string>>;
  /** `draft` absent: without a sandbox. */
  startJob(start: {
    call: FolderCall;
    draft: DraftRecord | undefined;
    text: string;
    origins: Origin[];
  }): Promise<JobSummary>;
  /** `onRead` hears where the texts come from that the jobs give. */
  jobsFor(call: FolderCall, onRead: (origins: readonly Origin[]) => void): PluginJobs;
  /** What is kept on disk holds no secret that people configured. */
  redact(text: string): string;
  log: Log;
}

export interface CallRunner {
  run(call: FolderCall, signal: AbortSignal, work: (folder: CallFolder) => Promise<ToolAttempt>): Promise<ToolAttempt>;
  /** Merges what a view wrote. Undefined when it changed nothing; the draft as it is then. Rejects over the limits. */
  join(joining: Joining, signal: AbortSignal): Promise<DraftRecord | undefined>;
  /** Applies what calls of a process that died had joined. */
  finishPending(draft: DraftRecord): Promise<void>;
}

export interface Joining {
  draft: DraftRecord;
  view: Pick<View, "merged" | "upper">;
  /** The layer that the view was opened over, and the folder it was given for what it writes. */
  over: string;
  scratch: string;
  /** From `clockOf`, before the view was opened. */
  since: string;
  callKey: string;
  turnId: string;
  attempt: ToolAttempt;
  /** Of what it wrote. */
  origins: readonly Origin[];
}

export function createCallRunner(options: CallRunnerOptions): CallRunner {
  const { store, locks, sandbox, log } = options;

  async function run(
    call: FolderCall,
    signal: AbortSignal,
    work: (folder: CallFolder) => Promise<ToolAttempt>,
  ): Promise<ToolAttempt> {
    const { scope, use } = call;
    const heard: Origin[] = [];
    const jobs = options.jobsFor(call, (origins) => heard.push(...origins));
    if (use === "none") return withOrigins(await work({ path: scope.workingFolder, jobs }), heard);
    const folder = await realpath(scope.workingFolder);
    if (scope.isUnconfined === true || !(await sandbox.probe()).holds) {
      // Judged when there was a sandbox, as before a restart: nobody was asked.
      if (use === "write" && scope.isUnconfined !== true) return sandboxGone;
      const read = await originsRead(call, { root: folder, seen: folder });
      const origins = originsWritten(call, read);
      const startJob = (text: string) => options.startJob({ call, draft: undefined, text, origins });
      const commands = createUnconfinedCommands(folder, startJob, options.unconfinedRefusal);
      return withOrigins(await work({ path: folder, jobs, ...(use === "write" ? { commands } : {}) }), read);
    }
    const lockName = lockNameOf({ conversationId: scope.conversationId, folder });
    const mode = use === "read" ? "shared" : "exclusive";
    return await locks.use(lockName, mode, signal, async () => {
      const active = await store.active(scope.conversationId, folder);
      if (use === "read" && active === undefined) {
        const read = await originsRead(call, { root: folder, seen: folder });
        return withOrigins(await work({ path: folder, jobs }), read);
      }
      const draft = active ?? newDraft(call, folder);
      if (use === "write" && active !== undefined) await finishPending(draft);
      const earlier = await store.joined(draft.id, keyOf(call));
      return earlier?.attempt ?? (await runInView(call, draft, signal, work));
    });
  }

  /** Where the texts come from that the call can read besides its own arguments. */
  async function originsRead(call: FolderCall, folder: SeenFolder): Promise<Origin[]> {
    const { path, usesOutputs, network } = call;
    const outputs = /^\/outputs\/+(.+)$/s.exec(path ?? "")?.[1];
    const isOutput = path !== undefined && /^\/outputs(?:\/|$)/.test(path);
    const [files, kept] = await Promise.all([
      isOutput ? [] : options.fileOrigins.read(folder, path),
      usesOutputs ? readOutputs(options.outputsFolder(call.scope.scope), outputs) : [],
    ]);
    return distinctOrigins([...files, ...kept, ...originsOfHosts(network)]);
  }

  async function readOutputs(root: string, path: string | undefined): Promise<Origin[]> {
    const isThere = await realpath(root).catch(() => undefined);
    return isThere === undefined ? [] : await options.fileOrigins.read({ root, seen: isThere }, path);
  }

  function newDraft({ scope }: FolderCall, folder: string): DraftRecord {
    const { conversationId } = scope;
    const [platform = ""] = conversationId.split(":", 1);
    const kind = options.isGiven(folder) ? "given" : "own";
    return store.plan({ platform, conversationId, scope: scope.scope, folder, kind });
  }

  async function runInView(
    call: FolderCall,
    draft: DraftRecord,
    signal: AbortSignal,
    work: (folder: CallFolder) => Promise<ToolAttempt>,
  ): Promise<ToolAttempt> {
    const { layer, scratch: scratchFolder } = store.places(draft.id);
    const scratch = join(scratchFolder, keyOf(call));
    await discardLayer(scratch);
    await mkdir(scratch, { recursive: true });
    const since = await clockOf(scratch);
    await mkdir(layer, { recursive: true });
    const session = await openSession(options, call.network, placeOf(call), signal);
    const { readable, mounts } = options.exposed(call);
    const places = { folder: draft.folder, layers: [layer], scratch, readable };
    const view = await sandbox.open(
      { ...places, mounts: [...mounts, ...(call.mounts ?? []), ...(session?.mounts ?? [])] },
      signal,
    );
    let commandEnd: CommandEnd | undefined;
    const noteEnd = (end: CommandEnd) => {
      commandEnd = end;
    };
    try {
      const read = await originsRead(call, { root: draft.folder, seen: view.merged });
      const origins = originsWritten(call, read);
      const startJob = (text: string) => options.startJob({ call, draft, text, origins });
      const commands = createViewCommands({ view, session, environment: options.environment, startJob, noteEnd });
      const runInside: CallFolder["runInside"] = (text, env, runSignal) =>
        startInView({ view, session, environment: { ...options.environment, ...env } }, text, runSignal);
      const attempt = withOrigins(
        await work({ path: view.merged, runInside, ...(call.use === "write" ? { commands } : {}) }),
        read,
      );
      if (call.use === "read" || wasCutOff(attempt, commandEnd) || signal.aborted) return attempt;
      return await joined(call, draft, { view, over: layer, scratch, since }, attempt, signal);
    } finally {
      await session?.close();
      await view.close();
      // What has joined only in part is still taken from there, by whoever uses the draft next.
      const isPending = (await store.joined(draft.id, keyOf(call)))?.plan !== undefined;
      if (!isPending) await discardLayer(scratch);
      if ((await store.active(draft.conversationId, draft.folder))?.id !== draft.id) await store.remove(draft.id);
    }
  }

  async function joined(
    call: FolderCall,
    draft: DraftRecord,
    opened: Pick<Joining, "view" | "over" | "scratch" | "since">,
    attempt: ToolAttempt,
    signal: AbortSignal,
  ): Promise<ToolAttempt> {
    const { turnId } = call.scope;
    try {
      const origins = originsWritten(call, attempt.origins ?? []);
      await joinDraft({ draft, ...opened, callKey: keyOf(call), turnId, attempt, origins }, signal);
      return (await store.joined(draft.id, keyOf(call)))?.attempt ?? attempt;
    } catch (thrown) {
      if (!(thrown instanceof RemoraError) || thrown.code !== "draft.too-large") throw thrown;
      return { ...attempt, isOk: false, isAnswer: true, text: `${attempt.text}\n\n${thrown.message}` };
    }
  }

  async function joinDraft(joining: Joining, signal: AbortSignal): Promise<DraftRecord | undefined> {
    const { draft, view, over, since, callKey, turnId, attempt } = joining;
    // The view's path ends in a link of the system's, and a folder is never opened through a link.
    const folders = { merged: `${view.merged}/.`, upper: view.upper, base: draft.folder, layer: over };
    const plan = await planMerge(folders, signal);
    if (plan.type === "too-large") throw tooLarge(plan);
    if (plan.entries.length === 0) return undefined;
    const written = plan.entries.filter((entry) => entry.action === "write" && entry.type === "file");
    // Before anything reads them: a crash in between leaves marks of contents that are nowhere.
    const seen = { root: draft.folder, seen: view.merged };
    await options.fileOrigins.mark(
      seen,
      written.map(({ path }) => path),
      joining.origins,
    );
    const result = withIgnored({ ...attempt, text: options.redact(attempt.text) }, plan.ignored.length);
    const call = { attempt: result, turnId, since, joinedAt: Date.now() };
    await store.keepJoined(draft.id, callKey, { ...call, plan, from: view.upper ?? join(joining.scratch, "copy") });
    const { id: draftId, conversationId } = draft;
    const files = plan.entries.length;
    options.events.emit("tool.changed", { turnId, conversationId, jobId: callKey, draftId, files });
    return await apply(draft, callKey);
  }

  async function apply(draft: DraftRecord, callKey: string): Promise<DraftRecord | undefined> {
    const call = await store.joined(draft.id, callKey);
    if (call?.plan === undefined || call.from === undefined) return draft;
    const touched = await store.touch(draft, (body) => ({
      ...body,
      turnIds: [...new Set([...body.turnIds, call.turnId])],
      changedAt: Math.max(Date.now(), body.changedAt + 1),
    }));
    if (touched === undefined) return undefined;
    const { layer } = store.places(draft.id);
    await noteBase(store.places(draft.id).base, draft.folder, call.plan, call.since);
    await applyMerge(call.plan, { from: call.from, base: draft.folder, layer });
    const { plan: _plan, from: _from, ...rest } = call;
    await store.keepJoined(draft.id, callKey, rest);
    return touched;
  }

  async function finishPending(draft: DraftRecord): Promise<void> {
    for (const { callKey } of await store.unfinished(draft.id)) {
      await apply(draft, callKey).catch((thrown: unknown) => {
        log.error(
          { draftId: draft.id, callKey, error: messageOf(thrown) },
          "changes of a call could not join the draft",
        );
        throw thrown;
      });
    }
  }

  return { run, join: joinDraft, finishPending };
}

const sandboxGone: ToolAttempt = {
  isOk: false,
  isAnswer: true,
  text: "Not run: the sandbox does not work any more. Make the call again, and a person will be asked.",
  files: [],
  isRetryable: false,
};

function withOrigins(attempt: ToolAttempt, origins: readonly Origin[]): ToolAttempt {
  return { ...attempt, origins: distinctOrigins([...(attempt.origins ?? []), ...origins]) };
}

/** What a call writes holds what its prompt held, and what it has read itself. */
function originsWritten({ scope }: FolderCall, read: readonly Origin[]): Origin[] {
  return untrustedFor([...(scope.untrusted ?? []), ...read], scope.requester.id);
}

/** A job id is safe as a file name only in parts. */
function keyOf({ callId, scope }: FolderCall): string {
  return encodeURIComponent(`${scope.turnId}-${callId}`).replace(/^\.+/, "_");
}

/** What failed without being an answer may have stopped anywhere. */
function wasCutOff(attempt: ToolAttempt, end: CommandEnd | undefined): boolean {
  if (end !== undefined) return end.exitCode === undefined;
  return !attempt.isOk && attempt.isAnswer !== true;
}

function withIgnored(attempt: ToolAttempt, count: number): ToolAttempt {
  if (count === 0) return attempt;
  const what = count === 1 ? "A socket, pipe or device was" : `${count} sockets, pipes or devices were`;
  return { ...attempt, text: `${attempt.text}\n\n(${what} not kept: a draft holds files, folders and links only.)` };
}

function tooLarge(found: TooLarge): RemoraError {
  return new RemoraError({
    code: "draft.too-large",
    place: "draft",
    message: `Nothing of what this call changed was kept: ${tooLargeReason(found)} ${adviceFor(found)}`,
  });
}

function adviceFor({ limit }: TooLarge): string {
  return limit === "maxDepth" ? "Put the files less deep." : "Work on fewer files at a time.";
}
