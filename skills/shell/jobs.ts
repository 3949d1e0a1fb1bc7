/** Describes background commands for the model. */
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import { failure } from "../../src/plugin-sdk/failure.ts";
import type { JobSummary, PluginCommands, PluginJobs, PluginResult } from "../../src/plugin-sdk/plugin.ts";

export async function startJob(commands: PluginCommands, command: string): Promise<PluginResult> {
  try {
    const { id } = await commands.startJob(command);
    return `Job ${id} runs in the background. shell_jobs with read: "${id}" shows its output so far; its changes join the draft when it ends.`;
  } catch (thrown) {
    if (thrown instanceof RemoraError && thrown.code === "jobs.too-many") return failure(thrown.message);
    throw thrown;
  }
}

export function listJobs(jobs: PluginJobs): PluginResult {
  const list = jobs.list();
  return list.length === 0 ? "This conversation has no jobs." : list.map(lineOf).join("\n");
}

export async function readJob(jobs: PluginJobs, id: string): Promise<PluginResult> {
  const found = await jobs.read(id);
  if (found === undefined) return unknown(id);
  return `${lineOf(found.job)}\n\n${found.output === "" ? "(no output yet)" : found.output}`;
}

export async function stopJob(jobs: PluginJobs, id: string): Promise<PluginResult> {
  const stopped = await jobs.stop(id);
  return stopped === undefined ? unknown(id) : lineOf(stopped);
}

function lineOf({ id, state, command }: JobSummary): string {
  return `${id}: ${state}; ${command}`;
}

function unknown(id: string): PluginResult {
  return failure(`This conversation has no job ${JSON.stringify(id)}. shell_jobs without arguments lists them.`);
}
