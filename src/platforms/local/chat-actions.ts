/** What tools may do in the local chat. Everybody on the page can see the channels; only its person can see a DM. */
import { createHash } from "node:crypto";
import type { ChatActions, ChatPlace } from "../../ports/chat.ts";
import type { Scope } from "../../ports/message.ts";
import type { ToolFile } from "../../ports/tool.ts";
import { platformError } from "../shared/platform-error.ts";
import { chatMessage, type StoredMessage } from "./chat-message.ts";
import type { ChatStore } from "./chat-store.ts";
import { parseConversationId, scopeOf } from "./conversation-id.ts";
import { maxThreadMessages } from "./limits.ts";
import { isSaid, lineOf } from "./lines.ts";
import { attach } from "./reply.ts";

const pageSize = 100;
/** Everybody on the page sees every channel. */
const everybody = { isOpenHere: true, isRestricted: false };

interface Spot {
  place: Scope;
  thread: string | null;
}

export function createLocalChatActions(store: ChatStore): ChatActions {
  function placeSpot({ conversationId, channel }: ChatPlace): Spot {
    if (channel !== undefined) {
      const name = channel.replace(/^#/, "");
      if (!store.channels.has(name)) throw noAccess(`there is no channel ${channel} on the local page`);
      return { place: `channel:${name}`, thread: null };
    }
    const conversation = parseConversationId(conversationId);
    if (conversation === undefined) throw noAccess(`there is no conversation ${conversationId} on the local page`);
    return { place: scopeOf(conversation), thread: conversation.type === "channel" ? conversation.thread : null };
  }

  async function post(
    { place, thread }: Spot,
    { text, files, key }: { text: string; files: ToolFile[]; key: string },
  ): Promise<string> {
    const id = `t.${createHash("sha256").update(key).digest("hex").slice(0, 20)}`;
    const attached = await attach(store, id, files);
    const whole = [text, ...attached.notes].join("\n\n");
    await store.insert(chatMessage({ id, place, thread, text: whole, files: attached.files }), true);
    return id;
  }

  /** Reads further pages while cards, receipts and unfinished replies leave too few messages. */
  function saidIn(viewer: string, place: Scope, before: number, limit: number): StoredMessage[] {
    const found: StoredMessage[] = [];
    let page: StoredMessage[] = [];
    do {
      page = store.page(viewer, place, page[0]?.sequence ?? before, pageSize);
      found.unshift(...page.filter(isSaid));
    } while (page.length === pageSize && found.length < limit);
    return found;
  }

  return {
    async channels({ requester }) {
      const isKnown = store.people().some(({ id }) => id === requester.id);
      return isKnown ? store.channels.names().map((name) => ({ id: name, name, ...everybody })) : [];
    },
    audience: async (chatPlace) => ({ ...everybody, name: `#${placeSpot(chatPlace).place.replace(/^[^:]*:/, "")}` }),
    async history(chatPlace, { limit, before }) {
      const { place, thread } = placeSpot(chatPlace);
      const viewer = chatPlace.requester.id;
      const end = before === undefined ? undefined : messageIn(store, before, place).sequence;
      const said =
        thread === null
          ? saidIn(viewer, place, end ?? Number.MAX_SAFE_INTEGER, limit)
          : store
              .thread(viewer, thread, maxThreadMessages)
              .filter(({ sequence }) => end === undefined || sequence < end);
      const newest = said.filter(isSaid).slice(-limit);
      return newest.map((message) => ({ ...lineOf(message), replies: store.countReplies(message.id) }));
    },
    async files(chatPlace, messageId) {
      const { files, onlyFor } = messageIn(store, messageId, placeSpot(chatPlace).place);
      if ((onlyFor ?? chatPlace.requester.id) !== chatPlace.requester.id)
        throw noAccess(`there is no message ${messageId} in that place`);
      return files.map(({ id, name, mimeType, bytes }) => ({ name, mimeType, bytes, source: { file: id } }));
    },
    async post(chatPlace, message) {
      return { messageId: await post(placeSpot(chatPlace), message) };
    },
    async react() {
      throw platformError("local", "unsupported", "the local page has no reactions");
    },
    async openThread(chatPlace, { messageId, name, text, key }) {
      const { place } = placeSpot(chatPlace);
      if (place.startsWith("dm:")) throw noAccess("a DM on the local page has no threads");
      const root =
        messageId === undefined
          ? await post({ place, thread: null }, { text: `**${name}**`, files: [], key: `${key}:root` })
          : messageIn(store, messageId, place).id;
      await post({ place, thread: root }, { text, files: [], key });
      return { threadId: root };
    },
  };
}

function messageIn(store: ChatStore, id: string, place: Scope): StoredMessage {
  const message = store.get(id);
  if (message === undefined || message.place !== place || message.isDeleted)
    throw noAccess(`there is no message ${id} in that place`);
  return message;
}

function noAccess(message: string) {
  return platformError("local", "no-access", message);
}
