/** Runs background jobs over snapshots of the draft. Merges a job's changes when it ends, unless it was stopped. */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { never } from "../../lib/never.ts";
import { shorten } from "../../lib/text/shorten.ts";
import type { DraftRecord, FolderCall, JobSummary, PluginJobs } from "../../ports/draft.ts";
import { type Origin, viaStore } from "../../ports/origin.ts";
import type { RunningCommand, View } from "../../ports/sandbox.ts";
import type { FrozenFiles } from "../bound/bound-files.ts";
import { removeTree } from "../effects/remove-tree.ts";
import { snapshotLayer } from "../effects/snapshot-layer.ts";
import { fileSystemTime } from "./base-state.ts";
import { jobEndText, readJobLog, writeJobLog } from "./job-log.ts";
import type { CallMerge } from "./merge-call.ts";

export interface JobsOptions {
  /** Used only by this process. Each job has its own subfolder. */
  folder: string;
  /** Marks the folder as in use. May be called again. */
  claim(): Promise<void>;
  start(start: JobStart): Promise<StartedJob>;
  merge(job: JobMerge): Promise<void>;
  log: Log;
}

export interface JobMerge
  extends Pick<CallMerge, "draft" | "view" | "over" | "scratch" | "since" | "stale" | "origins"> {
  jobId: string;
  call: FolderCall;
}

export interface JobRequest {
  call: FolderCall;
  draft: DraftRecord | undefined;
  /** The files that the call was approved with. */
  frozen: FrozenFiles;
  text: string;
  /** Origins of the command and of everything it can read. The log and the written files get the same origins. */
  origins: Origin[];
}

export interface JobStart extends Omit<JobRequest, "origins"> {
  layer: string;
  scratch: string;
}

export interface StartedJob {
  running: RunningCommand;
  view: View | undefined;
  /** Must not reject. */
  close(): Promise<void>;
}

export interface Jobs {
  /** `layer` is the draft's layer, or undefined without a sandbox. The caller must hold the draft's lock. */
  start(request: JobRequest, layer: string | undefined): Promise<JobSummary>;
  /** Gives a call access to its conversation's jobs. `onRead` receives the origins of everything that they return. */
  forCall(call: FolderCall, onRead: (origins: readonly Origin[]) => void): PluginJobs;
  close(): Promise<void>;
}

interface Job {
  id: string;
  call: FolderCall;
  command: string;
  origins: Origin[];
  logFile: string;
  startedAt: number;
  since: string;
  stale: FrozenFiles["stale"];
  started: StartedJob;
  ending: string | undefined;
  /** A stopped job's changes must be discarded. */
  isStopped: boolean;
  ended: Promise<void>;
}

const maxJobsPerConversation = 3;
const maxJobsPerPerson = 4;
const maxJobs = 16;
const maxRememberedJobs = 50;
const maxCommandCharacters = 200;

export function jobsLeaseName(owner: string): string {
  return `jobs:${owner}`;
}

export function jobCallKey(jobId: string): string {
  return `job-${jobId}`;
}

