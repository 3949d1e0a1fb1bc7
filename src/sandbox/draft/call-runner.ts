/**
 * Runs a call over a draft. A read-only call uses the real folder while there is no draft. Every other call works in a
 * view and writes to its own layer. The layer is merged when the call ends, or discarded if it was interrupted.
 */
import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { RemoraError } from "../../lib/errors.ts";
import type { Audit } from "../../ports/audit.ts";
import type { CallFolder, DraftRecord, FolderCall, JobSummary, PluginJobs } from "../../ports/draft.ts";
import { type Origin, originsOfHosts } from "../../ports/origin.ts";
import type { CommandEnd, Sandbox } from "../../ports/sandbox.ts";
import type { ToolAttempt } from "../../ports/tool.ts";
import type { BoundStore, FrozenFiles } from "../bound/bound-files.ts";
import { discardLayer } from "../effects/remove-tree.ts";
import type { Egress } from "../egress/egress.ts";
import { fileSystemTime } from "./base-state.ts";
import { type OriginSources, originsOfFiles, originsRead, originsWritten, withOrigins } from "./call-origins.ts";
import {
  createUnconfinedCommands,
  createViewCommands,
  networkRequester,
  openSession,
  startInView,
} from "./commands.ts";
import { type DraftLocks, draftLockName } from "./draft-locks.ts";
import { callKeyOf, type DraftStore } from "./draft-store.ts";
import type { CallMerge, CallMerger } from "./merge-call.ts";

export interface CallRunnerOptions extends OriginSources {
  store: DraftStore;
  locks: DraftLocks;
  merger: CallMerger;
  sandbox: Sandbox;
  boundStore: Pick<BoundStore, "changedSince" | "freeze">;
  isGiven(folder: string): boolean;
  unconfinedRefusal: string | undefined;
  exposed(call: Pick<FolderCall, "scope" | "usesOutputs">): {
    readable: string[];
    mounts: { from: string; at: string }[];
  };
  egress: Egress;
  audit: Audit;
  environment: Readonly<Record<string, string>>;
  startJob(start: {
    call: FolderCall;
    draft: DraftRecord | undefined;
    frozen: FrozenFiles;
    text: string;
    origins: Origin[];
  }): Promise<JobSummary>;
  jobsFor(call: FolderCall, onRead: (origins: readonly Origin[]) => void): PluginJobs;
}

type Work = (folder: CallFolder) => Promise<ToolAttempt>;

export interface CallRunner {
  run(call: FolderCall, signal: AbortSignal, work: Work): Promise<ToolAttempt>;
}

const nothingFrozen: FrozenFiles = { layers: [], stale: [] };
const notMerged: ReadonlySet<string> = new Set(["draft.too-large", "draft.stale"]);

