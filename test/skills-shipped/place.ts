/** A workspace on disk for one test, and a context as a plugin gets it. */
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { silentLog } from "../../src/core/log.ts";
import type { JsonObject } from "../../src/core/message.ts";
import type { PluginContext, PluginResult } from "../../src/core/plugin.ts";
import { findProgram } from "../../src/sandbox/find-program.ts";

export const skillsFolder = resolve(import.meta.dirname, "../../skills");

export interface TestPlace {
  /** Holds everything; nothing in it but the working folder is the tools' business. */
  root: string;
  workspace: string;
  workingFolder: string;
  context(
    skill: string,
    changes?: { config?: JsonObject; signal?: AbortSignal; conversationId?: string },
  ): PluginContext;
  remove(): Promise<void>;
}

export async function makePlace(): Promise<TestPlace> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "remora-skills-")));
  const workspace = join(root, "workspace");
  const workingFolder = join(workspace, "files", "dm-ann");
  await mkdir(workingFolder, { recursive: true });
  return {
    root,
    workspace,
    workingFolder,
    context(skill, { config = {}, signal = new AbortController().signal, conversationId = "local:dm:ann" } = {}) {
      return {
        workspace,
        workingFolder,
        outputsFolder: join(root, "outputs"),
        skillFolder: join(skillsFolder, skill),
        dataFolder: join(root, "data", "skills", skill),
        log: silentLog,
        config,
        scope: "dm:ann",
        conversationId,
        turnId: "t1",
        requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
        signal,
      };
    },
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

/** Why tests that need the sandbox are skipped; false when they are not, and never where nothing may be skipped. */
export const withoutSandbox: string | false =
  process.env.CI === "true" || (await findProgram("bwrap")) !== undefined
    ? false
    : "bubblewrap is not installed (apt-get install bubblewrap)";

export function textOf(result: PluginResult): string {
  if (typeof result === "string") return result;
  return result.success ? result.output : (result.error ?? "");
}

export function isOk(result: PluginResult): boolean {
  return typeof result === "string" || result.success;
}
