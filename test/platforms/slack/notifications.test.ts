/** What a notification of each kind of post says. Desktop clients show the first block, and phones show `text`. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { formatConversationId } from "../../../src/platforms/slack/conversation-id.ts";
import { cardMessages } from "../../../src/platforms/slack/outbound/cards/card.ts";
import { beginningOf } from "../../../src/platforms/slack/outbound/safe-text.ts";
import type { ApprovalCard, CardItem } from "../../../src/ports/card.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Reply } from "../../../src/ports/platform.ts";
import { createCard, createPosts, createQuestion, targetOf } from "../../conformance/platform-world.ts";
import { firstWords } from "../../doubles/slack/see.ts";
import { objectsIn, unescapeText } from "../../doubles/slack/wire.ts";
import { cardFor } from "./agent.ts";
import { changeCard } from "./changes.ts";
import { agents, edits, mentioned, running, useReplies, world } from "./reply-world.ts";

useReplies();

/** What was notified about since `work` began. */
async function notified(work: () => Promise<unknown>) {
  const { slack } = world;
  const before = new Set(agents().map(({ ts }) => ts));
  await work();
  const seen = [slack.ann, slack.ben].flatMap((as) =>
    [...slack.state.channels.values()].flatMap((channel) => slack.see({ in: channel, as })),
  );
  const posted = seen.filter(({ isAgents, isEphemeral, ts }) => (isAgents || isEphemeral) && !before.has(ts));
  return [...new Map(posted.map(({ ts, notification }) => [ts, notification])).values()];
}

