/**
 * The tools of the bare bots. They are the product's own: the same names, schemas, code and words, so that a trial compares only the
 * prompt and how tools are offered. Around them everything is simple: notes and reminders are lists, files are in a temporary folder, and
 * changes take effect at once. Commands run in the sandbox, without a network, and see no other folder of this machine.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { Cron } from "croner";
import type { Effects, PlayedCall } from "../../src/evals/bot.ts";
import { textFilesIn } from "../../src/evals/read-effects.ts";
import type { Task } from "../../src/evals/task.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { CallFolder } from "../../src/ports/draft.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import type { PluginMemory, PluginSchedules } from "../../src/ports/plugin.ts";
import type { Sandbox } from "../../src/ports/sandbox.ts";
import type { ShownSchedule } from "../../src/ports/schedule.ts";
import type { ToolScope, ToolSpec } from "../../src/ports/tool.ts";
import { loadSkillName } from "../../src/ports/tool-offer.ts";
import { createSchemaChecker } from "../../src/response/schema-check.ts";
import { createSandbox } from "../../src/sandbox/view/sandbox.ts";
import { createSkillLibrary } from "../../src/skill-runtime/library/library.ts";
import type { ServicesFor } from "../../src/skill-runtime/plugins/loaded-plugin.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";

const project = resolve(import.meta.dirname, "../..");

/** What everyday tasks need. */
export const everydayTools: readonly string[] = [
  ...["read_file", "write_file", "edit_file", "list_folder", "search_files", "shell_exec", "data_query"],
  ...["remember", "recall", "forget_note", "schedule_add", "schedule_list", "schedule_remove", "web_fetch"],
];

export interface SimpleTools {
  specs: readonly ToolSpec[];
  /** Runs a call as a model wrote it. Rejects only on abort. */
  run(name: string, input: string, signal: AbortSignal): Promise<string>;
  effects(): Promise<Effects>;
  close(): Promise<void>;
}

