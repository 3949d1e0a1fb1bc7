/** A skill whose plugin is told from the test what to offer, in a library and a toolbox as the application has them. */
import { join } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { Log } from "../../src/lib/log.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import type { PluginHome, ToolOffer } from "../../src/ports/plugin.ts";
import type { Skill } from "../../src/ports/skill.ts";
import { createSkillLibrary, gateRules } from "../../src/skill-runtime/library/library.ts";
import { createToolbox, type ToolboxConfig } from "../../src/skill-runtime/toolbox.ts";
import { skillFolder, skillText, temporaryFolder } from "./folders.ts";

const asking = "confirm_patterns: [{ pattern: '^{offered_tool} ', reason: 'runs {offered_tool}' }]";

/** Leaves its home where the test finds it, and says as which tool it was called. */
export const providingSkill = {
  "hub/SKILL.md": skillText("hub", `provides_tools: true\n${asking}`),
  "hub/plugin.mjs": `
    export default {
      init(home) { (globalThis.remoraTestHomes ??= new Map()).set(home.dataFolder, home); },
      execute: (tool, input) => tool + " " + JSON.stringify(input),
    };`,
};

export interface ProvidingOptions {
  files?: { [path: string]: string };
  root?: string;
  home?: string;
  config?: ToolboxConfig;
}

export async function openProviding(options: ProvidingOptions = {}) {
  const root = options.root ?? (await skillFolder(options.files ?? providingSkill));
  const home = options.home ?? (await temporaryFolder());
  const logged: { [field: string]: unknown }[] = [];
  const note = (fields: object, message: string) => void logged.push({ ...fields, message });
  const log: Log = { debug: () => {}, info: note, warn: note, error: note };
  const library = createSkillLibrary({ roots: [root], log, events: createEvents() });
  await library.reload();
  const gate = createGate({ rules: gateRules(library.current()), matching: "extended" });
  library.onChange((set) => gate.replace(gateRules(set)));
  const filesRoot = join(home, "files");
  const dataFolder = join(home, "data");
  const { config = {} } = options;
  const toolbox = createToolbox({ library, log, workspace: home, filesRoot, dataFolder, config });
  const close = async () => {
    await toolbox.close();
    await library.close();
  };
  onTestFinished(close);
  const names = () =>
    toolbox
      .specs("any")
      .map(({ name }) => name)
      .filter((name) => name !== "load_skill");
  const pluginHome = async (skill = "hub"): Promise<PluginHome> => {
    const homes = () => (globalThis as { remoraTestHomes?: Map<string, PluginHome> }).remoraTestHomes;
    return await vi.waitFor(() => {
      const found = homes()?.get(join(dataFolder, skill));
      if (found === undefined) throw new Error("the plugin was not started yet");
      return found;
    });
  };
  return {
    root,
    home,
    logged,
    library,
    gate,
    toolbox,
    close,
    names,
    pluginHome,
    /** Resolves when these are the tools. */
    async offer(source: string, offer: ToolOffer, wanted?: string[], skill = "hub") {
      (await pluginHome(skill)).offer?.(source, offer);
      if (wanted !== undefined) await vi.waitFor(() => expect(names()).toEqual(wanted));
    },
    problems: () => library.current().diagnostics.map(({ message }) => message),
    skill: (name = "hub"): Skill | undefined => library.current().skills.find((skill) => skill.name === name),
    run: (name: string, input: JsonObject = {}) =>
      toolbox.run(
        { id: "c1", name, input },
        {
          turnId: "t1",
          conversationId: "any",
          scope: "dm:ann",
          requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
          workingFolder: join(filesRoot, "ann"),
        },
        new AbortController().signal,
      ),
  };
}

export function tool(name: string, more: object = {}) {
  return { name, description: `What ${name} does`, parameters: { type: "object", properties: {} }, ...more };
}
