/**
 * Whose messages `chat_search` finds, for platforms with channels that not everybody sees: the platform's events feed a
 * real index, and its access checks decide.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createChatSearch } from "../../src/chat-log/chat-search.ts";
import { createMessageIndex, type MessageIndex } from "../../src/chat-log/message-index.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { FoundLine } from "../../src/ports/chat.ts";
import type { ChatSearchResult } from "../../src/ports/chat-services.ts";
import type { Author, InboundMessage } from "../../src/ports/message.ts";
import type { Platform, PlatformHandlers } from "../../src/ports/platform.ts";

export interface ChannelsWorld {
  platform: Platform;
  /** Of an open channel. */
  conversationId: string;
  /** The insider's direct messages. */
  direct: string;
  insider: Author;
  outsider: Author;
  /** The insider writes. */
  say(where: "open" | "hidden" | "private place", text: string): void;
  leaveHidden(): void;
  /** The insider leaves the workspace or server. */
  leaveAll(): void;
  /** The service refuses the next checks. */
  failChecks(): void;
  close(): Promise<void>;
}

export function describeChannels(
  name: string,
  open: (handlers: Pick<PlatformHandlers, "onMessage" | "onEdited" | "onDeleted">) => Promise<ChannelsWorld>,
): void {
  describe(`channels that a requester sees on ${name}`, () => {
    let world: ChannelsWorld;
    let index: MessageIndex;
    let heard: InboundMessage[];

    beforeEach(async () => {
      index = createMessageIndex(":memory:", () => {});
      heard = [];
      world = await open({
        async onMessage(message) {
          heard.push(message);
          const { id, platform, author, text, at, link, isDirect, isPrivate, scope } = message;
          if (isDirect || isPrivate === true || link === undefined) return undefined;
          const channelId = scope.slice("channel:".length);
          index.apply([
            { type: "add", platform, id, channelId, authorId: author.id, authorName: author.name, text, at, link },
          ]);
          return undefined;
        },
        onEdited: async () => {},
        onDeleted: async () => {},
      });
    });
    afterEach(async () => {
      await world.close();
      index.close();
    });

    async function say(where: Parameters<ChannelsWorld["say"]>[0], text: string): Promise<void> {
      world.say(where, text);
      await vi.waitFor(() => expect(heard.some((message) => message.text === text)).toBe(true));
    }

    async function search(requester: Author, conversationId = world.conversationId): Promise<FoundLine[]> {
      return (await searchResult(requester, conversationId)).lines;
    }

    async function searchResult(requester: Author, conversationId: string): Promise<ChatSearchResult> {
      const { platform } = world;
      if (platform.chat === undefined) throw new Error("there is no chat");
      const find = createChatSearch({
        chatLog: { isEnabled: true, isExcluded: () => false, find: async (query) => index.find(query) },
        log: silentLog,
      });
      const target = { platform: platform.name, conversationId, turnId: "t", messageId: "m" };
      const place = { conversationId, requester };
      return await find({ messages: [], target }, platform.chat, place, { text: "axolotl", limit: 50 });
    }

    const texts = (lines: readonly FoundLine[]) => lines.map(({ text }) => text).sort();

    test("an open channel is searched for everybody, a hidden one only for those in it, where nobody else reads it", async () => {
      await say("open", "axolotl in the open");
      await say("hidden", "axolotl in hiding");
      const both = await searchResult(world.insider, world.direct);
      expect(texts(both.lines)).toEqual(["axolotl in hiding", "axolotl in the open"]);
      expect(both).toMatchObject({
        closed: [],
        restricted: [{ name: "hidden", isOpenHere: true, isRestricted: true }],
      });
      const here = await searchResult(world.insider, world.conversationId);
      expect(texts(here.lines)).toEqual(["axolotl in the open"]);
      expect(here).toMatchObject({ closed: [{ name: "hidden", isOpenHere: false }], restricted: [] });
      const [line, ...rest] = await search(world.outsider);
      expect(rest).toEqual([]);
      expect(line).toMatchObject({ text: "axolotl in the open", channel: "general", author: { name: "Ben" } });
      expect(line?.link).toMatch(/^https:\/\//);
    });

    test("a person who leaves a channel, or leaves altogether, finds nothing of it any more", async () => {
      await say("open", "axolotl in the open");
      await say("hidden", "axolotl in hiding");
      world.leaveHidden();
      expect(texts(await search(world.insider, world.direct))).toEqual(["axolotl in the open"]);
      world.leaveAll();
      expect(await search(world.insider)).toEqual([]);
    });

    test("a place for only some people is marked as private, so that it is never in the log", async () => {
      await say("private place", "axolotl among us");
      expect(heard.at(-1)).toMatchObject({ isPrivate: true, isDirect: false });
      expect(await search(world.insider)).toEqual([]);
    });

    test("if the service can't tell who sees what, nothing is found", async () => {
      await say("open", "axolotl in the open");
      world.failChecks();
      await expect(search(world.insider).catch(() => [])).resolves.toEqual([]);
    });
  });
}
