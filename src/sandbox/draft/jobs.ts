/**
 * Commands in the background. A job works over a snapshot of the draft as it was when the job started; what it changed
 * joins the conversation's draft when it ends by itself. Its output goes to a log that only `read` shows.
 *
 * Jobs belong to the conversation that started them and end with the process.
 */
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { DraftRecord, FolderCall, JobSummary, PluginJobs } from "../../ports/draft.ts";
import { type Origin, viaStore } from "../../ports/origin.ts";
import type { CommandEnd, RunningCommand, View } from "../../ports/sandbox.ts";
import { removeTree } from "../effects/remove-tree.ts";
import { snapshotLayer } from "../effects/snapshot-layer.ts";
import { clockOf } from "./base-state.ts";

export interface JobsOptions {
  /** This process's alone: each job has a folder of its own below it. */
  folder: string;
  /** Marks the folder as in use, before the first job. May be called again. */
  claim(): Promise<void>;
  /** Opens a view over the snapshot and starts the command there; without a sandbox, there is no view. */
  start(start: JobStart): Promise<StartedJob>;
  /** The job has ended by itself: its changes join the draft. Rejects when they can't. */
  join(job: JobToJoin): Promise<void>;
  log: Log;
}

export interface JobToJoin {
  jobId: string;
  call: FolderCall;
  draft: DraftRecord;
  view: View;
  /** The snapshot that the view was opened over, and the folder it was given for what it writes. */
  over: string;
  scratch: string;
  /** From `clockOf`, before the view was opened. */
  since: string;
  /** Of what it wrote. */
  origins: readonly Origin[];
}

/** What a job is to be. */
export interface JobOrder {
  call: FolderCall;
  draft: DraftRecord | undefined;
  text: string;
  /** Of its command and of what it can read; its log and what it writes keep them. */
  origins: Origin[];
}

export interface JobStart {
  call: FolderCall;
  draft: DraftRecord | undefined;
  text: string;
  /** The snapshot; undefined without a sandbox. */
  layer: string;
  scratch: string;
}

export interface StartedJob {
  running: RunningCommand;
  view: View | undefined;
  /** Never rejects. */
  close(): Promise<void>;
}

export interface Jobs {
  /** `layer` is the draft's as it is now; without a sandbox there is neither. The caller holds the draft's lock. */
  start(order: JobOrder, layer: string | undefined): Promise<JobSummary>;
  /** Those of the call's conversation. `onRead` hears where the texts come from that they give. */
  forCall(call: FolderCall, onRead: (origins: readonly Origin[]) => void): PluginJobs;
  /** Ends all jobs and waits for their logs. */
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
  started: StartedJob;
  ending: string | undefined;
  /** Nothing of it is to be kept. */
  isStopped: boolean;
  ended: Promise<void>;
}

const never = new AbortController().signal;

const maxJobsPerConversation = 3;
const maxJobsPerPerson = 4;
const maxJobs = 16;
/** Ended jobs that `list` still knows; their logs stay as long. */
const maxRememberedJobs = 50;
const maxLogBytes = 16 * 1024 * 1024;
const maxReadBytes = 24 * 1024;
const maxShownCommand = 200;

/** The lease that the process holds whose jobs these are. */
export function jobsLeaseName(owner: string): string {
  return `jobs:${owner}`;
}

/** Under which a job joins the draft. */
export function jobCallKey(jobId: string): string {
  return `job-${jobId}`;
}

