/** What a turn's calls read in the chat: only what everybody who reads the answer may read. */
import type { ChatActions, ChatPlace, ChatQuery, FoundLine, SeenChannel } from "./chat.ts";
import type { TurnRecord } from "./turn.ts";

export type ChatSearch = (
  turn: Pick<TurnRecord, "messages" | "target">,
  chat: ChatActions,
  place: ChatPlace,
  query: ChatQuery,
) => Promise<ChatSearchResult>;

export interface ChatSearchResult {
  lines: FoundLine[];
  /** The channels of `lines` that are restricted. */
  restricted: SeenChannel[];
  /** Channels that the requester can see and other readers of the conversation can't. They were not searched. */
  closed: SeenChannel[];
  /** The service's own search has found some of `lines`, so they may not be stored. */
  isEphemeral: boolean;
  /** What was not searched, and why, as a sentence for the model. */
  notice?: string;
}

/**
 * Asks the turn's request again in a direct message with its requester, because it needs a place that not everybody in its
 * conversation can read. `source` names the place for the requester alone. Resolves to what the model is told. Calling it
 * again for the same turn has no further effect.
 */
export type AskDirectly = (turn: TurnRecord, source: string) => Promise<string>;
