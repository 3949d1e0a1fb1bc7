/** Makes the folder that all views of this process share, and removes the folders of processes that no longer run. */
import { mkdir, mkdtemp, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { boundInEtc, makeEtcTemplate } from "./etc-template.ts";
import { writeLauncher } from "./launcher.ts";
import { removeFolder } from "./remove-folder.ts";
import type { Processor } from "./system-calls.ts";

export interface StartFolder {
  launcher: string;
  etc: string;
  boundInEtc: string | undefined;
  root: string;
  scratch: string;
  remove(): Promise<void>;
}

const prefix = "start-";

export async function openStartFolder(folder: string, processor: Processor): Promise<StartFolder> {
  await mkdir(folder, { recursive: true });
  await removeAbandoned(folder);
  const own = await mkdtemp(join(folder, `${prefix}${process.pid}-${await startTime(process.pid)}-`));
  const [etc, root, scratch] = [join(own, "etc"), join(own, "root"), join(own, "probe")];
  const made = [makeEtcTemplate(etc), mkdir(root), mkdir(scratch)];
  const [launcher] = await Promise.all([writeLauncher(own, processor), ...made]);
  const isThere = (await stat(join("/etc", boundInEtc)).catch(() => undefined))?.isDirectory() === true;
  return {
    launcher,
    etc,
    boundInEtc: isThere ? boundInEtc : undefined,
    root,
    scratch,
    remove: () => removeFolder(own),
  };
}

async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid, started] = /^start-(\d+)-(\d*)-/.exec(name) ?? [];
    if (pid === undefined || (await startTime(Number(pid))) === started) continue;
    await removeFolder(join(folder, name));
  }
}

/** Reads the start time in kernel ticks, which identifies a process together with its id. Empty if it does not run. */
async function startTime(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
