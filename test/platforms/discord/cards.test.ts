import { MessageFlags } from "discord.js";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { formatButtonId, parseButtonId } from "../../../src/platforms/discord/interactions/custom-id.ts";
import { cardMessages, cardStyles } from "../../../src/platforms/discord/outbound/cards/card.ts";
import type { ApprovalCard, CardItem } from "../../../src/ports/card.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Posts, Reply } from "../../../src/ports/platform.ts";
import type { QuestionCard } from "../../../src/ports/question.ts";
import { createCard, createPosts, targetOf } from "../../conformance/platform.ts";
import type { DiscordDouble } from "../../doubles/discord/double.ts";
import { readMessage } from "../../doubles/discord/message-form.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent, type RecordingAgent } from "./recording-agent.ts";
import { rendered, textDisplays } from "./rendering.ts";

let bot: DiscordBot;
let agent: RecordingAgent;
let discord: DiscordDouble;

beforeEach(async () => {
  bot = await openDiscordBot();
  discord = bot.discord;
  agent = createRecordingAgent();
  await bot.platform.connect(agent.handlers, new AbortController().signal);
});
afterEach(() => bot.close());

async function mentioned(): Promise<InboundMessage> {
  const said = discord.ann.say(`${discord.bot.mention} deploy`, { in: discord.channel });
  return await discord.until(() => agent.kept.find(({ id }) => id === said.id));
}

function replyTo(message: InboundMessage, posts: Posts = createPosts()): Reply {
  return bot.platform.reply(targetOf(message), posts);
}

function cards(): SeenMessage[] {
  const all = [discord.channel, ...discord.channel.threads()].flatMap((channel) => channel.messages());
  return all.filter(
    ({ author, embeds, components }) => author.id === discord.bot.id && (embeds.length > 0 || components?.length !== 0),
  );
}

function item(message: InboundMessage, changes: Partial<CardItem>): CardItem {
  return { ...(createCard(message).items[0] as CardItem), ...changes };
}

function cardOf(message: InboundMessage, count: number): ApprovalCard {
  const items = Array.from({ length: count }, (_, index) =>
    item(message, { approvalId: `approval-${index + 1}`, callText: `shell_exec\ncommand: "echo ${index + 1}"` }),
  );
  return { ...createCard(message), items };
}

function settled(card: ApprovalCard): ApprovalCard {
  const items = card.items.map(
    (each): CardItem => ({ ...each, state: "denied", choices: [], outcome: "Denied by Ann" }),
  );
  return { ...card, items };
}

async function clicked(message: SeenMessage, label: string, who = discord.ann) {
  const click = who.click(message, label);
  await discord.until(() => click.state() === "answered");
  return click;
}

/** Opens More… and presses a button of it. */
async function chosen(message: SeenMessage, label: string, who = discord.ann) {
  const menu = await clicked(message, "More…", who);
  return who.click(menu.reply() as SeenMessage, label);
}

