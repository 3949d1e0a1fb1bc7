/** Input from people, in one form for every platform. Plain JSON, because the ledger keeps it before anything acts on it. */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** `dm:<user>` or `channel:<id>`; a thread has its channel's scope. Memory of a scope is read only in that scope. */
export type Scope = `dm:${string}` | `channel:${string}`;
export type MemoryScope = Scope | "shared";

export interface Author {
  /** The platform's own id, never a display name. */
  id: string;
  name: string;
  isBot: boolean;
  roles: string[];
  /** Absent: a member. `guest`: has limited rights. `external`: from another workspace that shares the channel. */
  kind?: "guest" | "external";
}

export interface Attachment {
  name: string;
  mimeType: string;
  bytes: number;
  /** Content of a text file; otherwise absent. */
  text?: string;
  /** Base64 of an image within the size limit; otherwise absent. */
  imageBase64?: string;
}

/** A message from a person. `id` is unique within its platform; the same id means the same message. */
export interface InboundMessage {
  id: string;
  platform: string;
  /** Only its platform makes and reads it, e.g. `local:channel:general:t42`. */
  conversationId: string;
  scope: Scope;
  /** The platform's ids of the channel (a thread's parent) and of its guild or workspace. Absent in DMs. */
  channelId?: string;
  spaceId?: string;
  author: Author;
  text: string;
  skill?: string;
  attachments: Attachment[];
  /** True for a mention, a DM, a reply to the agent, or its own thread. Other messages are not answered. */
  isAddressed: boolean;
  isDirect: boolean;
  /** Milliseconds since the epoch, by the platform's clock. */
  at: number;
}

/** The last four are for changes: keep some files, show the whole diff, undo, and run the request again. */
export type AnswerChoice = "approve" | "deny" | "edit" | "allow" | "part" | "diff" | "undo" | "again";

/** A click on a tool's question. `questionId` locates it; authority comes from `by` alone. */
export interface InboundPick {
  platform: string;
  conversationId: string;
  questionId: string;
  option: number;
  by: Author;
  at: number;
}

/** A click on an approval card. `cardOrApprovalId` locates it; authority comes from `by` alone. */
export interface InboundAnswer {
  platform: string;
  conversationId: string;
  /** The platform's id of the message with the card, if known. */
  messageId?: string;
  cardOrApprovalId: string;
  choice: AnswerChoice;
  by: Author;
  /** With `deny`: the reason, which the model reads. */
  reason?: string;
  /** With `edit`: the arguments as JSON text. */
  editedJson?: string;
  /** With `part`: the files to keep, as indexes into `ShownChanges.files`. */
  parts?: number[];
  at: number;
}

/** The answer to the person who clicked. Everyone else sees the updated card. */
export interface AnswerReceipt {
  accepted: boolean;
  text: string;
  /** With `diff`: the whole diff as plain text, for that person alone if the platform can. */
  file?: { name: string; text: string };
}

/** Tells the author why a message is not answered: privately if the platform can, otherwise as a reply. */
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
  /** Show it to the person alone, if the platform can. */
  isPrivate: boolean;
}

export interface ReplyTarget {
  platform: string;
  conversationId: string;
  turnId: string;
  /** The message to answer. A schedule's (`schedule:<id>:<time>`) is not on the platform, so its reply stands alone. */
  messageId: string;
}
