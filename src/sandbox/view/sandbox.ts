/** Opens and closes views. If no overlay can be mounted over the working folder, the view gets a copy of the folder. */
import { chmodSync, mkdirSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import { type Log, silentLog } from "../../lib/log.ts";
import type { Sandbox, SandboxReport, ViewLimits, ViewOptions } from "../../ports/sandbox.ts";
import { type CopyLimits, copyFolder, isCopyable } from "./copy-folder.ts";
import { explainFailure } from "./explain-failure.ts";
import {
  defaultViewLimits,
  maxCopiedBytes,
  maxCopiedFiles,
  maxSharedMemoryBytes,
  maxTmpFiles,
  minFreeMemoryBytes,
  reservedProcessIds,
  watchIntervalMs,
} from "./limits.ts";
import { findShell, isKernelAtLeast, maskedProcNames, pageBytes, systemFolders } from "./machine-facts.ts";
import type { ExtraMount, SystemFolder } from "./mounts.ts";
import { probeView } from "./probe.ts";
import { setupProgram } from "./setup-program.ts";
import { openStartFolder, type StartFolder } from "./start-folder.ts";
import { ownProcessor, type Processor } from "./system-calls.ts";
import { createView, type StepView } from "./view.ts";
import { inMountOrder, surroundingMounts } from "./view-plan.ts";
import { LauncherFailure, startViewProcess } from "./view-process.ts";
import { createWatchdog } from "./watchdog.ts";

export interface SandboxOptions {
  /** For the launcher and other small files. Must not be mounted `noexec`. */
  folder: string;
  /** Folders that views must hide even inside a visible folder, such as a project in /usr. */
  hidden?: readonly string[];
  limits?: Partial<ViewLimits>;
  copyLimits?: Partial<CopyLimits>;
  forceCopy?: boolean;
  log?: Log;
}

interface Machine {
  processor: Processor;
  start: StartFolder;
  system: readonly SystemFolder[];
  shell: string;
  pageBytes: number;
}

export function createSandbox(options: SandboxOptions): Sandbox {
  const { log = silentLog, hidden = [] } = options;
  const limits: ViewLimits = { ...defaultViewLimits, ...options.limits };
  const copyLimits: CopyLimits = { maxCopiedFiles, maxCopiedBytes, ...options.copyLimits };
  const views = new Set<StepView>();
  /** Folders that refused an overlay, as on some network file systems. */
  const withoutOverlay = new Set<string>();
  const closed = new AbortController();
  const watchdog = createWatchdog({ intervalMs: watchIntervalMs, minFreeMemoryBytes });
  let machine: Promise<Machine> | undefined;
  let report: Promise<SandboxReport> | undefined;
  let canOverlay = options.forceCopy !== true;

  /** Made again if somebody has deleted the folder, or if it could not be made. */
  const prepared = async (): Promise<Machine> => {
    const known = machine;
    const isUsable = await known?.then(({ start }) => start.exists()).catch(() => false);
    // Another view may have found the same in the meantime.
    if (isUsable !== true && machine === known) machine = prepare(options.folder);
    return await (machine as Promise<Machine>);
  };

  const openWith = async (
    view: ViewOptions,
    workingFolder: () => Promise<WorkingFolder>,
    signal: AbortSignal,
  ): Promise<StepView> => {
    const { processor, start, system, shell, pageBytes } = await prepared();
    const [surrounding, masked, mount] = await Promise.all([
      surroundingMounts(view, hidden),
      maskedProcNames(),
      workingFolder(),
    ]);
    const setup = setupProgram(processor, {
      folder: view.folder,
      uid: process.geteuid?.() ?? 0,
      gid: process.getegid?.() ?? 0,
      fileSystem: {
        root: start.root,
        etc: start.etc,
        boundInEtc: start.boundInEtc(),
        system,
        ...masked,
        extra: inMountOrder([...surrounding, mount.mount]),
        maxTmpBytes: limits.maxTmpBytes,
        maxTmpFiles,
        maxSharedMemoryBytes,
        maxProcessId: isKernelAtLeast(6, 14) ? limits.maxProcesses + reservedProcessIds : undefined,
      },
    });
    const viewProcess = await startViewProcess(start.launcher, setup, signal);
    const { written, upper, temporary } = mount;
    const onClose = () => void views.delete(opened);
    const parts = { process: viewProcess, processor, shell, pageBytes, limits, watchdog, written, upper, temporary };
    const opened = await createView({ ...parts, folder: view.folder, onClose }).catch(async (thrown) => {
      await viewProcess.end();
      throw thrown;
    });
    views.add(opened);
    return opened;
  };

  const openView = async (view: ViewOptions, given: AbortSignal): Promise<StepView> => {
    const signal = AbortSignal.any([given, closed.signal]);
    signal.throwIfAborted();
    try {
      if (canOverlay && !withoutOverlay.has(view.folder))
        return await openWith(view, () => overlayFolder(view), signal);
    } catch (thrown) {
      if (!isOverlayRefused(thrown)) throw thrown;
      withoutOverlay.add(view.folder);
      log.info(
        { folder: view.folder, reason: messageOf(thrown) },
        "no overlay can be mounted over this folder, so commands work on a copy",
      );
    }
    return openWith(view, () => copiedFolder(view, copyLimits, signal), signal);
  };

  const open = async (view: ViewOptions, signal: AbortSignal): Promise<StepView> => {
    try {
      return await openView(view, signal);
    } catch (thrown) {
      throw thrown instanceof LauncherFailure ? await missingSandbox(thrown) : thrown;
    }
  };

  const probe = async (): Promise<SandboxReport> => {
    try {
      const { start } = await prepared();
      const found = await probeView(open, start.scratch, closed.signal);
      canOverlay &&= found.layers === "overlay";
      return found;
    } catch (thrown) {
      return { holds: false, layers: "copy", detail: messageOf(thrown) };
    }
  };

  return {
    probe() {
      report ??= probe();
      return report;
    },
    async fits(folder) {
      if (canOverlay && !withoutOverlay.has(folder)) return true;
      return await isCopyable(folder, copyLimits, closed.signal);
    },
    open,
    async close() {
      closed.abort();
      watchdog.close();
      await Promise.all([...views].map((view) => view.close()));
      await machine?.then(({ start }) => start.remove()).catch(() => undefined);
    },
  };
}

async function prepare(folder: string): Promise<Machine> {
  const processor = ownProcessor();
  if (processor === undefined) {
    const message = `views need Linux on x64 or arm64; this is ${process.platform} on ${process.arch}`;
    throw new RemoraError({ code: "sandbox.missing", place: "sandbox", message });
  }
  const [start, system, shell] = await Promise.all([openStartFolder(folder, processor), systemFolders(), findShell()]);
  return { processor, start, system, shell, pageBytes: pageBytes() };
}

interface WorkingFolder {
  mount: ExtraMount;
  written: string;
  upper: string | undefined;
  temporary: string;
}

async function overlayFolder({ folder, layers, scratch }: ViewOptions): Promise<WorkingFolder> {
  const [upper, work] = [join(scratch, "upper"), join(scratch, "work")];
  // Give the layer the folder's mode, because the view shows the layer's.
  const { mode } = await stat(folder);
  for (const path of [upper, work]) mkdirSync(path, { recursive: true });
  chmodSync(upper, mode & 0o7777);
  return { mount: { kind: "overlay", at: folder, layers, upper, work }, written: upper, upper, temporary: work };
}

async function copiedFolder(view: ViewOptions, limits: CopyLimits, signal: AbortSignal): Promise<WorkingFolder> {
  const copy = join(view.scratch, "copy");
  await copyFolder(view, copy, limits, signal);
  return { mount: { kind: "copy", at: view.folder, copy }, written: copy, upper: undefined, temporary: copy };
}

function isOverlayRefused(thrown: unknown): boolean {
  return thrown instanceof LauncherFailure && thrown.step === "mount overlay";
}

async function missingSandbox(failure: LauncherFailure): Promise<RemoraError> {
  const message = await explainFailure(failure);
  return new RemoraError({ code: "sandbox.missing", place: "sandbox", message, cause: failure });
}
