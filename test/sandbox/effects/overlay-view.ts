/** Real views for tests: an overlay in its own user namespace, made with util-linux only. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { MergePlan } from "../../../src/sandbox/effects/merge-entry.ts";
import { applyMerge } from "../../../src/sandbox/effects/merge-layer.ts";
import { planMerge } from "../../../src/sandbox/effects/merge-plan.ts";
import { removeFolder } from "../remove-folder.ts";

export const never = new AbortController().signal;

export interface Draft {
  root: string;
  base: string;
  layer: string;
  journal: string;
  /** Runs a script in a view of the draft and merges what it wrote. Returns the plan and what the view showed. */
  run(script: string): Promise<{ plan: MergePlan; shown: Tree; output: string }>;
  remove(): Promise<void>;
}

/** Runs `setup` in base first. */
export async function createDraft(setup = "", options: { base?: string } = {}): Promise<Draft> {
  const root = mkdtempSync(join(tmpdir(), "remora-layer-"));
  const [base, layer, journal] = [options.base ?? join(root, "base"), join(root, "layer"), join(root, "journal")];
  for (const folder of [base, layer, journal, join(root, "outside")]) mkdirSync(folder, { recursive: true });
  await runScript(base, setup);
  let runs = 0;
  return {
    root,
    base,
    layer,
    journal,
    async run(script) {
      const scratch = join(root, `scratch-${++runs}`);
      const view = await openView({ base, layer, scratch, script });
      let plan: MergePlan;
      let shown: Tree;
      try {
        const planned = await planMerge({ merged: view.merged, upper: view.upper, base, layer }, never);
        if (planned.type !== "plan") throw new Error("too large");
        plan = JSON.parse(JSON.stringify(planned));
        shown = readTree(view.merged);
      } finally {
        await view.close();
      }
      await applyMerge(plan, { from: view.upper, layer, base });
      await removeFolder(scratch);
      return { plan, shown, output: view.output };
    },
    remove: () => removeFolder(root),
  };
}

/** Runs a script with bash. Rejects when bash does not start, but not when a command fails. */
export async function runScript(folder: string, script: string): Promise<void> {
  if (script === "") return;
  const child = spawn("bash", ["-c", script], { cwd: folder, stdio: "ignore" });
  await once(child, "close");
}

export async function openView(options: { base: string; layer: string; scratch: string; script: string }) {
  const { base, layer, scratch, script } = options;
  const [upper, work, merged] = [join(scratch, "upper"), join(scratch, "work"), join(scratch, "merged")];
  for (const folder of [upper, work, merged]) mkdirSync(folder, { recursive: true });
  const mount = `mount -t overlay overlay -o "userxattr,lowerdir=${layer}:${base},upperdir=${upper},workdir=${work}" "${merged}"`;
  const inside = `${mount} || { echo no-overlay; exit 1; }; cd "${merged}"; bash -c "$0" 2>&1; cd /; echo; echo view-ready; read _`;
  const flags = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"];
  const child = spawn("unshare", [...flags, "sh", "-c", inside, script], { stdio: ["pipe", "pipe", "inherit"] });
  const output = await readUntilReady(child);
  return {
    upper,
    merged: `/proc/${child.pid}/root${merged}`,
    output,
    async close() {
      child.stdin?.end();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

async function readUntilReady(child: ChildProcess): Promise<string> {
  const lines: string[] = [];
  if (child.stdout === null) throw new Error("no output");
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === "view-ready") return lines.join("\n");
    lines.push(line);
  }
  throw new Error(`the view did not start: ${lines.join("\n")}`);
}

/** Ordinary users can't read every entry. */
function tryRead<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "EACCES") return undefined;
    throw thrown;
  }
}

/** Type, mode and content by path (bytes as Latin-1). Leaves out what drafts do not keep. */
export type Tree = Record<string, string>;

export function readTree(root: string): Tree {
  const tree: Tree = {};
  const walk = (folder: Buffer, prefix: string) => {
    for (const name of tryRead(() => readdirSync(folder, { encoding: "buffer" })) ?? []) {
      const path = Buffer.concat([folder, Buffer.from("/"), name]);
      const key = `${prefix}${name.toString("latin1")}`;
      const stat = lstatSync(path);
      const mode = (stat.mode & 0o7777).toString(8);
      if (stat.isDirectory()) {
        tree[key] = `folder ${mode}`;
        walk(path, `${key}/`);
      } else if (stat.isSymbolicLink()) {
        tree[key] = `link ${readlinkSync(path, { encoding: "latin1" })}`;
      } else if (stat.isFile()) {
        tree[key] = `file ${mode} ${tryRead(() => readFileSync(path, "latin1"))}`;
      }
    }
  };
  walk(Buffer.from(root), "");
  return tree;
}
