/**
 * What a skill's code looks like: the default export of `plugin.ts|js|mjs` beside its SKILL.md.
 *
 * A plugin is loaded at its first call, never while skills are read. `init` runs once before the first `execute`;
 * `destroy` runs once when the plugin is replaced or the process ends, and never while a call is running.
 * What it throws is a failed attempt: a network or system error that may pass is tried again, any other is not.
 */
import type { ChatLine } from "./chat.ts";
import type { Log } from "./log.ts";
import type { Author, JsonObject, Scope } from "./message.ts";
import type { SchedulePurpose, ScheduleTime, ShownSchedule } from "./schedules.ts";
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
  /** The skill's settings from the config file; empty when there are none. */
  config: JsonObject;
}

/** A passage of memory, as `recall` finds it. */
export interface RecalledNote {
  /** A note's title, or the headline of an episode. */
  heading: string;
  /** ISO 8601; empty where the source has no time. */
  at: string;
  isShared: boolean;
  text: string;
}

/**
 * Long-term memory, bound to the scope of the call's conversation: a plugin can't name another one. Notes are Markdown
 * files that people read and edit. `isShared`: the note is, or is to be, read in every conversation, DMs included; only
 * owners may change those, and for others it rejects with code `memory.not-owner`.
 */
export interface PluginMemory {
  /** Writes the note, or replaces the one of this title. Resolves to the text it had; undefined for a new one. */
  remember(title: string, text: string, isShared?: boolean): Promise<string | undefined>;
  /** Notes and episodes of this scope and shared ones, best first. Never rejects for any query. */
  recall(query: string, limit: number): Promise<RecalledNote[]>;
  /** False when there was no such note. */
  forget(title: string, isShared?: boolean): Promise<boolean>;
}

/**
 * The chat, bound to the call's conversation and requester; rejects with a RemoraError that says what is not possible and
 * why. `channel`: another channel, by id or `#name`; only one that the requester sees as well.
 */
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

/** What the requester wants said or done later, in the conversation of the call. */
export interface PluginSchedules {
  add(schedule: { purpose: SchedulePurpose; text: string; time: ScheduleTime }): Promise<ShownSchedule>;
  list(): Promise<ShownSchedule[]>;
  /** False when the requester has no such schedule there. */
  remove(id: string): Promise<boolean>;
}

/** What a call may use of Remora; each is absent where the process that runs the call does not have it. */
export interface PluginServices {
  memory?: PluginMemory;
  chat?: PluginChat;
  schedules?: PluginSchedules;
  /**
   * Shows the question with a button an option (1 to 5, at most 75 characters each) to the requester, and waits inside the
   * tool's time-out. Resolves to the option; rejects when nobody answered in time.
   */
  ask?(question: string, options: readonly string[]): Promise<string>;
}

/** What `execute` is given besides the arguments: who asks, where, and when to stop. */
export interface PluginContext extends PluginHome, PluginServices {
  /** It exists; relative paths of shell and file tools start here. */
  workingFolder: string;
  scope: Scope;
  conversationId: string;
  turnId: string;
  requester: Author;
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