export function createJobs(options: JobsOptions): Jobs {
  const jobs = new Map<string, Job>();

  function refuseAtLimits({ scope }: FolderCall): void {
    const running = [...jobs.values()].filter((job) => job.ending === undefined);
    const inConversation = running.filter((job) => job.call.scope.conversationId === scope.conversationId);
    const ofPerson = running.filter((job) => job.call.scope.requester.id === scope.requester.id);
    if (inConversation.length >= maxJobsPerConversation)
      throw tooMany(
        `${maxJobsPerConversation} jobs of this conversation run already. Wait for one, or stop one with shell_jobs.\n${inConversation.map((job) => lineOf(describe(job))).join("\n")}`,
      );
    if (ofPerson.length >= maxJobsPerPerson)
      throw tooMany(
        `${scope.requester.name} has ${maxJobsPerPerson} jobs running already, in this and other conversations. Wait until one ends.`,
      );
    if (running.length >= maxJobs)
      throw tooMany(`${maxJobs} jobs run already, which is all that this machine takes. Try again later.`);
  }

  async function forgetOld(): Promise<void> {
    const ended = [...jobs.values()].filter((job) => job.ending !== undefined);
    for (const job of ended.slice(0, Math.max(0, ended.length - maxRememberedJobs))) {
      jobs.delete(job.id);
      await removeTree(join(options.folder, job.id));
    }
  }

  async function start({ call, draft, text, origins }: JobOrder, layer: string | undefined): Promise<JobSummary> {
    refuseAtLimits(call);
    await options.claim();
    const id = randomBytes(4).toString("hex");
    const home = join(options.folder, id);
    const [snapshot, scratch] = [join(home, "layer"), join(home, "scratch")];
    await mkdir(scratch, { recursive: true });
    const since = await clockOf(scratch);
    if (layer === undefined) await mkdir(snapshot);
    else await snapshotLayer(layer, snapshot, never);
    const started = await options.start({ call, draft, text, layer: snapshot, scratch });
    const job: Job = {
      ...{ id, call, command: text, origins, logFile: join(home, "log"), startedAt: Date.now(), since, started },
      ...{ ending: undefined, isStopped: false, ended: Promise.resolve() },
    };
    jobs.set(id, job);
    job.ended = follow(job, draft, snapshot).catch((thrown: unknown) => {
      job.ending ??= `failed: ${messageOf(thrown)}`;
      options.log.warn({ jobId: id, error: messageOf(thrown) }, "a background job did not end well");
    });
    await forgetOld();
    return describe(job);
  }

  async function follow(job: Job, draft: DraftRecord | undefined, over: string): Promise<void> {
    const { started } = job;
    let isJoining = false;
    try {
      const end = await writeLog(job);
      job.ending = endingOf(end, job.isStopped);
      const { view } = started;
      if (view === undefined || draft === undefined || job.isStopped || end.exitCode === undefined) return;
      const scratch = join(options.folder, job.id, "scratch");
      isJoining = true;
      const { call, since, origins, id: jobId } = job;
      await options.join({ call, draft, view, over, scratch, since, origins, jobId });
      isJoining = false;
    } finally {
      await started.close();
      // What has joined only in part is still taken from there.
      for (const part of isJoining ? [] : ["layer", "scratch"]) await removeTree(join(options.folder, job.id, part));
    }
  }

  function own({ scope }: FolderCall): Job[] {
    return [...jobs.values()].filter((job) => job.call.scope.conversationId === scope.conversationId);
  }

  return {
    start,
    forCall: (call, onRead) => ({
      list: () =>
        own(call).map((job) => {
          // Its command was written in a prompt that held them.
          onRead(viaStore(job.origins, `background job ${job.id}`));
          return describe(job);
        }),
      async read(id) {
        const job = own(call).find((one) => one.id === id);
        if (job === undefined) return undefined;
        onRead(viaStore(job.origins, `background job ${id}`));
        return { job: describe(job), output: await endOfLog(job.logFile) };
      },
      async stop(id) {
        const job = own(call).find((one) => one.id === id);
        if (job === undefined) return undefined;
        if (job.ending === undefined) job.isStopped = true;
        job.started.running.kill();
        await job.ended;
        return describe(job);
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

/** A job that writes too much is ended. */
async function writeLog(job: Job): Promise<CommandEnd> {
  const { running } = job.started;
  let size = 0;
  await using log = await open(job.logFile, "wx");
  for await (const chunk of running.output as AsyncIterable<Uint8Array>) {
    if (size > maxLogBytes) continue;
    size += chunk.length;
    if (size > maxLogBytes) running.kill();
    else await log.appendFile(chunk);
  }
  const end = await running.ended;
  const isOver = size > maxLogBytes;
  const ending = isOver ? { ...end, limit: "output" as const } : end;
  await log.appendFile(`\n[${endingOf(ending, job.isStopped)}]\n`);
  return ending;
}

async function endOfLog(file: string): Promise<string> {
  const text = await readFile(file).catch(() => Buffer.alloc(0));
  const end = new TextDecoder().decode(text.subarray(-maxReadBytes));
  return text.length > maxReadBytes
    ? `[… ${(text.length - maxReadBytes).toLocaleString("en")} earlier bytes …]\n${end}`
    : end;
}

function endingOf({ exitCode, signal, limit, message }: CommandEnd, isStopped: boolean): string {
  if (isStopped) return "stopped; nothing that it changed was kept";
  if (limit === "output") return "stopped, because it wrote more than 16 MiB; nothing that it changed was kept";
  if (limit !== undefined) return `${message} Nothing that it changed was kept.`;
  return exitCode === undefined ? `ended by ${signal ?? "an unknown signal"}` : `exit code ${exitCode}`;
}

function describe({ id, command, ending, startedAt }: Job): JobSummary {
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  const text = command.replace(/\s+/g, " ").trim();
  const shown = text.length > maxShownCommand ? `${text.slice(0, maxShownCommand).toWellFormed()}…` : text;
  return { id, command: shown, state: ending ?? `running for ${seconds} s` };
}

function lineOf({ id, state, command }: JobSummary): string {
  return `${id}: ${state}; ${command}`;
}

function tooMany(message: string): RemoraError {
  return new RemoraError({ code: "jobs.too-many", place: "background jobs", message });
}
