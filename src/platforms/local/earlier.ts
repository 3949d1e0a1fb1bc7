/** Reads what was said before a message on the local page: in its thread, in its channel, and in messages that it links to. */
import type { EarlierKind, EarlierLine, EarlierWanted } from "../../ports/earlier.ts";
import type { Scope } from "../../ports/message.ts";
import type { Platform } from "../../ports/platform.ts";
import { agent, type PlacedMessage, type StoredMessage } from "./chat-message.ts";
import type { ChatStore } from "./chat-store.ts";
import { decoded, parseConversationId } from "./conversation-id.ts";
import { isSaid, lineOf } from "./lines.ts";

/** Read this many times the wanted number, because the store also returns cards and receipts. */
const margin = 2;
const maxLinks = 3;
/** The part of the page's address that names the open thread. */
const linkPattern = /#\/([^\s/]+)\/([^\s)>\]]+)/g;

export function createEarlier(store: ChatStore): NonNullable<Platform["earlier"]> {
  function since({ since, after }: EarlierWanted): (message: PlacedMessage) => boolean {
    const sequence = since === undefined ? undefined : store.get(since)?.sequence;
    return (message) => (sequence === undefined || message.sequence > sequence) && message.at > (after ?? 0);
  }

  function inThread(said: StoredMessage, thread: string, wanted: EarlierWanted) {
    const [root, ...rest] = store.thread(said.author.id, thread, wanted.maxMessages * margin, said.sequence);
    const replies = rest.filter(isSaid).filter(since(wanted)).slice(-wanted.maxMessages);
    const isFirst = wanted.since === undefined && wanted.after === undefined;
    const first = isFirst && root !== undefined && isSaid(root) ? [root] : [];
    const count = isFirst ? store.countReplies(thread, said.sequence) : replies.length;
    return {
      lines: [...as("root", first), ...as("thread", replies)],
      leftOut: Math.max(0, count - replies.length),
    };
  }

  function inChannel(said: StoredMessage, wanted: EarlierWanted): EarlierLine[] {
    const { channelMessages, channelMs } = wanted;
    const page = store.placed(said.author.id, said.place, said.sequence, channelMessages * margin);
    const recent = page.filter(isSaid).filter(since(wanted));
    return as("channel", recent.filter(({ at }) => at >= said.at - channelMs).slice(-channelMessages));
  }

  function linked(viewer: string, place: Scope, text: string): EarlierLine[] {
    const names = [...text.matchAll(linkPattern)].slice(0, maxLinks);
    const found = names.flatMap(([, channel = "", id = ""]) => {
      const message = `channel:${decoded(channel)}` === place ? store.get(decoded(id)) : undefined;
      const isVisible = message?.place === place && (message.onlyFor ?? viewer) === viewer && isSaid(message);
      return isVisible ? [message] : [];
    });
    return as("linked", found);
  }

  return async (message, wanted) => {
    const said = store.get(message.id);
    const conversation = parseConversationId(message.conversationId);
    if (said === undefined || conversation?.type !== "channel") return { lines: [], leftOut: 0, notes: [] };
    const links = linked(said.author.id, said.place, wanted.said);
    const isInThread = said.thread !== null && wanted.maxMessages > 0;
    const thread = isInThread && said.thread !== null ? inThread(said, said.thread, wanted) : { lines: [], leftOut: 0 };
    const isInChannel = said.thread === null && wanted.channelMessages > 0;
    const around = isInChannel ? inChannel(said, wanted) : thread.lines;
    return { lines: [...links, ...around], leftOut: thread.leftOut, notes: [] };
  };
}

function as(kind: EarlierKind, messages: readonly PlacedMessage[]): EarlierLine[] {
  return messages.map((message) => {
    const line = lineOf(message);
    return { ...line, kind, isOwn: line.author.id === agent.id && line.author.isBot };
  });
}
