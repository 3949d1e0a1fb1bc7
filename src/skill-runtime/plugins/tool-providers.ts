/**
 * Starts the plugins that offer tools at run time, in the background, and again when they change; nothing waits for
 * them. Each offer is validated, activated and stored. The next start uses stored offers immediately if the settings
 * are unchanged so that prompts are identical after a restart and pending approvals for these tools are still valid.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { createFileWriter } from "../../lib/atomic-write.ts";
import { codeOf, messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Json, JsonObject } from "../../ports/message.ts";
import type { ToolOffer } from "../../ports/plugin.ts";
import type { Skill } from "../../ports/skill.ts";
import type { SkillLibrary } from "../library/library.ts";
import type { ValidTool } from "./dynamic-tools.ts";
import { dataFolderName } from "./loaded-plugin.ts";
import { validateTools } from "./validate-tools.ts";

export interface ProvidersOptions {
  library: SkillLibrary;
  /** Earlier offers are stored in its subfolder `.offered`. */
  dataFolder: string;
  settings: { [skill: string]: JsonObject };
  /** A skill that no conversation may use is not started. */
  isAllowed(skill: Skill): boolean;
  /** Rejects with the reason if the plugin can't start. Resolves to false if that reason was already reported. */
  start(skill: Skill): Promise<boolean>;
  log: Log;
}

export interface Providers {
  onOffer(skill: Skill, source: string, offer: ToolOffer): void;
  startAll(): void;
  close(): Promise<void>;
}

const keptSchema = z.object({
  settings: z.string(),
  sources: z.record(
    z.string(),
    z.array(
      z.object({
        written: z.string(),
        description: z.string(),
        parameters: z.record(z.string(), z.unknown()),
        timeoutMs: z.number().positive(),
        isTrusted: z.boolean(),
        // Absent in offers of earlier versions.
        isReadOnly: z.boolean().exactOptional(),
        isNamed: z.boolean().exactOptional(),
      }),
    ),
  ),
});

const aboutPlugin = "";

export function createProviders(options: ProvidersOptions): Providers {
  const { library, log } = options;
  const writer = createFileWriter();
  const kept = new Map<string, Map<string, ValidTool[]>>();
  const working = new Map<string, Promise<void>>();
  let isClosed = false;

  const fileOf = (skill: Skill) => join(options.dataFolder, ".offered", `${dataFolderName(skill)}.json`);
  const settingsOf = (skill: Skill) => fingerprint(options.settings[skill.name] ?? {});

  function recall(skill: Skill): void {
    if (kept.has(skill.path)) return;
    const sources = new Map(Object.entries(read(fileOf(skill), settingsOf(skill), log)));
    kept.set(skill.path, sources);
    for (const [source, tools] of sources) library.offer(skill.path, source, { tools });
  }

  async function take(skill: Skill, source: string, offer: ToolOffer): Promise<void> {
    const fit = await validateTools(source, offer);
    if (isClosed) return;
    library.offer(skill.path, source, fit);
    const sources = kept.get(skill.path);
    if (fit.tools === undefined || sources === undefined) return;
    sources.set(source, fit.tools);
    const content = { settings: settingsOf(skill), sources: Object.fromEntries(sources) };
    await writer.write(fileOf(skill), `${JSON.stringify(content)}\n`);
  }

  async function start(skill: Skill): Promise<void> {
    try {
      const isRunning = await options.start(skill);
      if (isRunning && !isClosed) library.offer(skill.path, aboutPlugin, { problems: [] });
    } catch (thrown) {
      log.warn({ skill: skill.name, error: messageOf(thrown) }, "could not start a plugin that provides tools");
      const problem = `its plugin could not be started, so it has no tools: ${messageOf(thrown)}`;
      if (!isClosed) library.offer(skill.path, aboutPlugin, { problems: [problem] });
    }
  }

  return {
    onOffer(skill, source, offer) {
      const before = working.get(skill.path) ?? Promise.resolve();
      const now = before
        .then(() => take(skill, source, offer))
        .catch((thrown) => {
          log.warn(
            { skill: skill.name, source, error: messageOf(thrown) },
            "could not use the tools that a plugin offers",
          );
        });
      working.set(skill.path, now);
    },
    startAll() {
      if (isClosed) return;
      for (const skill of library.current().skills) {
        if (!skill.providesTools || skill.plugin === null || !options.isAllowed(skill)) continue;
        recall(skill);
        void start(skill);
      }
    },
    async close() {
      isClosed = true;
      await Promise.all(working.values());
    },
  };
}

/** Stored offers are valid only for the same settings. Only a hash is stored, because settings may contain secrets. */
function fingerprint(settings: JsonObject): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(settings)))
    .digest("hex");
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

/** Synchronous, because tools and rules must exist before the gate judges the first call. */
function read(file: string, settings: string, log: Log): { [source: string]: ValidTool[] } {
  try {
    const content = keptSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    return content.settings === settings ? content.sources : {};
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT")
      log.warn({ file, error: messageOf(thrown) }, "can't read a skill's earlier offer; waiting for a new one");
    return {};
  }
}
