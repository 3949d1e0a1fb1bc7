/** Controls a view's launcher. If Remora exits, the closed connection or the parent-death signal ends the view. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { getSystemErrorName } from "node:util";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import { failedStep, framed } from "./launcher.ts";
import { type Program, reportBytes, reportKinds } from "./program.ts";

export class LauncherFailure extends RemoraError {
  readonly step: string;
  readonly errorName: string;

  constructor(step: string, errorName: string, cause?: unknown) {
    super({ code: "sandbox.missing", place: "sandbox", message: `a view can't be made: ${step}: ${errorName}`, cause });
    this.step = step;
    this.errorName = errorName;
  }
}

export type CommandStatus =
  | { type: "ended"; status: number }
  | { type: "failed"; failure: LauncherFailure }
  /** The view ended before the command did. */
  | { type: "gone" };

export interface ViewProcess {
  /** The id of the view's process 1 on the host. */
  pid: number;
  /** Resolves when every process of the command has ended. Call it at most once. */
  run(program: Program): Promise<CommandStatus>;
  killCommand(): void;
  /** Kills everything in the view and waits for its end. */
  end(): Promise<void>;
  gone: Promise<void>;
}

type Report =
  | { kind: "failed"; step: number; errorName: string }
  | { kind: "process"; pid: number }
  | { kind: "ready" }
  | { kind: "ended"; status: number };

export async function startViewProcess(launcher: string, setup: Program, signal: AbortSignal): Promise<ViewProcess> {
  signal.throwIfAborted();
  const child = spawn(launcher, [], {
    cwd: "/",
    env: {},
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const gone = exitOf(child);
  // Without a connection the start has failed, so `gone` rejects. With too many open files, Node doesn't even set `stdio`.
  const control = (child.stdio as ChildProcess["stdio"] | undefined)?.[3] as Socket | undefined;
  if (control === undefined) throw await startFailure(gone);
  const reports = readReports(control);
  let pid: number | undefined;
  const end = async () => {
    control.destroy();
    if (pid !== undefined) kill(child, pid);
    else child.kill("SIGKILL");
    await gone.catch(() => undefined);
  };
  const abort = () => void end();
  signal.addEventListener("abort", abort, { once: true });
  try {
    control.write(framed(setup));
    pid = await untilReady(reports, setup);
    signal.throwIfAborted();
  } catch (thrown) {
    await end();
    signal.throwIfAborted();
    throw child.pid === undefined ? await startFailure(gone) : thrown;
  } finally {
    signal.removeEventListener("abort", abort);
  }
  const settled = gone.catch(() => undefined);
  return {
    pid,
    async run(program) {
      control.write(framed(program));
      const report = await reports.next();
      // If the child failed, process 1 also reports its end. If process 1 failed, there is no further report.
      if (report?.kind === "failed") await reports.next();
      return commandStatus(report, program);
    },
    killCommand() {
      if (control.writable) control.write(Buffer.alloc(1));
    },
    end,
    gone: settled,
  };
}

async function untilReady(reports: ReportReader, setup: Program): Promise<number> {
  let pid: number | undefined;
  let isReady = false;
  for (;;) {
    const report = await reports.next();
    if (report === undefined) throw new LauncherFailure("start", "it ended at once");
    if (report.kind === "failed") throw new LauncherFailure(setup.titles()[report.step] ?? "?", report.errorName);
    if (report.kind === "process") pid = report.pid;
    if (report.kind === "ready") isReady = true;
    if (isReady && pid !== undefined) return pid;
  }
}

function commandStatus(report: Report | undefined, program: Program): CommandStatus {
  if (report === undefined) return { type: "gone" };
  if (report.kind === "ended") return { type: "ended", status: report.status };
  if (report.kind === "failed") {
    const failure = new LauncherFailure(program.titles()[report.step] ?? "?", report.errorName);
    return { type: "failed", failure };
  }
  return { type: "gone" };
}

/** Killing process 1 kills everything in the view. Then the outer process exits. */
function kill(child: ChildProcess, pid: number): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Process 1 is gone, and the outer process is about to exit.
  }
}

function exitOf(child: ChildProcess): Promise<void> {
  const gone = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => resolve());
  });
  gone.catch(() => undefined);
  return gone;
}

async function startFailure(gone: Promise<void>): Promise<Error> {
  const thrown = await gone.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return new LauncherFailure(
    "start the launcher",
    thrown === undefined ? "it ended at once" : messageOf(thrown),
    thrown,
  );
}

interface ReportReader {
  /** Undefined if the connection has ended. Only one caller may wait at a time. */
  next(): Promise<Report | undefined>;
}

function readReports(control: Socket): ReportReader {
  let buffered: Buffer = Buffer.alloc(0);
  let hasEnded = false;
  let wake: (() => void) | undefined;
  const notify = () => wake?.();
  control.on("data", (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    notify();
  });
  control.on("close", () => {
    hasEnded = true;
    notify();
  });
  control.on("error", notify);
  return {
    async next() {
      while (buffered.length < reportBytes) {
        if (hasEnded) return undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const report = parseReport(buffered.subarray(0, reportBytes));
      buffered = buffered.subarray(reportBytes);
      return report;
    },
  };
}

function parseReport(bytes: Buffer): Report {
  const [kind, first, second] = [0, 8, 16].map((offset) => bytes.readBigInt64LE(offset)) as [bigint, bigint, bigint];
  switch (Number(kind)) {
    case reportKinds.failed:
      return { kind: "failed", step: failedStep(first), errorName: errorNameOf(Number(second)) };
    case reportKinds.process:
      return { kind: "process", pid: Number(first) };
    case reportKinds.ready:
      return { kind: "ready" };
    case reportKinds.ended:
      return { kind: "ended", status: Number(first) };
    default:
      throw new Error(`The launcher reported ${kind}`);
  }
}

function errorNameOf(result: number): string {
  return result < 0 ? getSystemErrorName(result) : `unexpected result ${result}`;
}