export function createJobs(options: JobsOptions): Jobs {
  const jobs = new Map<string, Job>();
  const starting = new Set<FolderCall>();

  /** Jobs that are being started count too, because many calls can arrive before the first job runs. */
  function refuseAtLimits({ scope }: FolderCall): void {
    const running = [...jobs.values()].filter((job) => job.ending === undefined);
    const calls = [...running.map(({ call }) => call), ...starting];
    const inConversation = ({ scope: { conversationId } }: FolderCall) => conversationId === scope.conversationId;
    const ofPerson = calls.filter((call) => call.scope.requester.id === scope.requester.id);
    if (calls.filter(inConversation).length >= maxJobsPerConversation) {
      const lines = running.filter(({ call }) => inConversation(call)).map((job) => jobLine(jobSummary(job)));
      throw tooMany(
        `${maxJobsPerConversation} jobs of this conversation are already running. Wait for one to end, or stop one with shell_jobs.\n${lines.join("\n")}`,
      );
    }
    if (ofPerson.length >= maxJobsPerPerson)
      throw tooMany(
        `${scope.requester.name} already has ${maxJobsPerPerson} jobs running, in this and other conversations. Wait for one to end.`,
      );
    if (calls.length >= maxJobs)
      throw tooMany(`${maxJobs} jobs are already running, which is the limit. Try again later.`);
  }

  async function forgetOld(): Promise<void> {
    const ended = [...jobs.values()].filter((job) => job.ending !== undefined);
    for (const job of ended.slice(0, Math.max(0, ended.length - maxRememberedJobs))) {
      jobs.delete(job.id);
      await removeTree(join(options.folder, job.id));
    }
  }

  async function start(request: JobRequest, layer: string | undefined): Promise<JobSummary> {
    refuseAtLimits(request.call);
    starting.add(request.call);
    try {
      return jobSummary(await begin(request, layer));
    } finally {
      starting.delete(request.call);
    }
  }

  async function begin({ call, draft, frozen, text, origins }: JobRequest, layer: string | undefined): Promise<Job> {
    await options.claim();
    const id = randomBytes(4).toString("hex");
    const home = join(options.folder, id);
    const [snapshot, scratch] = [join(home, "layer"), join(home, "scratch")];
    await mkdir(scratch, { recursive: true });
    const since = await fileSystemTime(scratch);
    if (layer === undefined) await mkdir(snapshot);
    else await snapshotLayer(layer, snapshot, never);
    const started = await options.start({ call, draft, frozen, text, layer: snapshot, scratch });
    const job: Job = {
      ...{ id, call, command: text, origins, logFile: join(home, "log"), startedAt: Date.now(), since, started },
      stale: frozen.stale,
      ...{ ending: undefined, isStopped: false, ended: Promise.resolve() },
    };
    jobs.set(id, job);
    job.ended = follow(job, draft, snapshot).catch((thrown: unknown) => {
      job.ending ??= `failed: ${messageOf(thrown)}`;
      options.log.warn({ jobId: id, error: messageOf(thrown) }, "a background job failed");
    });
    await forgetOld();
    return job;
  }

  async function follow(job: Job, draft: DraftRecord | undefined, over: string): Promise<void> {
    const { started } = job;
    let isMerging = false;
    try {
      const end = await writeJobLog(job.logFile, started.running, (end) => jobEndText(end, job.isStopped));
      job.ending = jobEndText(end, job.isStopped);
      const { view } = started;
      if (view === undefined || draft === undefined || job.isStopped || end.exitCode === undefined) return;
      const scratch = join(options.folder, job.id, "scratch");
      const { call, since, stale, origins, id: jobId } = job;
      isMerging = true;
      await options.merge({ call, draft, view, over, scratch, since, stale, origins, jobId });
      isMerging = false;
    } finally {
      await started.close();
      // An interrupted merge still needs the files in these folders.
      for (const part of isMerging ? [] : ["layer", "scratch"]) await removeTree(join(options.folder, job.id, part));
    }
  }

  function jobsOf({ scope }: FolderCall): Job[] {
    return [...jobs.values()].filter((job) => job.call.scope.conversationId === scope.conversationId);
  }

  return {
    start,
    forCall: (call, onRead) => ({
      list: () =>
        jobsOf(call).map((job) => {
          // The command's text may come from these origins.
          onRead(viaStore(job.origins, `background job ${job.id}`));
          return jobSummary(job);
        }),
      async read(id) {
        const job = jobsOf(call).find((one) => one.id === id);
        if (job === undefined) return undefined;
        onRead(viaStore(job.origins, `background job ${id}`));
        return { job: jobSummary(job), output: await readJobLog(job.logFile) };
      },
      async stop(id) {
        const job = jobsOf(call).find((one) => one.id === id);
        if (job === undefined) return undefined;
        if (job.ending === undefined) job.isStopped = true;
        job.started.running.kill();
        await job.ended;
        return jobSummary(job);
      },
    }),
    async close() {
      for (const job of jobs.values()) {
        job.isStopped ||= job.ending === undefined;
        job.started.running.kill();
      }
      await Promise.all([...jobs.values()].map((job) => job.ended));
    },
  };
}

function jobSummary({ id, command, ending, startedAt }: Job): JobSummary {
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  const oneLine = command.replace(/\s+/g, " ").trim();
  return { id, command: shorten(oneLine, maxCommandCharacters), state: ending ?? `running for ${seconds} s` };
}

function jobLine({ id, state, command }: JobSummary): string {
  return `${id}: ${state}; ${command}`;
}

function tooMany(message: string): RemoraError {
  return new RemoraError({ code: "jobs.too-many", place: "background jobs", message });
}
