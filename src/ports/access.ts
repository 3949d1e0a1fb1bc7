import type { CommandHandler } from "./command.ts";
import type { Author, InboundMessage, Notice } from "./message.ts";
import type { TurnRecord } from "./turn.ts";

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

/**
 * Why a person may not use the agent where the turn ran, in words for that person; undefined if they may. For everything that
 * people do later to what was asked: click, rate, answer a question.
 */
export type BarredBecause = (turn: TurnRecord, person: Author) => Promise<string | undefined>;

/**
 * Decides whether a click may start a turn's request again. Looks its requester up, because rights and membership may have
 * changed since. `text` is for the person who clicked.
 */
export type MayRepeat = (
  turn: TurnRecord,
  clickedBy: Author,
) => Promise<{ type: "allowed"; requester: Author } | { type: "refused"; text: string }>;

/** What it takes to start a request again. */
export interface Repeats {
  mayRepeat: MayRepeat;
  /** Stores a message like one that somebody wrote. Must ignore one that is already known. */
  accept(message: InboundMessage): Promise<unknown>;
}

/** `why` is for the log. `notice` tells the person, once a minute at most. */
export type RequestVerdict = { type: "admitted" } | { type: "limited"; why: string; notice?: Notice };

export interface RequestLimits {
  /** Counts the message as a request if there is room for it. */
  admit(message: InboundMessage): RequestVerdict;
}

export interface Access {
  check(visit: Visit): Promise<AccessVerdict>;
  command: CommandHandler;
}
