/** The local platform: a small chat on this machine, behind the same port as Discord and Slack. */
import { Readable } from "node:stream";
import type { Hono } from "hono";
import { z } from "zod";
import type { Platform, PlatformHandlers, Posts } from "../../ports/platform.ts";
import { deletedFile } from "../shared/file-download.ts";
import { createLocalChatActions } from "./chat-actions.ts";
import { type ChatStore, createChatStore } from "./chat-store.ts";
import { type LocalConversation, parseConversationId } from "./conversation-id.ts";
import { createEarlier } from "./earlier.ts";
import { createInbound } from "./inbound.ts";
import type { LocalPlatformOptions } from "./options.ts";
import { createReach } from "./reach.ts";
import { createLocalReply } from "./reply.ts";
import { mountRoutes } from "./routes.ts";

export interface LocalPlatform extends Platform {
  /** `app` must check token, origin and host before any route mounted here. */
  mount(app: Hono): void;
}

const firstChannels = ["general", "random"];
const firstPeople = [
  { id: "ann", name: "Ann" },
  { id: "ben", name: "Ben" },
];

export function createLocalPlatform(options: LocalPlatformOptions): LocalPlatform {
  const { log } = options;
  const store = createChatStore(options.dataFile);
  const { channels } = store;
  for (const person of firstPeople) store.addPerson(person);
  for (const name of firstChannels) channels.add(name);
  const ended = new AbortController();
  const openReplies = new Set<Posts>();
  let connected: PlatformHandlers | undefined;
  const inbound = createInbound({ store, handlers: () => connected, log });

  function isOpen(conversation: LocalConversation): boolean {
    if (conversation.type === "dm") return store.people().some((person) => person.id === conversation.person);
    const { channel, thread } = conversation;
    return channels.has(channel) && (thread === null || store.spotOf(thread)?.place === `channel:${channel}`);
  }

  function disconnect(): void {
    connected = undefined;
    ended.abort();
  }

  return {
    name: "local",
    async connect(handlers, signal) {
      connected = handlers;
      signal.addEventListener("abort", disconnect, { once: true });
      await inbound.redeliver();
    },
    earlier: createEarlier(store),
    async mayRead(conversationId, person) {
      const conversation = parseConversationId(conversationId);
      const isKnown = store.people().some(({ id }) => id === person.id);
      if (!isKnown || conversation === undefined) return false;
      return conversation.type === "channel" || conversation.person === person.id;
    },
    reach: createReach(store),
    chat: createLocalChatActions(store),
    reply: (target, posts) => createLocalReply({ store, target, posts, isOpen, openReplies, log }),
    openFile: openStoredFile(store),
    health() {
      const isConnected = connected !== undefined;
      return { isConnected, detail: isConnected ? "the chat page takes messages" : "the chat page is closed" };
    },
    async close() {
      disconnect();
      store.close();
    },
    mount: (app) => mountRoutes(app, { ...options, store, inbound, signal: ended.signal }),
  };
}

const sourceSchema = z.object({ file: z.string() });

function openStoredFile({ files }: ChatStore): NonNullable<Platform["openFile"]> {
  return async ({ source }, signal) => {
    const { file } = sourceSchema.parse(source);
    if (files.get(file) === undefined) throw deletedFile("local");
    return Readable.from(files.read(file), { signal });
  };
}
