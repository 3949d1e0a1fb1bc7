/**
 * What a skill's code looks like: the default export of `plugin.ts|js|mjs` beside its SKILL.md.
 *
 * A plugin is loaded at its first call, never while skills are read. If its SKILL.md says `provides_tools: true`, it is loaded
 * in the background as soon as its skill is active. `init` runs once before the first `execute`. `destroy` runs once when the
 * plugin is replaced or the process ends, and never while a call is running. If `execute` throws, the attempt has failed, and
 * only a network or system error that may be temporary is tried again.
 */

import type { Log } from "../lib/log.ts";
import type { ChatLine } from "./chat.ts";
import type { PluginCommands, PluginJobs } from "./draft.ts";
import type { Author, JsonObject, Scope } from "./message.ts";
import type { SchedulePurpose, ScheduleTime, ShownSchedule } from "./schedule.ts";
import type { Skill, SkillDiagnostic } from "./skill.ts";
import type { ToolFile } from "./tool.ts";

/** What is the same for all calls of a skill. All paths are absolute. */
export interface PluginHome {
  /** The agent's Markdown brain and files, shared by all skills. */
  workspace: string;
  /** The folder of the SKILL.md. Plugins must not write to it. */
  skillFolder: string;
  /** This skill's own folder for its data. It already exists and survives restarts. */
  dataFolder: string;
  log: Log;
  config: JsonObject;
  /**
   * Absent unless SKILL.md says `provides_tools: true`. The tools are active immediately. Each offer replaces the earlier offer
   * of the same source. Never throws.
   */
  offer?(source: string, offer: ToolOffer): void;
}

export interface ToolOffer {
  /** If absent, the source's earlier tools are kept. */
  tools?: OfferedTool[];
  /** One sentence each, for people: shown as findings about the skill until the source's next offer. */
  problems?: string[];
}

/** A tool that a plugin offers while it runs. Somebody else may have described the tool, so nothing in it is trusted. */
export interface OfferedTool {
  /**
   * The name that `execute` gets. The model sees a name that providers accept, which means the same tool as long as the process
   * lives.
   */
  name: string;
  description: string;
  /** A JSON Schema. Parts that can't be used are left out. */
  parameters: unknown;
  /** Milliseconds. If absent, the default of all tools applies. */
  timeoutMs?: number;
  /** The operator's settings say that the tool needs no approval, so confirm patterns with `{offered_tool}` leave it out. */
  isTrusted?: boolean;
}

export interface RecalledNote {
  heading: string;
  /** ISO 8601; empty if the source has no time. */
  at: string;
  isShared: boolean;
  text: string;
}

/** Memory, bound to the scope of the call's conversation. Only owners may change shared notes (`memory.not-owner`). */
export interface PluginMemory {
  /** Writes a note, or replaces the note with this title. Resolves to the replaced text; undefined for a new note. */
  remember(title: string, text: string, isShared?: boolean): Promise<string | undefined>;
  /** Finds notes and episodes of this scope and shared ones, best first. Never rejects because of the query. */
  recall(query: string, limit: number): Promise<RecalledNote[]>;
  forget(title: string, isShared?: boolean): Promise<boolean>;
}

/**
 * Chat actions, bound to the call's conversation and requester. `channel` is another channel that the requester sees, by id or
 * `#name`.
 */
export interface PluginChat {
  history(options: { channel?: string; limit: number; before?: string }): Promise<ChatLine[]>;
  post(message: { channel?: string; text: string; files: ToolFile[] }): Promise<{ messageId: string }>;
  /** If `messageId` is absent, reacts to the message that is being answered. */
  react(reaction: { channel?: string; messageId?: string; emoji: string }): Promise<void>;
  openThread(thread: {
    channel?: string;
    messageId?: string;
    name: string;
    text: string;
  }): Promise<{ threadId: string }>;
}

export interface PluginSchedules {
  add(schedule: { purpose: SchedulePurpose; text: string; time: ScheduleTime }): Promise<ShownSchedule>;
  list(): Promise<ShownSchedule[]>;
  remove(id: string): Promise<boolean>;
}

export interface PluginSkills {
  /** Lists the skills that the call's conversation may use. Later skills take precedence over earlier ones. */
  list(): readonly Skill[];
  /** Lists all active skills, including those that the conversation may not use. */
  all(): readonly Skill[];
  mayWrite(): Promise<boolean>;
  diagnostics(): readonly SkillDiagnostic[];
  /** Reads the text as if it were the SKILL.md at this path. If there is no skill, the diagnostics say why. */
  read(text: string, path: string): { skill?: Skill; diagnostics: SkillDiagnostic[] };
  /** Resolves when everything that was written before this call is active. */
  reload(): Promise<void>;
}

/** Remora's services for a call. Each is absent if the process that runs the call does not have it. */
export interface PluginServices {
  skills?: PluginSkills;
  memory?: PluginMemory;
  chat?: PluginChat;
  schedules?: PluginSchedules;
  /** Asks the requester with a button per option (1 to 5, at most 75 characters each). Rejects if nobody answers in time. */
  ask?(question: string, options: readonly string[]): Promise<string>;
}

export interface PluginContext extends PluginHome, PluginServices {
  /** Relative paths start here. Valid only until the call ends. Open this folder; never resolve it with `realpath`. */
  workingFolder: string;
  /** The folder of outputs that were too long for the model. Tools show it as `/outputs`. It may not exist. */
  outputsFolder: string;
  /** Runs shell commands in the working folder. Present only for tools that say `folder: write`. */
  commands?: PluginCommands;
  jobs?: PluginJobs;
  scope: Scope;
  conversationId: string;
  turnId: string;
  requester: Author;
  /** True if the model had read text from outside before it asked for the call, so that text may have caused the call. */
  isTainted: boolean;
  /** Web addresses that the requester wrote in the turn, as complete URLs. */
  givenAddresses: readonly string[];
  /** Aborts when the person says stop, when the call times out, and when the process ends. */
  signal: AbortSignal;
}

/**
 * A string is the output of a successful call. If `success` is false, the model reads `error`, or `output` if there is none,
 * and `retryable: true` asks for another attempt; otherwise the failure is the tool's answer. Paths in `files` may be relative
 * to the working folder.
 */
export type PluginResult =
  | string
  | { success: boolean; output: string; error?: string; retryable?: boolean; files?: ToolFile[] };

export interface Plugin {
  init?(home: PluginHome): Promise<void> | void;
  /** `input` has passed the tool's JSON Schema and the gate. */
  execute(tool: string, input: JsonObject, context: PluginContext): Promise<PluginResult> | PluginResult;
  destroy?(): Promise<void> | void;
}
