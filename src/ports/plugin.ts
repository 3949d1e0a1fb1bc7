/**
 * What a skill's code looks like: the default export of `plugin.ts|js|mjs` beside its SKILL.md.
 *
 * A plugin is loaded at its first call, never while skills are read; one whose SKILL.md says `provides_tools: true` in the
 * background as soon as its skill is in force. `init` runs once before the first `execute`; `destroy` runs once when the plugin is replaced or the process ends, and never while a call is running.
 * What it throws is a failed attempt: a network or system error that may pass is tried again, any other is not.
 */

import type { Log } from "../lib/log.ts";
import type { ChatLine } from "./chat.ts";
import type { PluginCommands, PluginJobs } from "./draft.ts";
import type { Author, JsonObject, Scope } from "./message.ts";
import type { SchedulePurpose, ScheduleTime, ShownSchedule } from "./schedule.ts";
import type { Skill, SkillDiagnostic } from "./skill.ts";
import type { ToolFile } from "./tool.ts";

/** What belongs to the skill, whatever the call. All paths are absolute. */
export interface PluginHome {
  /** The agent's Markdown brain and files, shared by all skills. */
  workspace: string;
  /** The folder of the SKILL.md; not to be written to. */
  skillFolder: string;
  /** This skill's own folder for what it has to keep; it exists, and outlives restarts. */
  dataFolder: string;
  log: Log;
  config: JsonObject;
  /**
   * Absent unless SKILL.md says `provides_tools: true`. The tools are in force at once; each offer stands in place of its
   * source's earlier one. Never throws.
   */
  offer?(source: string, offer: ToolOffer): void;
}

export interface ToolOffer {
  /** Absent: those it offered before stay. */
  tools?: OfferedTool[];
  /** One sentence each, for people: shown as findings about the skill until the source's next offer. */
  problems?: string[];
}

/** A tool that turned up while the plugin runs. Somebody else may have described it, so that nothing of it is believed. */
export interface OfferedTool {
  /** What `execute` is given. The model sees a name that providers take, which means one tool as long as the process lives. */
  name: string;
  description: string;
  /** A JSON Schema. Parts that can't be used are left out. */
  parameters: unknown;
  /** Milliseconds; the default of all tools when absent. */
  timeoutMs?: number;
  /** The operator's settings say that it need not be asked about: confirm patterns with `{offered_tool}` leave it out. */
  isTrusted?: boolean;
}

export interface RecalledNote {
  heading: string;
  /** ISO 8601; empty where the source has no time. */
  at: string;
  isShared: boolean;
  text: string;
}

/** Bound to the scope of the call's conversation. Only owners may change shared notes (`memory.not-owner`). */
export interface PluginMemory {
  /** Writes the note, or replaces the one of this title. Resolves to the text it had; undefined for a new one. */
  remember(title: string, text: string, isShared?: boolean): Promise<string | undefined>;
  /** Notes and episodes of this scope and shared ones, best first. Never rejects for any query. */
  recall(query: string, limit: number): Promise<RecalledNote[]>;
  forget(title: string, isShared?: boolean): Promise<boolean>;
}

/** Bound to the call's conversation and requester. `channel`: another channel, by id or `#name`, that the requester sees. */
export interface PluginChat {
  history(options: { channel?: string; limit: number; before?: string }): Promise<ChatLine[]>;
  post(message: { channel?: string; text: string; files: ToolFile[] }): Promise<{ messageId: string }>;
  /** `messageId` absent: the message that is being answered. */
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
  /** Those that the conversation of the call may use, later ones going before earlier ones. */
  list(): readonly Skill[];
  /** All active skills, including those that the conversation may not use. */
  all(): readonly Skill[];
  mayWrite(): Promise<boolean>;
  diagnostics(): readonly SkillDiagnostic[];
  /** The text as the SKILL.md at this path; no skill: the diagnostics say why. */
  read(text: string, path: string): { skill?: Skill; diagnostics: SkillDiagnostic[] };
  /** Resolves when what was written before the call is in force. */
  reload(): Promise<void>;
}

/** What a call may use of Remora; each is absent where the process that runs the call does not have it. */
export interface PluginServices {
  skills?: PluginSkills;
  memory?: PluginMemory;
  chat?: PluginChat;
  schedules?: PluginSchedules;
  /** Asks the requester with a button per option (1 to 5, at most 75 characters each). Rejects when nobody answered in time. */
  ask?(question: string, options: readonly string[]): Promise<string>;
}

export interface PluginContext extends PluginHome, PluginServices {
  /** Relative paths start here. A draft is good only until the call ends: open it, never resolve it with `realpath`. */
  workingFolder: string;
  /** Outputs that were too long for the model are kept here; tools show it as `/outputs`. It may be missing. */
  outputsFolder: string;
  /** Runs shell commands in the working folder; only for tools that say `folder: write`. */
  commands?: PluginCommands;
  jobs?: PluginJobs;
  scope: Scope;
  conversationId: string;
  turnId: string;
  requester: Author;
  /** The model had read text from outside when it asked for the call: what it sends out may be what that text wants. */
  isTainted: boolean;
  /** Web addresses that the requester wrote in the turn, as URLs are written in full. */
  givenAddresses: readonly string[];
  /** Aborts when the person says stop, when the call's time is up, and when the process ends. */
  signal: AbortSignal;
}

/**
 * A string is the output of a success. Of an object with `success: false`, `error` (or else `output`) is what the model reads,
 * and `retryable: true` asks for another attempt; without it the failure is an answer. Paths of `files` may be relative to the working folder.
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
