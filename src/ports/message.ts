/**
 * What people say and do, as every platform hands it in: messages, clicks on cards, slash commands.
 *
 * All of it is plain JSON, because it is kept in the ledger before anyone acts on it.
 */

/** A JSON value, as tool arguments and ledger entries are made of. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/**
 * Who can see a conversation: `dm:<user>` or `channel:<id>`; a thread has its channel's scope.
 * Memory written in one scope is read only in that scope; `shared` is readable everywhere.
 */
export type Scope = `dm:${string}` | `channel:${string}`;
export type MemoryScope = Scope | "shared";

export interface Author {
  /** The platform's own id, never a display name. */
  id: string;
  name: string;
  isBot: boolean;
  /** Role or user-group ids; empty where the platform has none. */
  roles: string[];
  /** Absent: a member. `guest`: of limited rights in this workspace; `external`: of another one that shares the channel. */
  kind?: "guest" | "external";
}

export interface Attachment {
  name: string;
  mimeType: string;
  bytes: number;
  /** The text of a text file, once the platform has read it; absent for anything else. */
  text?: string;
  /** Base64 of an image within the size cap; absent for anything else. */
  imageBase64?: string;
}

/** One message from a person. `id` is unique within its platform; a second one with the same id is the same message. */
export interface InboundMessage {
  id: string;
  platform: string;
  /** Made and read only by its platform, e.g. `local:channel:general:t42`. */
  conversationId: string;
  scope: Scope;
  /** The platform's id of the channel (a thread's parent), and of the guild or workspace it is in; absent in DMs and where there is none. */
  channelId?: string;
  spaceId?: string;
  author: Author;
  text: string;
  /** The skill whose instructions are to be used, by name. */
  skill?: string;
  attachments: Attachment[];
  /** The agent is meant: a mention, a DM, a reply to it, its own thread. Others are not answered. */
  isAddressed: boolean;
  isDirect: boolean;
  /** Milliseconds since the epoch, by the platform's clock. */
  at: number;
}

/**
 * What a person may choose on a card. The last four are for cards about changes: keep only some files, see the whole diff,
 * take back what was kept, and work on the same request again.
 */
export type AnswerChoice = "approve" | "deny" | "edit" | "allow" | "part" | "diff" | "undo" | "again";

/** A click on a question that a tool asks (questions.ts). `questionId` locates it; authority comes from `by` alone. */
export interface InboundPick {
  platform: string;
  conversationId: string;
  questionId: string;
  /** Index into the question's options. */
  option: number;
  by: Author;
  at: number;
}

/** A click on an approval card. `cardOrApprovalId` locates it; authority comes from `by` alone. */
export interface InboundAnswer {
  platform: string;
  conversationId: string;
  /** The platform's id of the message that carries the card, where the platform knows it. */
  messageId?: string;
  cardOrApprovalId: string;
  choice: AnswerChoice;
  by: Author;
  /** With `deny`: what the model reads. */
  reason?: string;
  /** With `edit`: the arguments as JSON text. */
  editedJson?: string;
  /** With `part`: the files to keep, as indexes into `ShownChanges.files`. */
  parts?: number[];
  at: number;
}

/** What the person who clicked is told; everyone else sees the rewritten card. */
export interface AnswerReceipt {
  accepted: boolean;
  text: string;
  /** With `diff`: the whole diff, for that person alone where the platform can. Plain text. */
  file?: { name: string; text: string };
}

/** Shown to the author of a message alone where the platform can, else as a reply: why it is not answered. */
export interface Notice {
  /** Standard Markdown. */
  text: string;
}

/** `/remora NAME REST`, or the same through a button. */
export interface InboundCommand {
  platform: string;
  conversationId: string;
  scope: Scope;
  channelId?: string;
  spaceId?: string;
  name: string;
  rest: string;
  by: Author;
  at: number;
}

export interface CommandReceipt {
  /** Standard Markdown. */
  text: string;
  /** Shown to the person alone where the platform can. */
  isPrivate: boolean;
}

/** Where a reply goes. Plain JSON. */
export interface ReplyTarget {
  platform: string;
  conversationId: string;
  turnId: string;
  /**
   * The message that is answered. One of a schedule (`schedule:<id>:<time>`) is not on the platform: the reply then stands in
   * the conversation by itself.
   */
  messageId: string;
}
