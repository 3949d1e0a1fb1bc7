import type { CommandHandler } from "./command.ts";
import type { Author, InboundMessage, Notice } from "./message.ts";

export interface PairingRecord {
  platform: string;
  person: Author;
  code: string;
  expiresAt: number;
  pairedBy?: Author;
}

export type AccessVerdict = { type: "allowed" } | { type: "refused"; why: string; notice?: Notice };

export type Visit = Pick<
  InboundMessage,
  "platform" | "author" | "isDirect" | "channelId" | "spaceId" | "conversationId"
>;

export interface Access {
  check(visit: Visit): Promise<AccessVerdict>;
  command: CommandHandler;
}
