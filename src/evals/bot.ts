/** What plays tasks: the agent itself, or a bot that it is compared with. */
import type { JsonObject } from "../ports/message.ts";
import type { Task, TaskTurn } from "./task.ts";

export interface Bot {
  name: string;
  /** Whether it asks with approval cards. */
  hasCards: boolean;
  /** Starts over for one task: its files, its notes, and nothing of earlier tasks. */
  open(task: Task): Promise<BotSession>;
  close(): Promise<void>;
}

export interface BotSession {
  /** Resolves with what the person reads in the end. Rejects if the signal aborts. */
  say(turn: TaskTurn, signal: AbortSignal): Promise<Said>;
  /** After the last turn. */
  effects(): Promise<Effects>;
  close(): Promise<void>;
}

export interface Said {
  text: string;
  /** `failed`: the bot itself says that it could not answer. */
  state: "answered" | "failed";
}

export interface Effects {
  /** Contents of all text files of the working folder, by path. */
  files: Readonly<Record<string, string>>;
  /** Texts of all stored notes. */
  notes: readonly string[];
  reminders: readonly Reminder[];
  calls: readonly PlayedCall[];
  cards: number;
}

export interface Reminder {
  text: string;
  /** ISO 8601, of the first time. */
  at: string;
}

/** A call as the bot understood it. */
export interface PlayedCall {
  tool: string;
  input: JsonObject;
  /** `invalid`: it could not run as it was written. */
  status: "succeeded" | "failed" | "denied" | "invalid";
  /** Why it was invalid, such as `unknown tool`, `not JSON`, `schema`. */
  problem?: string;
}
