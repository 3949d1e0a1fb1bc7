/** The tools of the shell skill. The setting `skills.settings.shell.seconds` limits a foreground command. */
import { failure } from "../../src/plugin-sdk/failure.ts";
import type { JsonObject, Plugin, PluginContext, PluginResult } from "../../src/plugin-sdk/plugin.ts";
import { listJobs, readJob, startJob, stopJob } from "./jobs.ts";
import { runToEnd } from "./run.ts";

const nowhere = "Commands are not available here.";

async function execute(tool: string, input: JsonObject, context: PluginContext): Promise<PluginResult> {
  const { commands, jobs } = context;
  if (tool === "shell_jobs") {
    if (jobs === undefined) return failure(nowhere);
    if (typeof input.stop === "string") return await stopJob(jobs, input.stop);
    return typeof input.read === "string" ? await readJob(jobs, input.read) : listJobs(jobs);
  }
  if (commands === undefined) return failure(nowhere);
  const command = typeof input.command === "string" ? input.command : "";
  if (command.trim() === "") return failure("The command is empty: write the command to run.");
  if (command.includes("\0"))
    return failure("The command contains a NUL character, which no shell accepts: remove it.");
  if (input.background === true) return await startJob(commands, command);
  return await runToEnd(command, commands, context);
}

const plugin: Plugin = { execute };

export default plugin;