/** `names`: the tools that are offered; if absent, all shipped ones. */
export async function openSimpleTools(task: Task, names?: readonly string[]): Promise<SimpleTools> {
  const root = await mkdtemp(join(tmpdir(), "remora-trial-"));
  const folder = join(root, "work");
  await mkdir(folder);
  await writeFiles(folder, task);
  const notes = new Map(task.notes.map((text) => [titleOf(text), text]));
  const reminders = new Map<string, ShownSchedule>();
  const calls: PlayedCall[] = [];
  const { toolbox, close } = await openToolbox(root, folder, ({ scope }) => ({
    memory: simpleMemory(notes),
    schedules: simpleSchedules(reminders, scope),
  }));
  const specs = toolbox.specs("trial").filter(({ name }) => name !== loadSkillName && (names?.includes(name) ?? true));
  const checker = createSchemaChecker();
  const place: ToolScope = {
    ...{ turnId: "t", conversationId: "trial", scope: "channel:trial", workingFolder: folder },
    requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
    givenAddresses: task.turns.flatMap(({ say }) => say.match(/https?:\/\/\S+/g) ?? []),
  };
  const invalid = (tool: string, problem: string, words: string): string => {
    calls.push({ tool, input: {}, status: "invalid", problem });
    return `Error: ${words}`;
  };

  return {
    specs,
    async run(name, text, signal) {
      const spec = specs.find((one) => one.name === name);
      if (spec === undefined) return invalid(name, "unknown tool", `there is no tool ${name}.`);
      const input = parsed(text);
      if (input === undefined) return invalid(name, "not JSON", "the arguments are not a JSON object.");
      const check = await checker.check(spec.parameters, input);
      if (check.type === "breaks") return invalid(name, "schema", `${check.reasons.join("; ")}.`);
      const call = { id: `c${calls.length}`, name, input };
      const limit = AbortSignal.any([signal, AbortSignal.timeout(spec.timeoutMs)]);
      const done = await toolbox.run(call, place, limit);
      signal.throwIfAborted();
      calls.push({ tool: name, input, status: done.isOk ? "succeeded" : "failed" });
      return done.isOk ? done.text : `Error: ${done.text}`;
    },
    effects: async () => ({
      files: await textFilesIn(folder),
      notes: [...notes.values()],
      reminders: [...reminders.values()].map(({ text, nextAt }) => ({ text, at: new Date(nextAt).toISOString() })),
      ...{ calls, cards: 0 },
    }),
    async close() {
      await close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function openToolbox(root: string, folder: string, servicesFor: ServicesFor) {
  const library = createSkillLibrary({ roots: [join(project, "skills")], log: silentLog, events: createEvents() });
  await library.reload();
  const sandbox = createSandbox({ folder: join(root, "sandbox"), hidden: [project] });
  const toolbox = createToolbox({
    ...{ library, log: silentLog, workspace: root, filesRoot: folder, dataFolder: join(root, "data"), config: {} },
    servicesFor,
    drafts: { runCall: async (_call, signal, work) => await work(await realFolder(root, folder, sandbox, signal)) },
  });
  return {
    toolbox,
    async close() {
      await Promise.all([toolbox.close(), library.close(), sandbox.close()]);
    },
  };
}

/** Attached files are where the product puts them. */
async function writeFiles(folder: string, { files, turns }: Task): Promise<void> {
  const attached = new Set(turns.flatMap(({ attach }) => attach));
  for (const [path, text] of Object.entries(files)) {
    const target = join(folder, attached.has(path) ? "inbox" : "", path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
  }
}

/** File tools work on the folder itself. A command sees it as a mount of a view that is thrown away. */
async function realFolder(root: string, path: string, sandbox: Sandbox, signal: AbortSignal): Promise<CallFolder> {
  const commands: CallFolder["commands"] = {
    async run(text) {
      const place = await mkdtemp(join(root, "view-"));
      const [empty, scratch] = [join(place, "empty"), join(place, "scratch")];
      await Promise.all([mkdir(empty), mkdir(scratch)]);
      const mounts = [{ from: path, at: path, isWritable: true }];
      const view = await sandbox.open({ folder: empty, scratch, layers: [], mounts }, signal);
      const running = view.start({ text: `cd '${path}'\n${text}` });
      return { ...running, ended: running.ended.finally(() => view.close()) };
    },
    startJob: () => Promise.reject(new Error("Background jobs are not available here.")),
  };
  return { path, commands };
}

/** Words are matched, best first; a note's title is its first words, as in the product. */
function simpleMemory(notes: Map<string, string>): PluginMemory {
  return {
    async remember(title, text) {
      const before = notes.get(title);
      notes.set(title, text);
      return before;
    },
    async recall(query, limit) {
      const words = wordsOf(query);
      return [...notes]
        .map(([heading, text]) => ({
          heading,
          text,
          hits: wordsOf(`${heading} ${text}`).filter((word) => words.includes(word)).length,
        }))
        .filter(({ hits }) => hits > 0)
        .toSorted((one, other) => other.hits - one.hits)
        .slice(0, limit)
        .map(({ heading, text }) => ({ heading, text, at: "", isShared: false }));
    },
    forget: async (title) => notes.delete(title),
  };
}

function simpleSchedules(all: Map<string, ShownSchedule>, { scope, requester }: ToolScope): PluginSchedules {
  return {
    async add(schedule) {
      const { time } = schedule;
      const next = time.type === "once" ? time.at : new Cron(time.expression, { timezone: time.timeZone }).nextRun();
      const id = `s${all.size + 1}`;
      const place = { platform: "trial", conversationId: "trial", scope, owner: requester };
      const shown = { ...schedule, ...place, id, nextAt: Number(next), createdAt: Date.now() };
      all.set(id, shown);
      return shown;
    },
    list: async () => [...all.values()],
    remove: async (id) => all.delete(id),
  };
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
}

function titleOf(text: string): string {
  return text.slice(0, 60);
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
