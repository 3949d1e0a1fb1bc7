/**
 * Makes the folder that all views of this process share, and removes the folders of processes that no longer run. A process
 * leaves its /etc to the next one.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { makeEtcTemplate } from "./etc-template.ts";
import { writeLauncher } from "./launcher.ts";
import { removeFolder } from "./remove-folder.ts";
import type { Processor } from "./system-calls.ts";

export interface StartFolder {
  launcher: string;
  etc: string;
  /** Folders in the host's /etc that the next view shows unchanged, as paths relative to it. */
  boundInEtc(): string[];
  root: string;
  scratch: string;
  /** False if somebody has deleted it. */
  exists(): boolean;
  remove(): Promise<void>;
}

const prefix = "start-";

export async function openStartFolder(folder: string, processor: Processor): Promise<StartFolder> {
  await mkdir(folder, { recursive: true });
  const own = await mkdtemp(join(folder, `${prefix}${process.pid}-${await startTime(process.pid)}-`));
  const [etc, root, scratch] = [join(own, "etc"), join(own, "root"), join(own, "probe")];
  const left = join(folder, "etc");
  await removeAbandoned(folder, left);
  await move(left, etc);
  const template = makeEtcTemplate(etc);
  const [launcher] = await Promise.all([writeLauncher(own, processor), mkdir(root), mkdir(scratch)]);
  return {
    launcher,
    etc,
    boundInEtc: template.mounted,
    root,
    scratch,
    exists: () => [launcher, root, join(etc, "passwd")].every((path) => existsSync(path)),
    async remove() {
      await move(etc, left);
      await removeFolder(own);
    },
  };
}

/** Only one process can take it, and none replaces another's. */
async function move(from: string, to: string): Promise<void> {
  await rename(from, to).catch(() => undefined);
}

async function removeAbandoned(folder: string, left: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid, started] = /^start-(\d+)-(\d*)-/.exec(name) ?? [];
    if (pid === undefined || (await startTime(Number(pid))) === started) continue;
    await move(join(folder, name, "etc"), left);
    await removeFolder(join(folder, name));
  }
}

/** Reads the start time in kernel ticks, which identifies a process together with its id. Empty if it does not run. */
async function startTime(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
