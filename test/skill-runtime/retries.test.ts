/** The table "What is retried" of docs/skills.md: each row happens in a real toolbox and queue, and attempts are counted. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { TurnAbort } from "../../src/lib/abort.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { PluginLauncher } from "../../src/ports/plugin-process.ts";
import type { ToolJob } from "../../src/ports/tool.ts";
import { createUnconfinedLauncher } from "../../src/sandbox/plugin-launcher.ts";
import { createSkillLibrary } from "../../src/skill-runtime/library/library.ts";
import { createIsolatedPlugins } from "../../src/skill-runtime/plugins/isolated/isolated-plugins.ts";
import { createToolbox, type ToolboxOptions } from "../../src/skill-runtime/toolbox.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createEmbeddedQueue } from "../../src/tool-queue/embedded/queue.ts";
import { createRecordedAudit } from "../doubles/audit.ts";
import { skillFolder, skillText, temporaryFolder } from "./folders.ts";

const page = readFileSync(resolve(import.meta.dirname, "../../docs/skills.md"), "utf8");
const section = /^### What is retried\n([\s\S]*?)\n##/m.exec(page)?.[1] ?? "";
const rows = Array.from(
  section.matchAll(/^\| (.*?) \| (yes|no) \| (yes|no) \|$/gm),
  ([, what = "", plain, idempotent]) => ({
    what,
    plain: plain === "yes",
    idempotent: idempotent === "yes",
  }),
);

interface Scenario {
  plugin?: string;
  tool?: string;
  timeoutMs?: number;
  isStopped?: boolean;
  toolbox?: Partial<ToolboxOptions>;
}

const executing = (body: string) => `export default { async execute(tool, input, context) { ${body} } };`;
const inProcess = (launcher: PluginLauncher): Partial<ToolboxOptions> => ({
  isolated: createIsolatedPlugins({ launcher, env: {}, log: silentLog }),
  isIsolated: () => true,
});
const brokenLauncher: PluginLauncher = {
  ...createUnconfinedLauncher(),
  start: () => Promise.reject(Object.assign(new Error("spawn node ENOENT"), { code: "ENOENT" })),
};

const scenarios: { [what: string]: () => Scenario[] } = {
  "The plugin can't be loaded, or its `init` throws": () => [
    { plugin: "export default {" },
    { plugin: "throw new Error('at load')" },
    { plugin: "export default { init() { throw new Error('at init') }, execute: () => 'x' };" },
  ],
  "The plugin's process can't be started": () => [
    { plugin: executing("return 'ran'"), toolbox: inProcess(brokenLauncher) },
    { plugin: "process.exit(3)", toolbox: inProcess(createUnconfinedLauncher()) },
  ],
  "The sandbox can't make a view for the call": () => [
    {
      plugin: executing("return 'ran'"),
      toolbox: { drafts: { runCall: () => Promise.reject(new Error("mount: operation not permitted")) } },
    },
  ],
  "`execute` throws a network error, such as `ECONNRESET` or `fetch failed`": () => [
    { plugin: executing("throw Object.assign(new Error('cut'), { code: 'ECONNRESET' })") },
    { plugin: executing("throw new TypeError('fetch failed')") },
  ],
  "`execute` throws an error with `status` 429 or 5xx, or with `HTTP 503` in its message": () => [
    { plugin: executing("throw Object.assign(new Error('busy'), { status: 429 })") },
    { plugin: executing("throw Object.assign(new Error('busy'), { status: 500 })") },
    { plugin: executing("throw new Error('it said HTTP 503')") },
  ],
  "`execute` throws any other error": () => [
    { plugin: executing("throw new Error('wrong')") },
    { plugin: executing("throw Object.assign(new Error('no file'), { code: 'ENOENT' })") },
  ],
  "`execute` returns `retryable: true`": () => [
    { plugin: executing("return { success: false, output: '', error: 'later', retryable: true }") },
  ],
  "`execute` returns `success: false`": () => [
    { plugin: executing("return { success: false, output: '', error: 'no' }") },
  ],
  "`execute` returns something that is no result": () => [{ plugin: executing("return 42") }],
  "The call exceeds its timeout": () => [
    {
      plugin: executing("await new Promise((_, reject) => context.signal.addEventListener('abort', reject))"),
      timeoutMs: 20,
    },
  ],
  "The plugin's process ends during the call": () => [
    { plugin: executing("process.exit(3)"), toolbox: inProcess(createUnconfinedLauncher()) },
  ],
  "A person stops the turn": () => [
    {
      plugin: executing("await new Promise((_, reject) => context.signal.addEventListener('abort', reject))"),
      isStopped: true,
    },
  ],
  "There is no such tool, or the skill has no plugin": () => [{ plugin: executing(""), tool: "other" }, {}],
};

async function attemptsOf(
  { plugin, tool = "act", timeoutMs = 60_000, isStopped = false, toolbox: more }: Scenario,
  isIdempotent: boolean,
) {
  const skill = skillText("demo", "tools: [{ name: act }]");
  const root = await skillFolder({
    "demo/SKILL.md": skill,
    ...(plugin === undefined ? {} : { "demo/plugin.mjs": plugin }),
  });
  const home = await temporaryFolder();
  const library = createSkillLibrary({ roots: [root], log: silentLog, events: createEvents() });
  await library.reload();
  const toolbox = createToolbox({
    ...{ library, log: silentLog, workspace: home, filesRoot: home, dataFolder: join(home, "data"), config: {} },
    ...more,
  });
  const ledger = createSqliteLedger({ path: ":memory:" });
  const controller = new AbortController();
  let runs = 0;
  const counted: typeof toolbox.run = (call, scope, signal) => {
    runs += 1;
    if (isStopped) controller.abort(new TurnAbort("stopped"));
    return toolbox.run(call, scope, signal);
  };
  const queue = createEmbeddedQueue({
    ephemeral: { put() {} },
    ...{ ledger, toolbox: { ...toolbox, run: counted }, events: createEvents(), audit: createRecordedAudit() },
    ...{ backoff: [1, 1, 1], concurrency: 1, outputLimit: 1_000, outputsFolder: () => home, log: silentLog },
    redact: (text) => text,
  });
  onTestFinished(async () => {
    await queue.close();
    await toolbox.close();
    await library.close();
    await ledger.close();
  });
  const requester = { id: "ann", name: "Ann", isBot: false, roles: [] };
  const job: ToolJob = {
    ...{ id: "t-c", call: { id: "c", name: tool, input: {} }, isIdempotent, timeoutMs },
    scope: { turnId: "t", conversationId: "c", scope: "dm:ann", requester, workingFolder: home },
  };
  const result = await queue.run(job, controller.signal);
  expect(result.status).not.toBe("ok");
  expect(result.attempts).toBe(runs);
  return runs;
}

describe("what docs/skills.md says about retries", () => {
  test("names each case that is tried here, and no other", () => {
    expect(rows.map(({ what }) => what).sort()).toEqual(Object.keys(scenarios).sort());
  });

  test.each(rows)(
    "$what: $plain, if idempotent: $idempotent",
    { timeout: 120_000 },
    async ({ what, plain, idempotent }) => {
      for (const [isIdempotent, isRetried] of [
        [false, plain],
        [true, idempotent],
      ] as const) {
        for (const scenario of scenarios[what]?.() ?? [])
          expect({ what, isIdempotent, attempts: await attemptsOf(scenario, isIdempotent) }).toEqual({
            ...{ what, isIdempotent },
            attempts: isRetried ? 4 : 1,
          });
      }
    },
  );
});
