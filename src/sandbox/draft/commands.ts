/** Runs the shell skill's commands: in a view, with the network access that a person approved, or without a sandbox. */
import { Transform } from "node:stream";
import { RemoraError } from "../../lib/errors.ts";
import type { Audit } from "../../ports/audit.ts";
import type { FolderCall, JobSummary, PluginCommands } from "../../ports/draft.ts";
import type { CommandEnd, RunningCommand, View } from "../../ports/sandbox.ts";
import type { Egress, EgressSession } from "../egress/egress.ts";
import { parseHosts } from "../egress/hosts.ts";
import { looksLikeNoNetwork, noNetworkHint } from "../egress/no-network.ts";
import { startUnconfined } from "../unconfined.ts";

const maxTailBytes = 8 * 1024;

export interface CommandContext {
  view: View;
  session: EgressSession | undefined;
  environment: Readonly<Record<string, string>>;
}

export interface ViewCommandsOptions extends CommandContext {
  startJob(text: string): Promise<JobSummary>;
  noteEnd(end: CommandEnd): void;
}

export function createViewCommands({ startJob, noteEnd, ...context }: ViewCommandsOptions): PluginCommands {
  return {
    startJob,
    async run(text, signal) {
      const running = await startInView(context, text, signal);
      const ended = running.ended.then((end) => {
        noteEnd(end);
        return end;
      });
      return { ...running, ended };
    },
  };
}

export function networkRequester({ callId, scope: { turnId, conversationId } }: FolderCall) {
  return { turnId, conversationId, callId };
}

/** Rejects with a message for the model if a host is invalid. */
export async function openSession(
  { egress, audit }: { egress: Egress; audit: Audit },
  network: readonly string[],
  requester: { turnId: string; conversationId: string; callId: string } | { skill: string },
  signal: AbortSignal,
): Promise<EgressSession | undefined> {
  if (network.length === 0) return undefined;
  const parsed = parseHosts(network);
  if (parsed.type === "refused")
    throw new RemoraError({ code: "network.hosts", place: "network", message: parsed.message });
  await audit.record("network.opening", { ...requester, hosts: [...network] });
  return await egress.open(parsed.hosts, signal);
}

export async function startInView(
  { view, session, environment }: CommandContext,
  text: string,
  signal: AbortSignal,
): Promise<RunningCommand> {
  if (session === undefined)
    return withHint(view.start({ text, env: environment }), (output) =>
      looksLikeNoNetwork(output) ? noNetworkHint : "",
    );
  const env = { ...environment, ...(await session.connect(view.pid, signal)) };
  return withHint(view.start({ text, env }), () => session.refusals());
}

function withHint(running: RunningCommand, hintFor: (output: string) => string): RunningCommand {
  let tail = Buffer.alloc(0);
  const output = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      tail = Buffer.concat([tail, chunk]).subarray(-maxTailBytes);
      done(null, chunk);
    },
  });
  running.output.once("error", (thrown) => output.destroy(thrown));
  running.output.pipe(output);
  const ended = running.ended.then((end) => {
    const hint = end.exitCode === 0 ? "" : hintFor(tail.toString("utf8"));
    return hint === "" ? end : { ...end, hint };
  });
  return { ...running, output, ended };
}

/** `refusal` tells the model why the settings forbid commands without a sandbox. */
export function createUnconfinedCommands(
  folder: string,
  startJob: PluginCommands["startJob"],
  refusal: string | undefined,
): PluginCommands {
  const refuse = () =>
    Promise.reject(new RemoraError({ code: "sandbox.missing", place: "sandbox", message: refusal ?? "" }));
  if (refusal !== undefined) return { startJob: refuse, run: refuse };
  return { startJob, run: (text) => startUnconfined(text, folder) };
}