/** Without Markdown's marks and the mark of an outcome. */
function beginning(text: string): string {
  return text.replace(/[`*]|✅ /gu, "").slice(0, "Ann asks: ".length);
}

function asking(message: InboundMessage): ApprovalCard {
  const { ben } = world.slack;
  const line = ["Waiting for ", { userId: ben.id, name: "Ben" }, "."];
  return { ...createCard(message), notify: { userIds: [ben.id], roleIds: [], line, text: "Waiting for Ben." } };
}

test("each kind of post says in its first block alone who wants what, and on phones the same", async () => {
  const message = await mentioned(edits);
  const { ann, ben, general, state, workspace } = world.slack;
  let turns = 0;
  /** Slack takes one post a second of each channel. */
  const room = () => {
    const { id: channel } = workspace.addChannel({ name: `room-${turns}`, members: [ann, ben], hasApp: true });
    return formatConversationId({ team: state.team.id, channel, thread: null });
  };
  const reply = (work: (reply: Reply) => Promise<unknown>) => () =>
    work(
      world.platform.reply({ ...targetOf(message), conversationId: room(), turnId: `turn-${++turns}` }, createPosts()),
    );
  const folder = await mkdtemp(join(tmpdir(), "remora-notifications-"));
  const path = join(folder, "report.pdf");
  await writeFile(path, "report");
  const file = { name: "report.pdf", path, mimeType: "application/pdf" };
  const copy = { text: "Ann needs an answer from you in #general.", link: "https://example.com/p1" };
  const kept: CardItem[] = [{ ...(changeCard(message).items[0] as CardItem), state: "consumed", choices: ["diff"] }];
  const chat = { conversationId: message.conversationId, requester: message.author };
  const kinds: Record<string, [work: () => Promise<unknown>, ...expected: string[]]> = {
    answer: [reply((to) => to.finish("It is **done**, Ann.", [])), "It is **done**, Ann."],
    failure: [reply((to) => to.fail("", "No model could answer.")), "No model could answer."],
    progress: [reply((to) => to.progress({ ...running("Running tests"), isQueued: true })), "Running tests · 1 min"],
    card: [reply((to) => to.ask(createCard(message))), "Ann asks: Run rm -rf ./build"],
    "card that mentions": [reply((to) => to.ask(asking(message))), "Ann asks: Run rm -rf ./build"],
    "copy of a card": [reply((to) => to.ask({ ...asking(message), copy })), "Ann asks: Run rm -rf ./build"],
    "card of several": [reply((to) => to.ask(cardFor(message, 3))), "Ann asks: 3 actions need approval"],
    "card in parts": [
      reply((to) => to.ask(cardFor(message, 8))),
      "Ann asks: 8 actions need approval",
      "Ann asks: 8 actions need approval (continued)",
    ],
    changes: [
      reply((to) => to.ask(changeCard(message))),
      "Ann asks: website: 1 file deleted, 1 changed, 1 added\nThe folder /srv/website is not the conversation's own.",
    ],
    "changes that were kept": [
      reply((to) => to.ask({ ...createCard(message), items: [{ ...(kept[0] as CardItem), outcome: "Kept 3 files" }] })),
      "✅ Kept 3 files",
    ],
    question: [
      reply((to) => to.question(createQuestion(message))),
      "The plugin deploy asks Ann: “Which *server* <b>?”",
    ],
    note: [
      reply((to) =>
        to.note({ key: "late", line: [{ userId: ben.id, name: "Ben" }, ": Ann’s request “Run x” expires in 5 min."] }),
      ),
      "@Ben: Ann’s request “Run x” expires in 5 min.",
    ],
    "post of a tool": [
      async () => await world.platform.chat?.post(chat, { text: "Lunch is at noon.", files: [], key: "post-1" }),
      "Lunch is at noon.",
    ],
    "post of a file alone": [
      async () => await world.platform.chat?.post(chat, { text: "", files: [file], key: "post-2" }),
      "Here is `report.pdf`.",
    ],
    "something asked by command": [
      async () => {
        world.slack.interactions.command({ as: ann, in: general, command: "/remora", text: "ask what is for lunch?" });
        await expect.poll(() => agents().some(({ text }) => text.includes("lunch?"))).toBe(true);
      },
      "Ann asks: what is for lunch?",
    ],
    "answer to a command": [
      async () => {
        world.slack.interactions.command({ as: ann, in: general, command: "/remora", text: "status" });
        await expect.poll(() => world.slack.see({ in: general, as: ann }).some((each) => each.isEphemeral)).toBe(true);
      },
      "Here you are.",
    ],
  };
  const said: Record<string, string[]> = {};
  const phones: Record<string, string[]> = {};
  for (const [kind, [work, ...expected]] of Object.entries(kinds)) {
    const posts = (await notified(work)).filter((post) => post !== undefined);
    said[kind] = posts.map(({ desktop }) => desktop).slice(0, expected.length);
    phones[kind] = posts.map(({ mobile }) => beginning(mobile)).slice(0, expected.length);
  }
  await rm(folder, { recursive: true });
  const all = (change: (text: string) => string) =>
    Object.fromEntries(Object.entries(kinds).map(([kind, [, ...expected]]) => [kind, expected.map(change)]));
  expect(said).toEqual(all((text) => text));
  expect(phones).toEqual(all(beginning));
});

test("whoever asks for whatever, a notification of each message of a card begins with who asks, and soon says for what", async () => {
  const message = await mentioned();
  const { ben, state } = world.slack;
  const words = fc
    .string({ minLength: 1, maxLength: 200, unit: "grapheme" })
    .map((text) => `${text.replace(/`/g, "")}x`);
  const line = ["Waiting for ", { userId: ben.id, name: "Ben" }, "."];
  const notify = { userIds: [ben.id], roleIds: [], line, text: "Waiting for Ben." };
  const copied = fc.option(fc.constant({ text: "Ann needs an answer from you in #general." }), { nil: undefined });
  fc.assert(
    fc.property(words, words, fc.integer({ min: 1, max: 12 }), copied, (requesterName, headline, count, copy) => {
      const card = { ...cardFor(message, count, { headline }), requesterName, notify, ...(copy && { copy }) };
      for (const { text, blocks } of cardMessages(card, "shared").parts) {
        const [desktop, lead] = [
          firstWords(state, objectsIn(blocks)),
          `${beginningOf(requesterName, 60)} asks: `.trimStart(),
        ];
        const what = count === 1 ? beginningOf(headline, 20).trim() : `${count} actions need approval`;
        expect(desktop.startsWith(lead)).toBe(true);
        expect(desktop.slice(0, 120)).toContain(what);
        expect(unescapeText(text)).toContain(" asks: ");
      }
    }),
  );
});
