/** Commands of the shell skill: in the view of their call, with the network that a person has approved, or without a sandbox. */
import { Transform } from "node:stream";
import { RemoraError } from "../../lib/errors.ts";
import type { Audit } from "../../ports/audit.ts";
import type { FolderCall, JobSummary, PluginCommands } from "../../ports/draft.ts";
import type { CommandEnd, RunningCommand, View } from "../../ports/sandbox.ts";
import type { Egress, EgressSession } from "../egress/egress.ts";
import { parseHosts } from "../egress/hosts.ts";
import { looksLikeNoNetwork, noNetworkHint } from "../egress/no-network.ts";
import { startUnconfined } from "../unconfined.ts";

/** Kept of a command's output, to recognise why it failed. */
const maxRememberedOutput = 8 * 1024;

export interface CommandPlace {
  view: View;
  /** The way out that a person has approved; undefined: none. */
  session: EgressSession | undefined;
  /** Added to what every command gets. */
  environment: Readonly<Record<string, string>>;
}

export interface ViewCommandsOptions extends CommandPlace {
  startJob(text: string): Promise<JobSummary>;
  noteEnd(end: CommandEnd): void;
}

export function createViewCommands({ startJob, noteEnd, ...place }: ViewCommandsOptions): PluginCommands {
  return {
    startJob,
    async run(text, signal) {
      const running = await startInView(place, text, signal);
      const ended = running.ended.then((end) => {
        noteEnd(end);
        return end;
      });
      return { ...running, ended };
    },
  };
}

export function placeOf({ callId, scope: { turnId, conversationId } }: FolderCall) {
  return { turnId, conversationId, callId };
}

/** Undefined when no host is named. Rejects with a sentence for the model when one can't be read. */
export async function openSession(
  { egress, audit }: { egress: Egress; audit: Audit },
  network: readonly string[],
  wantedBy: { turnId: string; conversationId: string; callId: string } | { skill: string },
  signal: AbortSignal,
): Promise<EgressSession | undefined> {
  if (network.length === 0) return undefined;
  const parsed = parseHosts(network);
  if (parsed.type === "refused")
    throw new RemoraError({ code: "network.hosts", place: "network", message: parsed.message });
  await audit.record("network.opening", { ...wantedBy, hosts: [...network] });
  return await egress.open(parsed.hosts, signal);
}

export async function startInView(
  { view, session, environment }: CommandPlace,
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

/** A command that failed for want of a network, or of a host, says how to ask for it. */
function withHint(running: RunningCommand, hintFor: (output: string) => string): RunningCommand {
  let kept = Buffer.alloc(0);
  const output = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      kept = Buffer.concat([kept, chunk]).subarray(-maxRememberedOutput);
      done(null, chunk);
    },
  });
  running.output.once("error", (thrown) => output.destroy(thrown));
  running.output.pipe(output);
  const ended = running.ended.then((end) => {
    const hint = end.exitCode === 0 ? "" : hintFor(kept.toString("utf8"));
    return hint === "" ? end : { ...end, hint };
  });
  return { ...running, output, ended };
}

/** `refusal`: a sentence for the model where the settings want no command to run without a sandbox. */
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
