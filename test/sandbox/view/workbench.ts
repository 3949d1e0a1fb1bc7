/** A sandbox with a working folder and scratch folders, all removed after the test. */
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { CommandEnd, View, ViewOptions } from "../../../src/ports/sandbox.ts";
import { createSandbox, type SandboxOptions } from "../../../src/sandbox/view/sandbox.ts";

export const patience = () => AbortSignal.timeout(90_000);

export interface Ran extends CommandEnd {
  output: string;
  view: View;
}

/** `name`: of the working folder. */
export function createWorkbench(options: Partial<SandboxOptions> = {}, name = "folder") {
  const place = realpathSync(mkdtempSync(join(tmpdir(), "remora-view-")));
  const folder = join(place, name);
  mkdirSync(folder, { recursive: true });
  const sandbox = createSandbox({ folder: join(place, "sandbox"), ...options });
  onTestFinished(async () => {
    await sandbox.close();
    rmSync(place, { recursive: true, force: true });
  });
  const scratch = () => {
    const path = join(place, "scratch", randomUUID());
    mkdirSync(path, { recursive: true });
    return path;
  };
  const open = (more: Partial<ViewOptions> = {}) =>
    sandbox.open({ folder, layers: [], scratch: scratch(), ...more }, patience());
  return {
    place,
    folder,
    sandbox,
    scratch,
    open,
    /** Runs a command in a view of its own, which stays open until the sandbox closes. */
    async run(command: string, more: Partial<ViewOptions> = {}, env?: Record<string, string>): Promise<Ran> {
      const view = await open(more);
      const running = view.start({ text: command, ...(env && { env }) });
      const [output, end] = await Promise.all([text(running.output), running.ended]);
      return { ...end, output, view };
    },
  };
}

/** The machine's processes in a pid namespace, named as in `/proc/…/ns/pid`. */
export function processesIn(namespace: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return readlinkSync(`/proc/${name}/ns/pid`) === namespace ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

export function pidNamespace(pid: number): string {
  return readlinkSync(`/proc/${pid}/ns/pid`);
}

export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
