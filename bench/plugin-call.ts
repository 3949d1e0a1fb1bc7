/**
 * The cost of plugin isolation: median milliseconds of a call in the plugin's own process, in its view, and of the same call
 * in this process. Also the first call, which starts the process. Prints one JSON line. Target: at most 2 ms more per call in
 * a running process.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createEvents } from "../src/lib/event-bus.ts";
import { silentLog } from "../src/lib/log.ts";
import type { ToolScope } from "../src/ports/tool.ts";
import { createEgress } from "../src/sandbox/egress/egress.ts";
import { createUnconfinedLauncher, createViewLauncher } from "../src/sandbox/plugin-launcher.ts";
import { createSandbox } from "../src/sandbox/view/sandbox.ts";
import { createSkillLibrary } from "../src/skill-runtime/library/library.ts";
import { createIsolatedPlugins } from "../src/skill-runtime/plugins/isolated/isolated-plugins.ts";
import { createToolbox } from "../src/skill-runtime/toolbox.ts";
import { median } from "./statistics.ts";

const calls = 500;
const folder = mkdtempSync(join(tmpdir(), "bench-plugin-"));
const signal = new AbortController().signal;

try {
  const skill = join(folder, "skills", "echo");
  mkdirSync(skill, { recursive: true });
  mkdirSync(join(folder, "files"), { recursive: true });
  writeFileSync(join(skill, "SKILL.md"), "---\nname: echo\ndescription: Echoes.\ntools:\n  - name: echo\n---\nText.\n");
  writeFileSync(join(skill, "plugin.mjs"), "export default { execute: (_tool, input) => JSON.stringify(input) };\n");
  const library = createSkillLibrary({ roots: [join(folder, "skills")], log: silentLog, events: createEvents() });
  await library.reload();

  const sandbox = createSandbox({ folder: join(folder, "sandbox"), hidden: [folder] });
  const { holds } = await sandbox.probe();
  const egress = createEgress({ allow: [], secrets: {}, log: () => {} });
  const node = "/opt/node/bin";
  const launcher = holds
    ? createViewLauncher({
        ...{ sandbox, egress, audit: { record: async () => {} }, environment: {} },
        folder: join(folder, "views"),
        nodeMount: { from: dirname(process.execPath), at: node },
        node: join(node, basename(process.execPath)),
      })
    : createUnconfinedLauncher();

  const inProcess = await measure(false);
  const isolated = await measure(true);
  const figures = {
    bench: "plugin-call",
    isInView: holds,
    inProcessMs: inProcess.medianMs,
    isolatedMs: isolated.medianMs,
    addedMs: round(isolated.medianMs - inProcess.medianMs),
    firstCallMs: Math.round(isolated.firstMs),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  await library.close();
  await egress.close();
  await sandbox.close();

  async function measure(isIsolated: boolean): Promise<{ firstMs: number; medianMs: number }> {
    const toolbox = createToolbox({
      ...{ library, log: silentLog, workspace: folder, config: {} },
      filesRoot: join(folder, "files"),
      dataFolder: join(folder, "data", String(isIsolated)),
      isolated: createIsolatedPlugins({ launcher, env: {}, log: silentLog }),
      isIsolated: () => isIsolated,
    });
    const times: number[] = [];
    for (let index = 0; index <= calls; index += 1) {
      const began = performance.now();
      const input = { text: "a sentence of some length", index };
      const { isOk, text } = await toolbox.run({ id: `c${index}`, name: "echo", input }, scope(), signal);
      if (!isOk || text !== JSON.stringify(input)) throw new Error(`the call failed: ${text}`);
      times.push(performance.now() - began);
    }
    await toolbox.close();
    const [firstMs = 0, ...others] = times;
    return { firstMs, medianMs: round(median(others)) };
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function scope(): ToolScope {
  const workingFolder = join(folder, "files", "here");
  const requester = { id: "ann", name: "Ann", roles: [], isBot: false };
  return { turnId: "t", conversationId: "local:dm:ann", scope: "dm:ann", requester, workingFolder };
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
