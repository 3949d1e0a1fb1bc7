/** Input from people, as plain JSON, because the ledger stores it before anything acts on it. */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** A thread has its channel's scope. Memory of a scope is read only in that scope. */
export type Scope = `dm:${string}` | `channel:${string}`;
export type MemoryScope = Scope | "shared";

export interface Author {
  /** The platform's own id, never a display name. */
  id: string;
  name: string;
  isBot: boolean;
  roles: string[];
  /** Absent for a member. An `external` person belongs to another workspace that shares the channel. */
  kind?: "guest" | "external";
  /** A name of the tz database, such as `Europe/Berlin`. Absent if nobody knows it: then the machine's counts. */
  timeZone?: string;
}

export interface Attachment {
  name: string;
  mimeType: string;
  bytes: number;
  /** What `Platform.openFile` needs to open the file. Absent once the file has been fetched or refused. */
  source?: JsonObject;
  /** Where the fetched file is, relative to the working folder. */
  path?: string;
  /** A summary of the file, if its complete text is absent. */
  summary?: string;
  /** Why there is no content, as a sentence for people. */
  problem?: string;
  /** Recorded by the author in the client, so it is the author's own words. `seconds` is 0 if unknown. */
  voice?: { seconds: number };
  /** The id of the message that this is a copy of, until the turn has looked it up. */
  quotes?: string;
  /** What the service shows of a page that the message links to. It often comes later, and is no news then. */
  isPreview?: true;
  /** Content of a short text file; otherwise absent. */
  text?: string;
  /** Base64 of a picture, scaled to what models accept; otherwise absent. */
  imageBase64?: string;
  /** The type of the scaled picture, if it differs from that of the file. */
  imageMimeType?: string;
}

/** `id` is unique within its platform: the same id means the same message. */
export interface InboundMessage {
  id: string;
  platform: string;
  /** Created and interpreted only by the message's platform, e.g. `local:channel:general:t42`. */
  conversationId: string;
  scope: Scope;
  /** The channel (a thread's parent) and its guild or workspace. Absent in DMs. */
  channelId?: string;
  spaceId?: string;
  author: Author;
  text: string;
  skill?: string;
  attachments: Attachment[];
  /** True for a mention, a DM, a reply to the agent, or the agent's own thread. Other messages are not answered. */
  isAddressed: boolean;
  isDirect: boolean;
  /** A group DM or private thread: only the people in it see it, although it counts as a channel. */
  isPrivate?: boolean;
  /** A link to the message, for people. */
  link?: string;
  /** The id of the channel that the author had open beside a direct message. Nobody has checked yet that they may read it. */
  lookingAt?: string;
  /** The platform's message that the answer belongs to, if `id` is not one, because a person pressed Retry. */
  replyTo?: string;
  at: number;
  /** A reply in a thread. */
  isInThread?: boolean;
  /** Where the request was asked, if it is answered elsewhere. What was said before it is read there. Set only by Remora itself. */
  askedAt?: { conversationId: string; messageId: string };
  /** The schedule whose run a click repeats, so that the repetition counts in its budget. Set only by Remora itself. */
  scheduleId?: string;
  /** Its author edited it after its turn had begun. Set only by Remora itself. */
  isEdited?: true;
  /** Ids of expired approvals. The turn begins with their calls. Set only by Remora itself. */
  askAgain?: string[];
  /** When it last changed after a turn had taken it, and when its words did. Set only by Remora itself. */
  changed?: { at: number; wordsAt?: number };
  /** The id of the message of the same turn of which this is what came later. Set only by Remora itself. */
  changes?: string;
}

export function messageKey(platform: string, messageId: string): string {
  return `${platform}:${messageId}`;
}

/** What its author does to a message that was said. */
export type MessageChange = { type: "edited"; text: string } | { type: "deleted" };

/** Services report more than edits of words. */
export function hasSameWords(one: string, other: string): boolean {
  const words = (text: string) => text.replace(/\s+/g, " ").trim();
  return words(one) === words(other);
}

/** Stands for the words of a message that was deleted, wherever a later prompt could repeat them. */
export const deletedText = "(This message was deleted.)";

/**
 * `part`, `diff`, `undo` and `again` are for changes to files: keep some files, show the full diff, undo, and run the
 * request again. `why` tells anyone who sees the card which rules ask. `end` ends what `allow` has allowed. `handover`
 * asks another approver (`to`) to answer. `reask` opens a new card for an expired call.
 */
export const answerChoices = [
  "approve",
  "deny",
  "edit",
  "allow",
  "part",
  "diff",
  "undo",
  "again",
  "why",
  "end",
  "handover",
  "reask",
] as const;
export type AnswerChoice = (typeof answerChoices)[number];

/** A click on a tool's question, or its form. Authority comes only from `by`, never from `questionId`. */
export interface InboundPick {
  platform: string;
  conversationId: string;
  questionId: string;
  /** The option that was chosen, or what was said in the form. */
  option?: number;
  said?: { text: string; attachments: Attachment[] };
  by: Author;
  at: number;
}

/** A click on an approval card. Authority comes only from `by`, never from `cardOrApprovalId`. */
export interface InboundAnswer {
  platform: string;
  conversationId: string;
  /** The message that shows the card, if known. */
  messageId?: string;
  cardOrApprovalId: string;
  choice: AnswerChoice;
  by: Author;
  /** For `deny`: the reason, which the model reads. */
  reason?: string;
  editedJson?: string;
  /** For `handover`: the person's id. */
  to?: string;
  /** For `part`: the files to keep, as indexes into `ShownChanges.files`. */
  parts?: number[];
  at: number;
}

/** The reply to the person who clicked. Everyone else sees the updated card. */
export interface AnswerReceipt {
  accepted: boolean;
  text: string;
  /** The full diff. If the platform supports it, only the person who clicked sees the diff. */
  file?: ReceiptFile;
}

export interface ReceiptFile {
  name: string;
  text: string;
  /** To be called when the person has all of it, or can't have all of it. What nobody can read nobody may approve. */
  delivered?(isWhole: boolean): Promise<void>;
}

/** Tells the author why a message is not answered: privately if the platform supports it, otherwise as a reply. */
export interface Notice {
  text: string;
  /**
   * Set if the message could not be stored now, but will be when it arrives again. A platform that can get it again shows
   * this text instead, once, and must neither acknowledge the message nor count it as handled.
   */
  later?: string;
}

/** The message gets no answer and no word: the author was told a moment ago, or nothing is left to say. */
export const silence: Notice = { text: "" };

export interface InboundCommand {
  platform: string;
  conversationId: string;
  scope: Scope;
  /** The command was given in a thread, and is about that thread. */
  isInThread?: boolean;
  /** Concerns only what was said by then, because the service may deliver the command again, and late. */
  saidBy?: number;
  /** Given in a DM whose conversations are its threads, but in none of them: the service has no commands in threads. */
  isBesideThreads?: boolean;
  channelId?: string;
  spaceId?: string;
  name: string;
  rest: string;
  by: Author;
  at: number;
}

export interface CommandReceipt {
  text: string;
  isPrivate: boolean;
  /** Standard Markdown that is too long for a message. */
  file?: ReceiptFile;
}

export interface ReplyTarget {
  platform: string;
  conversationId: string;
  turnId: string;
  /** A schedule's message (`schedule:<id>:<time>`) is not on the platform, so its reply is a new message. */
  messageId: string;
}
