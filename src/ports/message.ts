/** Input from people, in one form for every platform. Plain JSON, because the ledger stores it before anything acts on it. */

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
  /**
   * Absent for a member. A `guest` has limited rights; an `external` person belongs to another workspace that shares the
   * channel.
   */
  kind?: "guest" | "external";
}

export interface Attachment {
  name: string;
  mimeType: string;
  bytes: number;
  /** What the platform needs to open the file (`Platform.openFile`). Absent once the file was fetched or refused. */
  source?: JsonObject;
  /** Where the fetched file is, relative to the working folder. */
  path?: string;
  /** A first look at a file whose complete text is not here. */
  summary?: string;
  /** Why there is no content, as a sentence for people. */
  problem?: string;
  /** Content of a short text file; otherwise absent. */
  text?: string;
  /** Base64 of a picture, scaled to what models accept; otherwise absent. */
  imageBase64?: string;
}

/** A message from a person. `id` is unique within its platform; the same id means the same message. */
export interface InboundMessage {
  id: string;
  platform: string;
  /** Only the message's platform creates and interprets it, e.g. `local:channel:general:t42`. */
  conversationId: string;
  scope: Scope;
  /** The platform's ids of the channel (a thread's parent) and of its guild or workspace. Absent in DMs. */
  channelId?: string;
  spaceId?: string;
  author: Author;
  text: string;
  skill?: string;
  attachments: Attachment[];
  /** True for a mention, a DM, a reply to the agent, or a message in the agent's own thread. Other messages are not answered. */
  isAddressed: boolean;
  isDirect: boolean;
  /** Milliseconds since the epoch, by the platform's clock. */
  at: number;
}

/** The last four are for changes to files: keep some files, show the complete diff, undo, and run the request again. */
export type AnswerChoice = "approve" | "deny" | "edit" | "allow" | "part" | "diff" | "undo" | "again";

/** A click on a tool's question. `questionId` locates the question; authority comes only from `by`. */
export interface InboundPick {
  platform: string;
  conversationId: string;
  questionId: string;
  option: number;
  by: Author;
  at: number;
}

/** A click on an approval card. `cardOrApprovalId` locates the card; authority comes only from `by`. */
export interface InboundAnswer {
  platform: string;
  conversationId: string;
  /** The platform's id of the message with the card, if known. */
  messageId?: string;
  cardOrApprovalId: string;
  choice: AnswerChoice;
  by: Author;
  /** For `deny`, the reason, which the model reads. */
  reason?: string;
  /** For `edit`, the arguments as JSON text. */
  editedJson?: string;
  /** For `part`, the files to keep, as indexes into `ShownChanges.files`. */
  parts?: number[];
  at: number;
}

/** The answer to the person who clicked. Everyone else sees the updated card. */
export interface AnswerReceipt {
  accepted: boolean;
  text: string;
  /** For `diff`, the complete diff as plain text, visible only to that person if the platform supports it. */
  file?: { name: string; text: string };
}

/** Tells the author why a message is not answered: privately if the platform supports it, otherwise as a reply. */
export interface Notice {
  /** Standard Markdown. */
  text: string;
}

/** A typed `/remora NAME REST`, or a button with the same meaning. */
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
  /** Show the text only to that person, if the platform supports it. */
  isPrivate: boolean;
}

export interface ReplyTarget {
  platform: string;
  conversationId: string;
  turnId: string;
  /**
   * The message to answer. The message of a schedule (`schedule:<id>:<time>`) is not on the platform, so its reply is a new
   * message.
   */
  messageId: string;
}
