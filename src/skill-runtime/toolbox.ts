/**
 * Lists the tools of a conversation and makes one attempt at a call. The tools are those of the active skills that the
 * conversation may use, and the built-in `load_skill`. Patterns of a loaded skill apply everywhere, even in
 * conversations that may not use the skill.
 * Brain name: cerebellum.
 */
import { mkdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isInside } from "../lib/is-inside.ts";
import type { Log } from "../lib/log.ts";
import type { Redact } from "../lib/redact.ts";
import type { CallFolder, Drafts } from "../ports/draft.ts";
import type { JsonObject, Scope } from "../ports/message.ts";
import { distinctOrigins, type Origin } from "../ports/origin.ts";
import type { Skill, SkillSet } from "../ports/skill.ts";
import {
  networkOf,
  type ScalePicture,
  type ToolAttempt,
  type Toolbox,
  type ToolCall,
  type ToolScope,
  type ToolSpec,
} from "../ports/tool.ts";
import { definingAll } from "../ports/tool-offer.ts";
import { originsOfTool } from "../ports/turn-origins.ts";
import { createSkillAccess, type SkillAccess } from "./library/allowed.ts";
import type { SkillLibrary } from "./library/library.ts";
import { loadSkillSpec, runLoadSkill } from "./library/load-skill.ts";
import { toolsInForce } from "./library/precedence.ts";
import { usesFolder } from "./parse/permissions.ts";
import { attemptOf, CallNotStarted, refused } from "./plugins/failure.ts";
import type { IsolatedPlugins } from "./plugins/isolated/isolated-plugins.ts";
import type { ServicesFor } from "./plugins/loaded-plugin.ts";
import { createPluginGuard } from "./plugins/plugin-guard.ts";
import { createPluginHost } from "./plugins/plugin-host.ts";
import { createPluginSkills } from "./plugins/plugin-skills.ts";
import { createProviders } from "./plugins/tool-providers.ts";

export interface ToolboxConfig extends SkillAccess {
  settings?: { [skill: string]: JsonObject };
  /** If present, requests define every tool, unless their definitions together exceed so many bytes. */
  defineAllBytes?: number;
}

export interface ToolboxOptions {
  library: SkillLibrary;
  log: Log;
  workspace: string;
  /** Working folders below this one are created when a call needs them. Others must already exist. */
  filesRoot: string;
  dataFolder: string;
  config: ToolboxConfig;
  /** Provides the working folder as each call must see it. If absent, calls use the real folder. */
  drafts?: Pick<Drafts, "runCall">;
  outputsFolder?(scope: Scope): string;
  servicesFor?: ServicesFor;
  /** Restricts for whom skills may be written, in addition to a person's approval. If absent, everybody may. */
  mayWriteSkills?(scope: ToolScope): Promise<boolean>;
  redact?: Redact;
  /** If absent, the model gets no pictures. */
  scalePicture?: ScalePicture;
  isolated?: IsolatedPlugins;
  isIsolated?(skill: Skill): boolean;
  /** False for skills that the operator has turned off. */
  isOn?(skill: Skill): boolean;
  noteUse?(skill: Skill): Promise<void>;
}

interface Owned {
  spec: ToolSpec;
  skill: Skill;
}

export interface SkillToolbox extends Toolbox {
  skillsFor(conversationId: string): SkillSet;
  /** False if the settings deny the skill to everybody. */
  isAllowed(skill: Skill): boolean;
  /** Must be called after the operator has turned a skill on or off: starts or ends its plugin. */
  applySwitches(): void;
  close(): Promise<void>;
}

/** Matches no conversation filter, so it includes skills that only some conversations may not use. */
const anywhere = "";

