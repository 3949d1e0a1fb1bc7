/** A workspace on disk for one test, and a context as a plugin gets it. */
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { silentLog } from "../../src/lib/log.ts";
import type { CallFolder } from "../../src/ports/draft.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import type { Plugin, PluginContext, PluginResult } from "../../src/ports/plugin.ts";
import type { ToolAttempt } from "../../src/ports/tool.ts";
import type { TurnRecord } from "../../src/ports/turn.ts";
import { type Bench, type BenchOptions, type CallOptions, createBench } from "../sandbox/draft/draft-bench.ts";

export const skillsFolder = resolve(import.meta.dirname, "../../skills");

export interface TestPlace {
  /** Holds everything; nothing in it but the working folder is the tools' business. */
  root: string;
  workspace: string;
  workingFolder: string;
  context(skill: string, changes?: ContextChanges): PluginContext;
  remove(): Promise<void>;
}

export interface ContextChanges {
  config?: JsonObject;
  signal?: AbortSignal;
  conversationId?: string;
}

export async function makePlace(): Promise<TestPlace> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "remora-skills-")));
  const workspace = join(root, "workspace");
  const workingFolder = join(workspace, "files", "dm-ann");
  await mkdir(workingFolder, { recursive: true });
  const context = (skill: string, changes?: ContextChanges) =>
    contextIn({ root, workspace }, skill, workingFolder, changes);
  return { root, workspace, workingFolder, context, remove: () => rm(root, { recursive: true, force: true }) };
}

function contextIn(
  { root, workspace }: { root: string; workspace: string },
  skill: string,
  workingFolder: string,
  { config = {}, signal = new AbortController().signal, conversationId = "local:dm:ann" }: ContextChanges = {},
): PluginContext {
  return {
    workspace,
    workingFolder,
    outputsFolder: join(workspace, "outputs"),
    skillFolder: join(skillsFolder, skill),
    dataFolder: join(root, "data", "skills", skill),
    log: silentLog,
    config,
    scope: "dm:ann",
    conversationId,
    turnId: "t1",
    isTainted: false,
    givenAddresses: [],
    requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
    signal,
  };
}

export interface DraftPlace {
  bench: Bench;
  /** The turn whose draft the calls work on. */
  turn: TurnRecord;
  /** The real one. */
  workingFolder: string;
  /** A call of a plugin over the turn's draft, as the toolbox makes it. */
  call(
    plugin: Plugin,
    skill: string,
    tool: string,
    input: JsonObject,
    more?: CallOptions & { config?: JsonObject; turn?: TurnRecord },
  ): Promise<{ isOk: boolean; text: string }>;
  /** The turn ends, and what it changed is kept by the rules or asked about. */
  end(): Promise<void>;
  remove(): Promise<void>;
}

/** As `makePlace`, with real drafts over a real sandbox. */
export async function makeDraftPlace(options: BenchOptions = {}): Promise<DraftPlace> {
  const bench = await createBench(options);
  const { root, workspace } = bench;
  const turn = await bench.startTurn();
  return {
    bench,
    turn,
    workingFolder: bench.folder(),
    async call(plugin, skill, tool, input, { config = {}, turn: of = turn, ...more } = {}) {
      const signal = more.signal ?? new AbortController().signal;
      const work = async (folder: CallFolder): Promise<ToolAttempt> => {
        const { path, commands, jobs } = folder;
        const { conversationId } = of;
        const context = contextIn({ root, workspace }, skill, path, { config, signal, conversationId });
        const services = { ...(commands && { commands }), ...(jobs && { jobs }) };
        const result = await plugin.execute(tool, input, { ...context, ...services });
        return { isOk: isOk(result), isAnswer: true, text: textOf(result), files: [], isRetryable: false };
      };
      const attempt = await bench.call(of, work, more);
      return { isOk: attempt.isOk, text: attempt.text };
    },
    end: () => bench.end(turn),
    remove: () => bench.close(),
  };
}

export function textOf(result: PluginResult): string {
  if (typeof result === "string") return result;
  return result.success ? result.output : (result.error ?? "");
}

export function isOk(result: PluginResult): boolean {
  return typeof result === "string" || result.success;
}
