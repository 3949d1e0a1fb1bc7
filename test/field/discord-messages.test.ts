/** Messages as people, apps and Discord itself send them: what can be read in them reaches the model, whatever form they have. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asMessage } from "../../src/platforms/discord/inbound/raw-message.ts";
import { shownMessage } from "../../src/platforms/discord/inbound/shown-message.ts";
import type { EarlierWanted } from "../../src/ports/earlier.ts";
import type { InboundMessage } from "../../src/ports/message.ts";
import { openedText } from "../doubles/opened-file.ts";
import { runs } from "../faults/share.ts";
import { agent, bot, discord, useConnectedBot } from "../platforms/discord/connected-bot.ts";
import { goodMessages, mutated } from "./discord-shapes.ts";

const ann = { id: "2000000000000000001", username: "ann", global_name: "Ann" };
const ben = { id: "2000000000000000002", username: "ben", global_name: "Ben" };
const hook = { id: "2000000000000000009", username: "Deploys", bot: true, discriminator: "0000" };
const place = { id: "3000000000000000001", channel_id: "4000000000000000001", type: 0, content: "", author: ann };

const textOf = (shape: object) => shownMessage({ ...place, ...shape }).text;

describe("a card of a webhook", () => {
  useConnectedBot();

  const card = {
    title: "Deploy failed",
    description: "service tarn-api",
    fields: [{ name: "step", value: "migrate" }],
    footer: { text: "run 881" },
  };
  const words = "Deploy failed\nservice tarn-api\nstep: migrate\nrun 881";
  const never = new AbortController().signal;
  const wanted: Omit<EarlierWanted, "said"> = { maxMessages: 50, channelMessages: 5, channelMs: 600_000 };
  const post = (where = discord.channel, shape: object = { embeds: [card] }) => where.webhookSays("Deploys", "", shape);
  const kept = (id: string) => discord.until(() => agent.kept.find((message) => message.id === id));

  async function asked(text: string, more: object): Promise<InboundMessage> {
    const said = discord.ann.say(`${discord.bot.mention} ${text}`, { in: discord.channel, ...more });
    return await kept(said.id);
  }

  test("is read whole when a person replies to it, asks about it in its thread, or forwards it", async () => {
    const about = post();
    const [quoted] = (await asked("what failed?", { replyTo: about })).attachments;
    expect(quoted?.text).toContain(words);
    const thread = discord.ben.startThread(about, "the deploy");
    const inThread = await asked("why?", { in: thread });
    const { lines = [] } = (await bot.platform.earlier?.(inThread, { said: "", ...wanted }, never)) ?? {};
    expect(lines.map(({ text }) => text)).toEqual([words]);
    const [copy] = (await kept(discord.ann.forward(about, { in: "dm" }).id)).attachments;
    expect(copy).toMatchObject({ name: "forwarded message", text: words });
  });

  test("is read whole by a linked message and by the history of the channel, with its buttons and their addresses", async () => {
    const components = [
      { type: 1, components: [{ type: 2, style: 5, label: "Runbook", url: "https://runbooks.example/7" }] },
    ];
    const about = post(discord.channel, { embeds: [card], components });
    const said = `${words}\n[button: Runbook (https://runbooks.example/7)]`;
    const link = `https://discord.com/channels/${discord.guild.id}/${discord.channel.id}/${about.id}`;
    const message = await asked(`what is ${link} ?`, {});
    const found = await bot.platform.earlier?.(message, { ...wanted, said: link, channelMessages: 0 }, never);
    expect(found?.lines).toMatchObject([{ kind: "linked", text: said }]);
    const requester = { id: discord.ann.id, name: "Ann", isBot: false, roles: [] };
    const conversationId = `discord:${discord.guild.id}:${discord.channel.id}:${message.id}`;
    const lines = await bot.platform.chat?.history({ conversationId, requester }, { limit: 5 });
    expect(lines?.[0]?.text).toBe(said);
  });

  test("whose files are only in its components has files that can be opened, also from a forward", async () => {
    const old = discord.ben.say("", { in: discord.channel, files: [{ name: "chart.csv", content: "a,b" }] });
    const [file] = discord.message(old)?.files ?? [];
    const components = [{ type: 17, components: [{ type: 13, file: { url: file?.url }, name: "chart.csv" }] }];
    const shape = { components, attachments: [], flags: 1 << 15 };
    const about = discord.ben.say("", { in: discord.channel, shape });
    const [opened] = (await kept(discord.ann.forward(about, { in: "dm" }).id)).attachments;
    expect(opened?.name).toBe("chart.csv");
    expect(await openedText(bot.platform, opened)).toBe("a,b");
  });

  test("that no longer exists, or is in another channel, is named with the reason instead of quoted", async () => {
    const gone = discord.ben.say("gone", { in: discord.channel });
    const secret = discord.guild.addChannel("secret", { isPrivate: true });
    const shape = { referenced_message: { ...place, channel_id: secret.id, content: "a secret", author: ben } };
    const said = await asked("and?", { replyTo: gone, shape });
    expect(said.attachments).toMatchObject([
      { name: "the message that this answers", problem: "It is in another channel." },
    ]);
    expect(JSON.stringify(said)).not.toContain("a secret");
    const deleted = await asked("and now?", { replyTo: gone, shape: { referenced_message: null } });
    expect(deleted.attachments).toMatchObject([{ problem: "It was deleted." }]);
  });

  test("is in nobody's way when Discord sends odd fields: a few hundred odd messages in a row leave the next one answered", async () => {
    fc.assert(
      fc.property(mutated, ({ message }) => {
        const { id: _id, channel_id: _channel, ...fields } = (message ?? {}) as Record<string, unknown>;
        const shape = { ...fields, id: discord.ann.id, channel_id: discord.channel.id };
        discord.gateway.send("MESSAGE_CREATE", shape);
        discord.gateway.send("MESSAGE_UPDATE", shape);
        discord.gateway.send("MESSAGE_CREATE", message);
      }),
      { numRuns: runs(150) },
    );
    const said = await asked("are you there?", {});
    expect(said.text).toBe("are you there?");
    for (const { text, attachments } of agent.delivered) {
      expect([text, ...attachments.map((each) => each.text ?? "")].join("\n")).not.toMatch(/\[object |\bundefined\b/);
    }
  });
});

describe("an embed", () => {
  const said: [string, object, string][] = [
    [
      "of a bot is read in the order in which it is shown",
      {
        author: hook,
        embeds: [
          {
            type: "rich",
            provider: { name: "Tarn" },
            author: { name: "CI", url: "https://ci.example" },
            title: "Build 7",
            url: "https://ci.example/7",
            description: "red",
            fields: [
              { name: "branch", value: "main" },
              { name: "\u200b", value: "second column" },
            ],
            image: { url: "https://ci.example/7.png", description: "a graph" },
            thumbnail: { url: "https://ci.example/t.png" },
            footer: { text: "nightly" },
            timestamp: "2026-11-01T08:00:00Z",
          },
        ],
      },
      "Tarn\nCI (https://ci.example)\nBuild 7 (https://ci.example/7)\nred\nbranch: main\nsecond column\n" +
        "[picture: a graph, https://ci.example/7.png]\n[picture: https://ci.example/t.png]\nnightly · 2026-11-01T08:00:00Z",
    ],
    [
      "of a link says what the page is, and not the link again",
      {
        content: "see https://news.example/a",
        embeds: [{ type: "article", url: "https://news.example/a", title: "Storm", description: "It blows." }],
      },
      "see https://news.example/a\n[link preview] Storm\nIt blows.",
    ],
    [
      "of a link that says nothing more is silent",
      { content: "https://a.example", embeds: [{ type: "link", url: "https://a.example" }] },
      "https://a.example",
    ],
    [
      "that people have hidden is not read",
      { content: "https://a.example", flags: 4, embeds: [{ type: "link", url: "https://a.example", title: "A" }] },
      "https://a.example",
    ],
    [
      "of an ended poll names the winner",
      {
        type: 46,
        embeds: [
          {
            type: "poll_result",
            fields: [
              { name: "poll_question_text", value: "Lunch?" },
              { name: "total_votes", value: "5" },
              { name: "victor_answer_text", value: "Soup" },
              { name: "victor_answer_votes", value: "3" },
            ],
          },
        ],
      },
      "[The poll has ended: Lunch?] The most votes: Soup. 3 of 5 votes.",
    ],
    [
      "of AutoMod shows the message and the rule",
      {
        type: 24,
        embeds: [
          {
            type: "auto_moderation_message",
            description: "buy coins",
            fields: [{ name: "rule_name", value: "Spam" }],
          },
        ],
      },
      "[AutoMod acted on a message]\nbuy coins\nrule name: Spam",
    ],
    [
      "of a type that nobody knows is named, with what can be read in it",
      { author: hook, embeds: [{ type: "quiz", title: "2 + 2?" }] },
      "[an embed of type quiz]\n2 + 2?",
    ],
  ];
  for (const [name, shape, text] of said) test(`an embed ${name}`, () => expect(textOf(shape)).toBe(text));
});

describe("components", () => {
  const said: [string, object, string][] = [
    [
      "are read in their order, with labels, addresses, menus and pictures",
      {
        flags: 1 << 15,
        components: [
          { type: 10, content: "# Order 7" },
          {
            type: 17,
            components: [
              {
                type: 9,
                components: [{ type: 10, content: "two boats" }],
                accessory: { type: 11, media: { url: "https://a.example/b.png" }, description: "a boat" },
              },
              { type: 14, divider: true },
              { type: 12, items: [{ media: { url: "https://a.example/c.png" }, description: "the harbour" }] },
              {
                type: 1,
                components: [
                  { type: 2, style: 1, label: "Pay", custom_id: "p", emoji: { name: "💶" } },
                  { type: 2, style: 5, label: "Track", url: "https://t.example/7" },
                ],
              },
              {
                type: 1,
                components: [
                  {
                    type: 3,
                    custom_id: "s",
                    placeholder: "Size",
                    options: [{ label: "S" }, { label: "L", description: "large", default: true }],
                  },
                ],
              },
              { type: 1, components: [{ type: 5, custom_id: "u", placeholder: "Who?" }] },
            ],
          },
        ],
      },
      "# Order 7\ntwo boats\n[picture: a boat, https://a.example/b.png]\n---\n[picture: the harbour, https://a.example/c.png]\n" +
        "[button: 💶 Pay] [button: Track (https://t.example/7)]\n[menu: Size: S, L (large) [chosen]]\n[menu of people: Who?]",
    ],
    [
      "of an unknown type are named, with what is in them",
      { components: [{ type: 99, title: "New", components: [{ type: 10, content: "inside" }] }] },
      "[a component of type 99]\nNew\ninside",
    ],
  ];
  for (const [name, shape, text] of said) test(`components ${name}`, () => expect(textOf(shape)).toBe(text));

  test("components that are nested 20 deep are read to the ground, and 40,000 characters in one of them whole", () => {
    const long = `${"x".repeat(39_995)} end.`;
    const deep = Array.from({ length: 20 }).reduce<object>((inner) => ({ type: 17, components: [inner] }), {
      type: 10,
      content: long,
    });
    expect(textOf({ components: [deep] })).toBe(long);
  });
});

describe("what else a message holds", () => {
  const poll = {
    question: { text: "Lunch?" },
    answers: [
      { answer_id: 1, poll_media: { text: "Soup", emoji: { name: "🍲" } } },
      { answer_id: 2, poll_media: { text: "Rice" } },
    ],
    allow_multiselect: true,
    results: { is_finalized: true, answer_counts: [{ id: 1, count: 3 }] },
  };
  const said: [string, object, string][] = [
    [
      "a poll beside words is read with its votes",
      { content: "please vote", poll },
      "please vote\nPoll: Lunch? (several answers allowed) (ended)\n- 🍲 Soup (votes: 3)\n- Rice",
    ],
    ["a sticker is named", { sticker_items: [{ id: "1", name: "Wave", format_type: 1 }] }, "[sticker: Wave]"],
    [
      "a file's description is read",
      { attachments: [{ id: "1", filename: "a.png", description: "the graph", url: "https://a.example/a.png" }] },
      "[a.png: the graph]",
    ],
    [
      "an app's answer names who used which command",
      {
        type: 20,
        author: hook,
        content: "done",
        interaction: { name: "deploy", user: ben },
        interaction_metadata: { type: 2, user: ben },
      },
      "[answers Ben, who used /deploy]\ndone",
    ],
    [
      "an app that still works is said to",
      { type: 20, author: hook, flags: 128 },
      "[the app is still working on this]",
    ],
    [
      "a followed channel's deleted message is said to be deleted",
      { author: hook, flags: 2 | 8 },
      "[the original message was deleted]",
    ],
    [
      "an invitation to a game is named",
      { activity: { type: 1, party_id: "p" }, application: { id: "1", name: "Chess" } },
      "[an invitation to Chess]",
    ],
    [
      "a reply shows what it answers",
      {
        type: 19,
        content: "no",
        message_reference: { message_id: "5", channel_id: place.channel_id },
        referenced_message: { ...place, id: "5", author: ben, content: "ship?\nnow?" },
      },
      `[in reply to Ben (<@${ben.id}>)]\n> ship?\n> now?\nno`,
    ],
    [
      "several forwards are read, with what is in them",
      {
        flags: 1 << 14,
        message_reference: { type: 1, message_id: "5", channel_id: "6" },
        message_snapshots: [
          { message: { content: "one", sticker_items: [{ name: "Wave" }] } },
          {
            message: {
              content: "",
              embeds: [{ type: "rich", title: "two" }],
              attachments: [{ id: "7", filename: "b.txt" }],
            },
          },
        ],
      },
      "[forwarded] one\n[sticker: Wave]\n[forwarded] two\n[file: b.txt]",
    ],
    [
      "a forward of a forward is read",
      {
        message_snapshots: [{ message: { content: "outer", message_snapshots: [{ message: { content: "inner" } }] } }],
      },
      "[forwarded] outer\n[forwarded] inner",
    ],
    [
      "a forward without its content is named",
      { message_reference: { type: 1, message_id: "5", channel_id: "6" } },
      "[forwarded] [a message that I can't see]",
    ],
  ];
  for (const [name, shape, text] of said) test(name, () => expect(textOf(shape)).toBe(text));

  const notices: [number, object, string][] = [
    [1, { mentions: [ben] }, `[added <@${ben.id}>]`],
    [3, { call: { participants: [], ended_timestamp: null } }, "[started a call]"],
    [4, { content: "ops" }, "[changed the channel's name: ops]"],
    [6, {}, "[pinned a message to this channel]"],
    [7, {}, "[joined the server]"],
    [8, { content: "3" }, "[boosted the server 3]"],
    [10, {}, "[boosted the server, which is on level 2 now]"],
    [12, { content: "News" }, "[follows News: its most important updates will be shown here]"],
    [18, { content: "plans" }, "[started a thread: plans]"],
    [
      25,
      { role_subscription_data: { tier_name: "Gold", total_months_subscribed: 3, is_renewal: true } },
      "[renewed Gold, subscribed for 3 months]",
    ],
    [31, { content: "Boats" }, "[changed the stage's topic: Boats]"],
    [38, {}, "[reported a raid]"],
    [99, { content: "hello" }, "[a message of type 99]\nhello"],
  ];
  for (const [type, shape, text] of notices)
    test(`a message of type ${type} is the line that Discord shows: ${text}`, () =>
      expect(textOf({ type, ...shape })).toBe(text));

  test("of 200 files, none is lost, and one without a link is named with the reason", () => {
    const attachments = Array.from({ length: 200 }, (_, index) => ({
      id: String(index),
      filename: `${index}.txt`,
      size: 1,
      ...(index === 7 ? { url: null } : { url: `https://cdn.discordapp.com/attachments/1/${index}/${index}.txt` }),
    }));
    const { files } = shownMessage({ ...place, attachments });
    expect(files).toHaveLength(200);
    expect(files.filter(({ problem }) => problem !== undefined).map(({ name }) => name)).toEqual(["7.txt"]);
  });
});

describe("whatever Discord sends", () => {
  test("a message whose fields are null, missing or of another type is read without an error, and no text says [object Object]", () => {
    fc.assert(
      fc.property(mutated, ({ message }) => {
        const { text, files } = shownMessage(message);
        const names = files.flatMap(({ name, from = "", problem = "" }) => [name, from, problem]);
        for (const said of [text, ...names]) expect(said).not.toMatch(/\[object |\bundefined\b|\bNaN\b/);
        const raw = asMessage(message);
        if (raw === undefined) return;
        for (const each of [raw.id, raw.channel_id, raw.content, raw.author.id, raw.timestamp])
          expect(typeof each).toBe("string");
      }),
      { numRuns: runs(5_000) },
    );
  });

  test("words stay when another field of the message is broken", () => {
    fc.assert(
      fc.property(mutated, ({ message, original, path }) => {
        const words = (original as { content?: string }).content ?? "";
        if (path[0] === "content" || path[0] === undefined || path[0] === "flags" || path[0] === "type") return;
        expect(shownMessage(message).text).toContain(words);
      }),
      { numRuns: runs(2_000) },
    );
  });

  test("every good message can be read", () => {
    for (const message of goodMessages) expect(shownMessage(message).text).not.toContain("can't read");
  });
});
