/**
 * The interface of a skill's code: the default export of `plugin.ts|js|mjs` beside its SKILL.md. A plugin is loaded at
 * its first call, or as soon as the skill is active if SKILL.md says `provides_tools: true`. `init` runs once before
 * the first `execute`. `destroy` runs once when the plugin is replaced or the process ends, and never during a call. If
 * `execute` throws, the attempt has failed; only possibly temporary network or system errors are retried.
 */
import type { Log } from "../lib/log.ts";
import type { ChatLine, ChatQuery, FoundLine } from "./chat.ts";
import type { PluginCommands, PluginJobs } from "./draft.ts";
import type { Attachment, Author, JsonObject, Scope } from "./message.ts";
import type { WordsForm } from "./question.ts";
import type { SchedulePurpose, ScheduleTime, ShownSchedule } from "./schedule.ts";
import type { Skill, SkillDiagnostic } from "./skill.ts";
import type { ToolFile } from "./tool.ts";

/** The same for all calls of a skill. All paths are absolute. */
export interface PluginHome {
  /** The agent's Markdown brain and files, shared by all skills. */
  workspace: string;
  skillFolder: string;
  /** This skill's own data. The folder exists and survives restarts. */
  dataFolder: string;
  log: Log;
  config: JsonObject;
  /** Immediately replaces the source's earlier offer. Absent unless SKILL.md says `provides_tools: true`. */
  offer?(source: string, offer: ToolOffer): void;
}

export interface ToolOffer {
  /** If absent, the source's earlier tools are kept. */
  tools?: OfferedTool[];
  /** One sentence each, shown to people as problems of the skill until the source's next offer. */
  problems?: OfferProblem[];
}

/** `printed` is what a program or service said about it. It may hold secrets, so only owners read it, without what is known of them. */
export type OfferProblem = string | { message: string; printed: string };

/** A third party may have described the tool, so nothing in the offer is trusted. */
export interface OfferedTool {
  /** The name that `execute` receives. The model may see another name, which stays the same while the process lives. */
  name: string;
  description: string;
  /** A JSON Schema. Unusable parts are dropped. */
  parameters: unknown;
  timeoutMs?: number;
  /** True if the operator's settings exempt the tool from confirm patterns with `{offered_tool}`. */
  isTrusted?: boolean;
  /** True if it is marked as only reading. Counts only together with `isTrusted`. */
  isReadOnly?: boolean;
  /** True if the operator's settings name the tool, so its name is no text from outside. */
  isNamed?: boolean;
  /** As in `ToolSpec`. */
  isPrivate?: boolean;
}

export interface RecalledNote {
  heading: string;
  /** ISO 8601; empty if unknown. */
  at: string;
  isShared: boolean;
  /** The document and heading that it comes from: `knowledge/handbook.md § Holidays`. Absent for notes and episodes. */
  source?: string;
  text: string;
}

/** Bound to the scope of the call's conversation. Only owners may change shared notes (`memory.not-owner`). */
export interface PluginMemory {
  /** Writes the note with this title. Resolves to the replaced text. If `isNew`, rejects rather than replace one (`memory.kept`). */
  remember(title: string, text: string, isShared?: boolean, isNew?: boolean): Promise<string | undefined>;
  /** Finds notes and episodes of this scope and shared ones, best first. Never rejects because of the query. */
  recall(query: string, limit: number): Promise<RecalledNote[]>;
  forget(title: string, isShared?: boolean): Promise<boolean>;
}

/** `path` is in the working folder. `summary` and `text` are a first look, and `problem` says why the file can't be read. */
export type FetchedChatFile = Pick<Attachment, "name" | "mimeType" | "bytes" | "summary" | "text" | "problem"> & {
  path: string;
};

/** Bound to the call's conversation and requester. `channel` (id or `#name`) must be visible to the requester. */
export interface PluginChat {
  history(options: { channel?: string; limit: number; before?: string }): Promise<ChatLine[]>;
  /**
   * Finds what people said in channels that the requester and all readers of the answer can see, best first, with the address
   * of each message. `closed` counts the channels that only the requester can see; they were not searched. `notice` says what
   * else was not searched. The result of a call that gets what the service's own search has found is not stored.
   */
  search(query: ChatQuery & { channel?: string }): Promise<{ lines: FoundLine[]; closed: number; notice?: string }>;
  /** Saves a file of a message below `inbox/` in the working folder. Absent for plugins in processes of their own. */
  fetchFile?(file: { channel?: string; messageId: string; name: string }): Promise<FetchedChatFile>;
  post(message: { channel?: string; text: string; files: ToolFile[] }): Promise<{ messageId: string }>;
  /** Without `messageId`, reacts to the message that is being answered. */
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
  /** Includes active skills that the conversation may not use. */
  all(): readonly Skill[];
  mayWrite(): Promise<boolean>;
  diagnostics(): readonly SkillDiagnostic[];
  read(text: string, path: string): { skill?: Skill; diagnostics: SkillDiagnostic[] };
  /** Resolves when everything that was written before this call is active. */
  reload(): Promise<void>;
}

/** Each service is absent if the process that runs the call does not have it. */
export interface PluginServices {
  skills?: PluginSkills;
  memory?: PluginMemory;
  chat?: PluginChat;
  schedules?: PluginSchedules;
  /**
   * Asks the requester, who chooses one of 1 to 5 options of at most 75 characters. All of it is shown on one line each, numbered
   * and in quotes. Resolves to the option. Rejects if nobody answers in time.
   */
  ask?: AskPerson;
}

export interface AskPerson {
  (question: string, options: readonly string[]): Promise<string>;
  /**
   * Asks for words, and for up to `maxFiles` files. Resolves to both; each file is in the working folder by its `path`, or has a
   * `problem`.
   */
  (question: string, form: WordsForm): Promise<SaidAnswer>;
}

export interface SaidAnswer {
  text: string;
  files: { name: string; mimeType: string; bytes: number; path?: string; problem?: string }[];
}

export interface PluginContext extends PluginHome, PluginServices {
  /** Valid only until the call ends. Open this folder; never resolve it with `realpath`. */
  workingFolder: string;
  /** Outputs that were too long for the model. The folder may not exist. */
  outputsFolder: string;
  commands?: PluginCommands;
  jobs?: PluginJobs;
  scope: Scope;
  conversationId: string;
  turnId: string;
  requester: Author;
  /** The model had read text from outside when it asked for the call, and may have followed it. */
  isTainted: boolean;
  /** Web addresses that the requester wrote in the turn, as complete URLs. */
  givenAddresses: readonly string[];
  signal: AbortSignal;
}

/**
 * A string is the output of a successful call. A failure is the tool's answer, unless `retryable` asks for another
 * attempt; the model reads `error`, or else `output`. Paths in `files` may be relative to the working folder. The model
 * sees `images` of a successful call.
 */
export type PluginResult =
  | string
  | {
      success: boolean;
      output: string;
      error?: string;
      retryable?: boolean;
      files?: ToolFile[];
      images?: PluginImage[];
    };

/** A picture for the model, as bytes or as a file of the working folder. It is scaled, and its type is detected. */
export type PluginImage = { base64: string } | { path: string };

export interface Plugin {
  init?(home: PluginHome): Promise<void> | void;
  /** `input` has passed the tool's JSON Schema and the gate. */
  execute(tool: string, input: JsonObject, context: PluginContext): Promise<PluginResult> | PluginResult;
  destroy?(): Promise<void> | void;
}
