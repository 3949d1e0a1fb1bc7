/**
 * The files of a working folder that an approval of a call covers, because the call can be seen to open them. The call runs
 * only while they are as they were when people were asked.
 */
import type { JsonObject } from "./message.ts";

/** Plain JSON, because it is stored with the approval. */
export interface BoundFiles {
  /** Names what is stored of them. */
  id: string;
  conversationId: string;
  /** Absolute, without links. */
  folder: string;
  /** They are run, not only read. */
  isCommand: boolean;
  /** Equal if and only if the same files have the same contents, targets and modes. */
  digest: string;
  /** Everything in the folder, because it can't be told what the call opens. */
  isWhole: boolean;
  /** A few, for people: those that the call names come first. */
  names: string[];
  count: number;
  /** The folder has more files than can be looked through, so the call can't be approved. */
  isCut?: true;
}

export interface BindableCall {
  conversationId: string;
  workingFolder: string;
  call: { name: string; input: JsonObject };
}

export interface FileBinder {
  /** Resolves to undefined if the call's tool opens no files. */
  bind(call: BindableCall): Promise<BoundFiles | undefined>;
  /** Names of what has changed, or undefined if nothing has. */
  changedSince(bound: BoundFiles): Promise<string[] | undefined>;
  /** What has changed between the two, as a diff. Undefined if it can't be shown whole. */
  difference(before: BoundFiles, after: BoundFiles): Promise<string | undefined>;
}

/** What a shell command may open. */
export interface CommandFiles {
  /** May name files and folders, also as parts of options. */
  words: string[];
  /** Patterns that the shell replaces with names. */
  globs: string[];
  /** Folders that it goes to, against which other words may be relative. */
  folders: string[];
  /** Files that it runs as code. */
  scripts: string[];
  /** Endings of the files that its interpreters load by themselves, from beside its scripts. */
  endings: string[];
  usesGit: boolean;
  /** It can't be told what it opens. */
  isOpaque: boolean;
}