describe("what a card shows", () => {
  test("what will happen, the call, who may answer, and when it expires as Discord counts it down", async () => {
    const message = await mentioned();
    const expiresAt = Date.now() + 3_600_000;
    const grantText = "For 45 minutes, in this conversation: calls that ask only because of “rm ” run without asking.";
    const [one] = [item(message, { choices: ["approve", "deny", "edit", "allow", "why"], editJson: "{}", grantText })];
    await replyTo(message).ask({ ...createCard(message), expiresAt, items: [one as CardItem] });
    const [card] = cards();
    expect(card?.buttons.map(({ label, style }) => [label, style])).toEqual([
      ["Approve", 3],
      ["Deny", 4],
      ["More…", 2],
    ]);
    const { text } = rendered(card as SeenMessage);
    for (const part of [
      "Run rm -rf ./build",
      "Asks before it deletes.",
      "rm -rf ./build",
      "Asked by Ann · Ann may answer",
      `<t:${Math.floor(expiresAt / 1000)}:R>`,
    ])
      expect(text).toContain(part);
    for (const part of [grantText, "Pattern"]) expect(text).not.toContain(part);
    const menu = (await clicked(card as SeenMessage, "More…")).reply() as SeenMessage;
    expect(menu.isEphemeral).toBe(true);
    expect(rendered(menu).text).toContain(grantText);
    const labels = menu.buttons.map(({ label }) => label);
    expect(labels).toEqual(["Edit…", "Allow here for 45 min", "Deny with reason…", "Why this asks"]);
  });

  test("without an expiry none is shown, and a settled card has none either", async () => {
    const message = await mentioned();
    const reply = replyTo(message);
    await reply.ask({ ...createCard(message), expiresAt: null });
    expect(rendered(cards()[0] as SeenMessage).text).not.toContain("<t:");
    await reply.settle(settled(createCard(message)));
    expect(rendered(cards()[0] as SeenMessage).text).toBe("❌ Denied by Ann");
  });

  test("several calls share a card with a row each and one line for all", async () => {
    const message = await mentioned();
    await replyTo(message).ask(cardOf(message, 3));
    const [card, ...more] = cards();
    expect(more).toEqual([]);
    const { text } = rendered(card as SeenMessage);
    for (const number of [1, 2, 3]) expect(text).toContain(`${number}. Run rm -rf ./build`);
    expect(card?.buttons.map(({ label }) => label)).toEqual([
      "Approve 1",
      "Deny 1",
      "More 1…",
      "Approve 2",
      "Deny 2",
      "More 2…",
      "Approve 3",
      "Deny 3",
      "More 3…",
      "Approve all 3",
      "Deny all 3",
    ]);
    await clicked(card as SeenMessage, "Deny all 3");
    await clicked(card as SeenMessage, "Approve 2");
    expect(agent.answers).toMatchObject([
      { cardOrApprovalId: "card-1", choice: "deny", messageId: card?.id },
      { cardOrApprovalId: "approval-2", choice: "approve", messageId: card?.id },
    ]);
  });

  test("a card of many rows goes on in further messages, which are its own, stay in their place and are all settled", async () => {
    const message = await mentioned();
    const posts = createPosts();
    const reply = replyTo(message, posts);
    const card = cardOf(message, 11);
    await reply.ask(card);
    const shown = cards();
    expect(shown.map(({ components }) => components?.filter(({ type }) => type === 17).length)).toEqual([3, 3, 3, 2]);
    await clicked(shown[3] as SeenMessage, "Approve 11");
    expect(agent.answers).toMatchObject([{ cardOrApprovalId: "approval-11", messageId: shown[0]?.id }]);
    await bot.restart();
    await replyTo(message, posts).settle(settled(card));
    expect(cards().map(({ id }) => id)).toEqual(shown.map(({ id }) => id));
    for (const each of cards()) {
      expect(each.buttons).toEqual([]);
      expect(rendered(each).text).toContain("Denied by Ann");
    }
  });

  test("a long call is shown with head and tail and attached whole, and is gone once it is settled", async () => {
    const message = await mentioned();
    const reply = replyTo(message);
    const callText = `shell_exec\ncommand: "${"x".repeat(30_000)} && rm -rf the-tail"`;
    await reply.ask(createCard(message, { callText }));
    const [card] = cards();
    expect(rendered(card as SeenMessage).text).toMatch(
      /^Run rm -rf \.\/build\nAsks before it deletes\.\nshell_exec\ncommand: "xx[\s\S]*\n…\n[\s\S]*rm -rf the-tail"/,
    );
    expect(rendered(card as SeenMessage).text).toMatch(
      /⚠️ 2\d,\d{3} of 30,\d{3} characters are not shown\. Read call-1\.txt before you approve\.\nAsked by/,
    );
    expect(card?.files.map(({ name }) => name)).toEqual(["call-1.txt"]);
    expect(card?.files[0]?.text).toContain(callText);
    await reply.settle(createCard(message, { callText, state: "denied", choices: [], outcome: "Denied by Ann" }));
    expect(rendered(cards()[0] as SeenMessage).text).toBe("❌ Denied by Ann");
    expect(cards()[0]?.files).toEqual([]);
  });

  test("where no file may be attached, what is not seen whole can't be approved, and what is can", async () => {
    discord.channel.permit(discord.bot, { deny: ["AttachFiles"] });
    const message = await mentioned();
    const items = [item(message, { callText: "x".repeat(30_000) }), item(message, { approvalId: "approval-2" })];
    await replyTo(message).ask({ ...createCard(message), items });
    const [card] = cards();
    expect(card?.buttons.map(({ label }) => label)).toEqual([
      "Deny 1",
      "More 1…",
      "Approve 2",
      "Deny 2",
      "More 2…",
      "Deny all 2",
    ]);
    expect(rendered(card as SeenMessage).text).toContain("can't be approved here");
  });

  test("where embeds and files are not allowed the card is whole all the same", async () => {
    discord.channel.permit(discord.bot, { deny: ["EmbedLinks", "AttachFiles"] });
    const message = await mentioned();
    const reply = replyTo(message);
    await reply.ask(createCard(message, { choices: ["approve", "deny"], reason: "https://evil.example **x**" }));
    const [card] = cards();
    expect(card?.embeds).toEqual([]);
    expect(rendered(card as SeenMessage).text).toContain("rm -rf ./build");
    expect(rendered(card as SeenMessage).effects).toEqual([]);
    expect(card?.buttons.map(({ label }) => label)).toEqual(["Approve", "Deny", "More…"]);
  });

  const text = fc.oneof(
    fc.string({ maxLength: 400 }),
    fc.stringMatching(/^[*_`~|<>@#\\[\]()\n:-]{0,300}$/),
    fc.constant("`".repeat(5_000)),
    fc.constant("x".repeat(9_000)),
    fc.constant("\\".repeat(700)),
  );
  const anyItem: fc.Arbitrary<CardItem> = fc.record(
    {
      approvalId: fc.stringMatching(/^[\w-]{22}$/),
      tool: text,
      callText: text,
      headline: text,
      channels: fc.constantFrom(["123456789012345678"], ["C0123456789"]),
      reason: text,
      why: fc.array(text, { maxLength: 9 }),
      warning: text,
      times: fc.integer({ min: 1, max: 99 }),
      state: fc.constantFrom("open", "denied", "consumed"),
      choices: fc.constantFrom([], ["approve", "deny"], ["approve", "deny", "edit", "allow"]),
      editJson: fc.constant("{}"),
      grantText: text,
      editedFrom: text,
      progress: text,
      outcome: text,
    },
    { requiredKeys: ["approvalId", "tool", "headline", "callText", "why", "times", "state", "choices"] },
  );

  test("any card is one that Discord takes, and nothing in it does anything", async () => {
    const message = await mentioned();
    fc.assert(
      fc.property(
        fc.uniqueArray(anyItem, { minLength: 1, maxLength: 12, selector: ({ approvalId }) => approvalId }),
        text,
        fc.constantFrom(...cardStyles),
        (items, approversText, style) => {
          const card: ApprovalCard = { ...createCard(message), id: "c".repeat(22), items, approversText };
          const place = { thread: "1".repeat(20), firstMessage: "2".repeat(20) };
          for (const each of cardMessages(card, { place, style })) {
            const files = (each.files ?? []).map(({ name, data }) => ({
              index: "0",
              filename: name,
              bytes: Buffer.from(String(data)),
            }));
            const flags = MessageFlags.IsComponentsV2;
            const { components = [] } = readMessage({ ...each, files: undefined, flags }, files);
            expect(components).not.toEqual([]);
            const { effects } = rendered({
              content: "",
              embeds: [],
              components,
              pings: { users: [], roles: [], everyone: false },
              previews: [],
            } as unknown as SeenMessage);
            // A channel's name notifies nobody.
            expect(effects.filter((effect) => effect !== "mentions <#123456789012345678>")).toEqual([]);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test("whatever is offered to be approved is seen whole", async () => {
    const message = await mentioned();
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 12_000 }), { minLength: 1, maxLength: 12 }),
        fc.constantFrom(...cardStyles),
        (lengths, style) => {
          const items = lengths.map((length, index) =>
            item(message, {
              approvalId: `approval-${index}`,
              callText: `${index}: ${"word ".repeat(length / 5)}end-${index}.`,
            }),
          );
          const card = { ...createCard(message), items };
          const all: string[] = [];
          for (const each of cardMessages(card, { place: { thread: null }, style })) {
            const files = (each.files ?? []).map(({ data }) => String(data)).join("\n");
            const seen = `${(each.components ?? []).flatMap(textDisplays).join("\n")}${files}`;
            const offered = JSON.stringify(each.components).match(/approve\|\|\|approval-\d+/g) ?? [];
            if (style === "full") all.push(...offered);
            for (const id of offered) expect(seen).toContain(items[Number(id.split("-")[1])]?.callText);
          }
          if (style === "full") expect(all).toHaveLength(items.length);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("clicks", () => {
  test("are acknowledged before anything is decided, and the receipt is for the person alone", async () => {
    const message = await mentioned();
    await replyTo(message).ask(createCard(message));
    let decide: (() => void) | undefined;
    agent.handlers.onAnswer = () =>
      new Promise((resolve) => (decide = () => resolve({ accepted: true, text: "Approved." })));
    await bot.restart();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const click = discord.ann.click(cards()[0] as SeenMessage, "Approve");
    await discord.until(() => click.state() === "deferred");
    const now = await discord.until(() => decide);
    now();
    await discord.until(() => click.state() === "answered");
    expect(click.reply()).toMatchObject({ content: "Approved\\.", isEphemeral: true });
    expect(discord.ben.sees(cards()[0]?.channelId ?? "").some(({ content }) => content.includes("Approved"))).toBe(
      false,
    );
  });

  test("roles of the person come with the click", async () => {
    const role = discord.guild.addRole("crew");
    discord.ben.setRoles(discord.guild, [role]);
    const message = await mentioned();
    await replyTo(message).ask(createCard(message));
    await clicked(cards()[0] as SeenMessage, "Deny", discord.ben);
    expect(agent.answers[0]?.by).toEqual({ id: discord.ben.id, name: "Ben", isBot: false, roles: [role.id] });
  });

  test("one whose acknowledgement comes too late counts all the same", async () => {
    const message = await mentioned();
    await replyTo(message).ask(createCard(message));
    const slow = discord.fail(
      { route: "interactions.callback", times: 1 },
      { type: "answer", status: 404, body: { message: "Unknown interaction", code: 10062 } },
    );
    discord.ann.click(cards()[0] as SeenMessage, "Approve");
    await discord.until(() => agent.answers.length === 1);
    expect(slow.hits).toHaveLength(1);
    expect(agent.answers).toMatchObject([{ cardOrApprovalId: "approval-1", choice: "approve" }]);
  });

  test("one whose acknowledgement never comes back is not waited for", async () => {
    const message = await mentioned();
    await replyTo(message).ask(createCard(message));
    discord.fail({ route: "interactions.callback", times: 9 }, { type: "hang" });
    discord.ann.click(cards()[0] as SeenMessage, "Approve");
    await discord.until(() => agent.answers.length === 1);
  });

  test.each([
    ["breaks before", { type: "cut", when: "before" }],
    ["breaks in the middle of the answer", { type: "cut", when: "during" }],
    ["fails", { type: "answer", status: 500 }],
  ] as const)("one whose acknowledgement %s is answered and counts once", async (_what, fault) => {
    const message = await mentioned();
    await replyTo(message).ask(createCard(message));
    discord.fail({ route: "interactions.callback", times: 1 }, fault);
    const click = await clicked(cards()[0] as SeenMessage, "Approve");
    expect(click.reply()?.content).toBe("Noted\\.");
    expect(agent.answers).toHaveLength(1);
  });

  test("a card is rewritten also when the click's own token has long expired", async () => {
    const message = await mentioned();
    const reply = replyTo(message);
    await reply.ask(createCard(message));
    await clicked(cards()[0] as SeenMessage, "Approve");
    discord.clock.advance(20 * 60_000);
    await reply.settle(createCard(message, { state: "consumed", choices: [], outcome: "Approved by Ann" }));
    expect(rendered(cards()[0] as SeenMessage).text).toContain("Approved by Ann");
  });

  test("a button that is none of ours is said to be invalid", async () => {
    const message = await mentioned();
    await replyTo(message).ask(createCard(message));
    for (const customId of ["something else", "approve", "approve|||", "edited|||x"]) {
      const click = discord.ann.press(cards()[0] as SeenMessage, customId);
      await discord.until(() => click.state() === "answered");
    }
    // A form that was never opened is handed in as empty, and the rules refuse it.
    expect(agent.answers.every(({ editedJson }) => editedJson === undefined || editedJson === "")).toBe(true);
  });

  test("a receipt with markup and a mention shows them as text", async () => {
    const message = await mentioned();
    await replyTo(message).ask(createCard(message));
    agent.receipt = { accepted: false, text: "Only **@everyone** [may](https://evil.example)." };
    const click = await clicked(cards()[0] as SeenMessage, "Approve");
    const { text, effects } = rendered(click.reply() as SeenMessage);
    expect(text).toBe("Only **@everyone** [may](https://evil.example).".replaceAll("**", ""));
    expect(effects).toEqual([]);
  });
});

describe("Edit…", () => {
  const json = `{\n  "command": "rm -rf ./build"\n}`;

  async function asked(editJson = json): Promise<SeenMessage> {
    const message = await mentioned();
    await replyTo(message).ask(createCard(message, { choices: ["approve", "deny", "edit"], editJson }));
    return cards()[0] as SeenMessage;
  }

  async function opened(card: SeenMessage) {
    const click = await chosen(card, "Edit…");
    await discord.until(() => click.modal());
    return click;
  }

  test("opens a form with the arguments, also after a restart, and hands in what it holds then", async () => {
    const card = await asked();
    await bot.restart();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const form = await opened(card);
    const [input, ...more] = form.modal()?.inputs ?? [];
    expect(more).toEqual([]);
    expect(input).toMatchObject({ value: json, isParagraph: true });
    const sent = discord.ann.submit(form, { [input?.customId ?? ""]: '{"command":"ls"}' });
    await discord.until(() => sent.state() === "answered");
    expect(agent.answers).toMatchObject([
      { choice: "edit", cardOrApprovalId: "approval-1", editedJson: '{"command":"ls"}', messageId: card.id },
    ]);
    expect(sent.reply()).toMatchObject({ isEphemeral: true, content: "Noted\\." });
  });

  test("long arguments come in several fields, and are the same when nothing was changed", async () => {
    const long = JSON.stringify(
      { script: "echo one two  three \\n".repeat(800).slice(0, 15_000), note: "漢字 🎉".repeat(100) },
      null,
      2,
    );
    const form = await opened(await asked(long));
    const inputs = form.modal()?.inputs ?? [];
    expect(inputs.length).toBeGreaterThan(3);
    // Discord takes away the blanks at the ends of a field.
    const values = Object.fromEntries(inputs.map(({ customId, value }) => [customId, value.trim()]));
    const sent = discord.ann.submit(form, values);
    await discord.until(() => sent.state() === "answered");
    expect(JSON.parse(agent.answers[0]?.editedJson ?? "")).toEqual(JSON.parse(long));
  });

  test("what is not to be edited any more is handed in without arguments, and the rules say why not", async () => {
    const card = await asked();
    bot.store.values.clear();
    agent.receipt = { accepted: false, text: "Nothing left to answer." };
    const click = await chosen(card, "Edit…");
    await discord.until(() => click.state() === "answered");
    expect(click.reply()?.content).toBe("Nothing left to answer\\.");
    expect(agent.answers[0]).not.toHaveProperty("editedJson");
  });
});

describe("More…", () => {
  test("Deny with reason asks for one, also after a restart, and hands it in for the card", async () => {
    const message = await mentioned();
    await replyTo(message).ask(createCard(message));
    const [card] = cards();
    await bot.restart();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const form = await chosen(card as SeenMessage, "Deny with reason…");
    await discord.until(() => form.modal());
    const [input] = form.modal()?.inputs ?? [];
    const sent = discord.ann.submit(form, { [input?.customId ?? ""]: "Not on a Friday." });
    await discord.until(() => sent.state() === "answered");
    expect(agent.answers).toMatchObject([
      { choice: "deny", reason: "Not on a Friday.", cardOrApprovalId: "approval-1", messageId: card?.id },
    ]);
  });

  test("Why this asks is told to the person alone, and names the card's message", async () => {
    const message = await mentioned();
    await replyTo(message).ask(createCard(message, { choices: ["approve", "deny", "why"] }));
    const [card] = cards();
    agent.receipt = { accepted: true, text: "Skill shell asks: it *deletes*." };
    const click = await chosen(card as SeenMessage, "Why this asks", discord.ben);
    await discord.until(() => click.state() === "answered");
    expect(click.reply()).toMatchObject({ isEphemeral: true, content: "Skill shell asks\\: it \\*deletes\\*\\." });
    expect(agent.answers).toMatchObject([{ choice: "why", messageId: card?.id, by: { id: discord.ben.id } }]);
  });

  test("Allow is not offered if what it would allow can't be read", async () => {
    const message = await mentioned();
    await replyTo(message).ask(
      createCard(message, { choices: ["approve", "deny", "allow"], grantText: "For a while" }),
    );
    bot.store.values.clear();
    const menu = (await clicked(cards()[0] as SeenMessage, "More…")).reply();
    expect(menu?.buttons.map(({ label }) => label)).toEqual(["Deny with reason…"]);
  });
});

describe("questions", () => {
  const question: Omit<QuestionCard, "target"> = {
    id: "question-1",
    tool: "deploy_run",
    question: "Which *server* @everyone?",
    options: ["staging", "production"],
    requesterName: "Ann",
  };

  test("have a button an option, are answered in private, and have none once they are answered, by whichever process", async () => {
    const message = await mentioned();
    const posts = createPosts();
    const card = { ...question, target: targetOf(message) };
    await replyTo(message, posts).question(card);
    const [shown] = cards();
    expect(shown?.buttons.map(({ label }) => label)).toEqual(["staging", "production"]);
    expect(rendered(shown as SeenMessage)).toMatchObject({
      text: expect.stringContaining("Which *server* @everyone?"),
      effects: [],
    });
    const click = await clicked(shown as SeenMessage, "production");
    expect(click.reply()).toMatchObject({ isEphemeral: true, content: "Noted\\." });
    expect(agent.picks).toMatchObject([
      { questionId: "question-1", option: 1, conversationId: message.conversationId, by: { id: discord.ann.id } },
    ]);
    await bot.restart();
    await replyTo(message, posts).question({ ...card, outcome: "production — Ann" });
    expect(cards()).toHaveLength(1);
    expect(cards()[0]?.buttons).toEqual([]);
    expect(rendered(cards()[0] as SeenMessage).text).toContain("production — Ann");
  });

  test("are text where embeds are not allowed", async () => {
    discord.channel.permit(discord.bot, { deny: ["EmbedLinks"] });
    const message = await mentioned();
    await replyTo(message).question({ ...question, target: targetOf(message) });
    expect(cards()[0]).toMatchObject({ embeds: [], content: expect.stringContaining("Which \\*server\\*") });
    expect(cards()[0]?.buttons).toHaveLength(2);
  });
});

test("what a button carries reads back as it was written, whatever the id, and fits", () => {
  const meaning = fc.oneof(
    fc
      .constantFrom("approve", "deny", "edit", "allow", "part", "diff", "undo", "again")
      .map((choice) => ({ type: "answer" as const, choice })),
    fc.constantFrom({ type: "edited" as const }, { type: "chosen" as const }),
    fc.integer({ min: 0, max: 4 }).map((option) => ({ type: "pick" as const, option })),
  );
  const snowflake = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }).map(String);
  fc.assert(
    fc.property(
      meaning,
      fc.option(snowflake),
      fc.option(snowflake, { nil: undefined }),
      fc.string({ minLength: 1, maxLength: 22 }),
      (means, thread, firstMessage, id) => {
        const button = { meaning: means, thread, ...(firstMessage === undefined ? {} : { firstMessage }), id };
        const text = formatButtonId(button as Parameters<typeof formatButtonId>[0]);
        expect(text.length).toBeLessThanOrEqual(100);
        expect(parseButtonId(text)).toEqual(button);
      },
    ),
  );
});