export function createToolbox(options: ToolboxOptions): SkillToolbox {
  const { library, log, workspace, dataFolder, config, redact = (text: string) => text } = options;
  const { settings = {} } = config;
  const guard = createPluginGuard(log);
  const isAllowed = createSkillAccess(config);
  const isIsolated = (skill: Skill) => options.isolated !== undefined && (options.isIsolated?.(skill) ?? false);
  const isOn = options.isOn ?? (() => true);
  const skillsOf = (conversationId: string) =>
    library.current().skills.filter((skill) => isAllowed(skill, conversationId) && isOn(skill));
  const host = createPluginHost({
    workspace,
    outbox: join(workspace, "outbox"),
    outputsFolder: (scope) => options.outputsFolder?.(scope) ?? join(workspace, "outputs"),
    dataFolder,
    settings,
    guard,
    ...(options.isolated === undefined ? {} : { isolated: options.isolated }),
    ...(options.scalePicture === undefined ? {} : { scalePicture: options.scalePicture }),
    isIsolated,
    log,
    servicesFor: (call, signal) => ({
      ...options.servicesFor?.(call, signal),
      skills: createPluginSkills(library, {
        list: () => skillsOf(call.scope.conversationId),
        mayWrite: async () => (await options.mayWriteSkills?.(call.scope)) ?? true,
      }),
    }),
    onOffer: (skill, source, offer) => providers.onOffer(skill, source, offer),
  });
  const providers = createProviders({
    library,
    dataFolder,
    settings,
    isAllowed: (skill) => isAllowed(skill, anywhere) && isOn(skill),
    start: host.start,
    log,
  });
  const applySwitches = () => {
    host.keepOnly(library.current().skills.filter(isOn));
    providers.startAll();
  };
  const forgetChanges = library.onChange(applySwitches);
  providers.startAll();

  const ownersOf = (conversationId: string): Map<string, Owned> => toolsInForce(skillsOf(conversationId));
  const specsOf = (conversationId: string): ToolSpec[] => {
    const specs = [loadSkillSpec, ...[...ownersOf(conversationId).values()].map(specOf)];
    return config.defineAllBytes === undefined ? specs : definingAll(specs, config.defineAllBytes);
  };
  const installed = new WeakMap<ToolSpec, ToolSpec>();
  /** Not what SKILL.md says decides whether code is believed, but where it comes from. */
  const specOf = ({ spec, skill }: Owned): ToolSpec => {
    if (options.isIsolated?.(skill) !== true) return spec;
    const marked = installed.get(spec) ?? { ...spec, isInstalled: true };
    installed.set(spec, marked);
    return marked;
  };

  const attempt = async (call: ToolCall, scope: ToolScope, signal: AbortSignal): Promise<ToolAttempt> => {
    if (call.name === loadSkillSpec.name)
      return runLoadSkill(call.input, skillsOf(scope.conversationId), specsOf(scope.conversationId));
    const owned = ownersOf(scope.conversationId).get(call.name);
    if (owned === undefined)
      return refused(
        `There is no tool called ${call.name} here, or it is gone. Use one of the tools that are offered.`,
      );
    const problem = await workingFolderProblem(scope.workingFolder, options.filesRoot);
    if (problem !== undefined) return refused(problem);
    const { skill, spec } = owned;
    const tool = skill.renamedTools[call.name] ?? call.name;
    await options.noteUse?.(skill);
    const isInView = isIsolated(skill) && usesFolder(skill.permissions) && spec.folder !== "none";
    const folderCall = {
      callId: call.id,
      tool: call.name,
      scope,
      use: spec.folder,
      network: [...networkOf(spec, call.input), ...(isInView ? skill.permissions.network : [])],
      ...(isInView ? { mounts: await host.mountsFor(skill) } : {}),
      ...namedPath(spec, call.input),
      usesOutputs: JSON.stringify(call.input).includes("outputs"),
    };
    let hasStarted = false;
    const work = async (folder: CallFolder) => {
      hasStarted = true;
      const heard: Origin[] = [];
      const onRead = (origins: readonly Origin[]) => void heard.push(...origins);
      let isEphemeral = false;
      const onEphemeral = () => {
        isEphemeral = true;
      };
      const bound = { id: call.id, skill, tool, input: call.input, scope, folder, onRead, onEphemeral };
      const done = await host.run(bound, signal);
      const origins = distinctOrigins([...originsOfTool(spec, call.name, call.input), ...heard]);
      return { ...done, origins, ...(isEphemeral ? { isEphemeral } : {}) };
    };
    if (options.drafts === undefined) return await work({ path: scope.workingFolder });
    // The view could not be made, or no process started in it.
    return await options.drafts.runCall(folderCall, signal, work).catch((thrown: unknown) => {
      throw hasStarted || signal.aborted ? thrown : new CallNotStarted(thrown);
    });
  };

  return {
    applySwitches,
    isAllowed: (skill) => isAllowed(skill, anywhere),
    skillsFor: (conversationId) => ({ ...library.current(), skills: skillsOf(conversationId) }),
    specs: specsOf,
    async run(call, scope, signal) {
      try {
        const done = await attempt(call, scope, signal);
        return { ...done, text: redact(done.text) };
      } catch (thrown) {
        const { text, ...rest } = attemptOf(thrown, `The tool ${call.name}`);
        return { ...rest, text: redact(text) };
      }
    },
    async close() {
      forgetChanges();
      await providers.close();
      await host.close();
      guard.close();
    },
  };
}

/** Omits the path for shell commands, because their text does not reliably tell what they read. */
function namedPath({ shellParameters }: ToolSpec, { path }: JsonObject): { path?: string } {
  return shellParameters.length === 0 && typeof path === "string" ? { path } : {};
}

async function workingFolderProblem(folder: string, filesRoot: string): Promise<string | undefined> {
  if (isInside(resolve(folder), resolve(filesRoot))) await mkdir(folder, { recursive: true });
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isFolder
    ? undefined
    : `The working folder of this conversation, ${folder}, does not exist. An operator must create it or change the settings.`;
}
