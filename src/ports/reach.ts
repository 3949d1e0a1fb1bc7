/** How a platform reaches people who may answer a card. The rules for answering never depend on it. */

export interface ReachedPerson {
  id: string;
  name: string;
  isBot: boolean;
  /** The person can read the conversation, so a mention there reaches them. */
  isHere: boolean;
}

export interface Reach {
  /** Omits people who do not exist or have left. Rejects if the service can't say. */
  people(userIds: readonly string[], conversationId: string): Promise<ReachedPerson[]>;
  /** For text only. Undefined if the platform has no such role. */
  roleName(roleId: string, conversationId: string): Promise<string | undefined>;
  /** Opens the person's direct conversation with the agent. Rejects if the service refuses it, or with `platform.away`. */
  direct(userId: string): Promise<string>;
  /** The conversation of what people write below a message of the agent there. Absent where that is the same one. */
  below?(conversationId: string, messageId: string): string;
  /** Where a message is, for people. The link is absent for places that others can't open. */
  place(conversationId: string, messageId: string): Promise<{ name: string; link?: string }>;
}