export function createCallRunner(options: CallRunnerOptions): CallRunner {
  const { store, locks, merger, sandbox } = options;

  async function run(call: FolderCall, signal: AbortSignal, work: Work): Promise<ToolAttempt> {
    const { scope, use } = call;
    const jobOrigins: Origin[] = [];
    const jobs = options.jobsFor(call, (origins) => jobOrigins.push(...origins));
    if (use === "none")
      return (
        (await changedAttempt(call, undefined, false)) ??
        withOrigins(await work({ path: scope.workingFolder, jobs }), jobOrigins)
      );
    const folder = await realpath(scope.workingFolder);
    if (scope.isUnconfined === true || !(await sandbox.probe()).holds)
      return (await changedAttempt(call, undefined, false)) ?? (await runUnconfined(call, folder, jobs, work));
    const lockName = draftLockName({ conversationId: scope.conversationId, folder });
    const mode = use === "read" ? "shared" : "exclusive";
    return await locks.use(lockName, mode, signal, async () => {
      const active = await store.active(scope.conversationId, folder);
      if (use === "read" && active === undefined && scope.bound === undefined) {
        const read = await originsRead(options, call, { root: folder, seen: folder });
        return withOrigins(await work({ path: folder, jobs }), read);
      }
      const draft = active ?? newDraft(call, folder);
      if (use === "write" && active !== undefined) await merger.finishPending(draft);
      const earlier = await store.mergedCall(draft.id, callKey(call));
      if (earlier !== undefined) return earlier.attempt;
      const changed = await changedAttempt(call, active && store.paths(active.id).layer, true);
      return changed ?? (await runInView(call, draft, signal, work));
    });
  }

  /** People approved the call for its files as they were. Nothing changes them from here on: the draft is locked, or copied. */
  async function changedAttempt(
    { scope: { bound } }: FolderCall,
    layer: string | undefined,
    isFrozen: boolean,
  ): Promise<ToolAttempt | undefined> {
    const folders = { base: bound?.folder ?? "", layer };
    const changedFiles = bound && (await options.boundStore.changedSince(bound, folders, isFrozen));
    if (changedFiles === undefined) return undefined;
    const text = `Not run: ${changedFiles.join(", ")} changed after people had approved the call.`;
    return { isOk: false, isAnswer: true, text, files: [], isRetryable: false, changedFiles };
  }

  async function runUnconfined(call: FolderCall, folder: string, jobs: PluginJobs, work: Work): Promise<ToolAttempt> {
    const canWrite = call.use === "write";
    // Nobody has approved running this call unconfined, because the sandbox still worked when the gate judged it.
    if (canWrite && call.scope.isUnconfined !== true) return sandboxLost;
    const read = await originsRead(options, call, { root: folder, seen: folder });
    const origins = originsWritten(call, read);
    const startJob = (text: string) =>
      options.startJob({ call, draft: undefined, frozen: nothingFrozen, text, origins });
    const commands = createUnconfinedCommands(folder, startJob, options.unconfinedRefusal);
    return withOrigins(await work({ path: folder, jobs, ...(canWrite ? { commands } : {}) }), read);
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
    work: Work,
  ): Promise<ToolAttempt> {
    const { layer, scratch: scratchFolder } = store.paths(draft.id);
    const scratch = join(scratchFolder, callKey(call));
    await discardLayer(scratch);
    await mkdir(scratch, { recursive: true });
    const since = await fileSystemTime(scratch);
    await mkdir(layer, { recursive: true });
    const session = await openSession(options, call.network, networkRequester(call), signal);
    const { readable, mounts } = options.exposed(call);
    const { bound } = call.scope;
    const folders = { base: draft.folder, layer };
    const frozen = bound === undefined ? nothingFrozen : await options.boundStore.freeze(bound, folders);
    const layers = [...frozen.layers, layer];
    const view = await sandbox.open(
      {
        ...{ folder: draft.folder, layers, scratch, readable },
        mounts: [...mounts, ...(call.mounts ?? []), ...(session?.mounts ?? [])],
      },
      signal,
    );
    let commandEnd: CommandEnd | undefined;
    const noteEnd = (end: CommandEnd) => {
      commandEnd = end;
    };
    try {
      const files = await originsOfFiles(options, call, { root: draft.folder, seen: view.merged });
      const origins = originsWritten(call, [...files, ...originsOfHosts(call.network)]);
      const startJob = (text: string) => options.startJob({ call, draft, frozen, text, origins });
      const commands = createViewCommands({ view, session, environment: options.environment, startJob, noteEnd });
      const runInside: CallFolder["runInside"] = (text, env, runSignal) =>
        startInView({ view, session, environment: { ...options.environment, ...env } }, text, runSignal);
      const folder = { path: view.merged, runInside, ...(call.use === "write" ? { commands } : {}) };
      const done = await work(folder);
      const attempt = withOrigins(done, [...files, ...originsOfHosts(session?.answeredBy(call.network) ?? [])]);
      if (call.use === "read" || wasInterrupted(attempt, commandEnd) || signal.aborted) return attempt;
      return await merged(call, draft, { view, over: layer, scratch, since, stale: frozen.stale }, attempt, signal);
    } finally {
      await session?.close();
      await view.close();
      // A pending merge still needs the files in the scratch folder.
      const isPending = (await store.mergedCall(draft.id, callKey(call)))?.plan !== undefined;
      if (!isPending) await discardLayer(scratch);
      if ((await store.active(draft.conversationId, draft.folder))?.id !== draft.id) await store.remove(draft.id);
    }
  }

  async function merged(
    call: FolderCall,
    draft: DraftRecord,
    opened: Pick<CallMerge, "view" | "over" | "scratch" | "since" | "stale">,
    attempt: ToolAttempt,
    signal: AbortSignal,
  ): Promise<ToolAttempt> {
    const { turnId } = call.scope;
    try {
      const origins = originsWritten(call, attempt.origins ?? []);
      await merger.merge({ draft, ...opened, callKey: callKey(call), turnId, attempt, origins }, signal);
      return (await store.mergedCall(draft.id, callKey(call)))?.attempt ?? attempt;
    } catch (thrown) {
      if (!(thrown instanceof RemoraError) || !notMerged.has(thrown.code)) throw thrown;
      return { ...attempt, isOk: false, isAnswer: true, text: `${attempt.text}\n\n${thrown.message}` };
    }
  }

  return { run };
}

const sandboxLost: ToolAttempt = {
  isOk: false,
  isAnswer: true,
  text: "Not run: the sandbox no longer works. Make the call again, and a person will be asked.",
  files: [],
  isRetryable: false,
};

function callKey({ callId, scope }: FolderCall): string {
  return callKeyOf(scope.turnId, callId);
}

/** A call that failed without a result from its tool may have stopped at any point. */
function wasInterrupted(attempt: ToolAttempt, end: CommandEnd | undefined): boolean {
  if (end !== undefined) return end.exitCode === undefined;
  return !attempt.isOk && attempt.isAnswer !== true;
}
