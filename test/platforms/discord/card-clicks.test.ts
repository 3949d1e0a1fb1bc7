/** What happens when people click on a card or answer a question. */
import { describe, expect, test } from "vitest";
import { createCard, createPosts, createQuestion } from "../../conformance/platform-world.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { cards, chosen, clicked } from "./cards-world.ts";
import { agent, bot, discord, mentioned, replyTo, useConnectedBot } from "./connected-bot.ts";
import { rendered } from "./rendering.ts";

useConnectedBot();

describe("clicks", () => {
  test("are acknowledged before anything is decided, and the receipt is for the person alone", async () => {
    const message = await mentioned("deploy");
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
    const message = await mentioned("deploy");
    await replyTo(message).ask(createCard(message));
    await clicked(cards()[0] as SeenMessage, "Deny", discord.ben);
    expect(agent.answers[0]?.by).toEqual({ id: discord.ben.id, name: "Ben", isBot: false, roles: [role.id] });
  });

  test("one whose acknowledgement comes too late counts all the same", async () => {
    const message = await mentioned("deploy");
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
    const message = await mentioned("deploy");
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
    const message = await mentioned("deploy");
    await replyTo(message).ask(createCard(message));
    discord.fail({ route: "interactions.callback", times: 1 }, fault);
    const click = await clicked(cards()[0] as SeenMessage, "Approve");
    expect(click.reply()?.content).toBe("Noted\\.");
    expect(agent.answers).toHaveLength(1);
  });

  test("a card is rewritten also when the click's own token has long expired", async () => {
    const message = await mentioned("deploy");
    const reply = replyTo(message);
    await reply.ask(createCard(message));
    await clicked(cards()[0] as SeenMessage, "Approve");
    discord.clock.advance(20 * 60_000);
    await reply.settle(createCard(message, { state: "consumed", choices: [], outcome: "Approved by Ann" }));
    expect(rendered(cards()[0] as SeenMessage).text).toContain("Approved by Ann");
  });

  test("a button that is none of ours is said to be invalid", async () => {
    const message = await mentioned("deploy");
    await replyTo(message).ask(createCard(message));
    for (const customId of ["something else", "approve", "approve|||", "edited|||x"]) {
      const click = discord.ann.press(cards()[0] as SeenMessage, customId);
      await discord.until(() => click.state() === "answered");
    }
    // A form that was never opened is handed in as empty, and the rules refuse it.
    expect(agent.answers.every(({ editedJson }) => editedJson === undefined || editedJson === "")).toBe(true);
  });

  test("a receipt with markup and a mention shows them as text", async () => {
    const message = await mentioned("deploy");
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
    const message = await mentioned("deploy");
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
    const message = await mentioned("deploy");
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
    const message = await mentioned("deploy");
    await replyTo(message).ask(createCard(message, { choices: ["approve", "deny", "why"] }));
    const [card] = cards();
    agent.receipt = { accepted: true, text: "Skill shell asks: it *deletes*." };
    const click = await chosen(card as SeenMessage, "Why this asks", discord.ben);
    await discord.until(() => click.state() === "answered");
    expect(click.reply()).toMatchObject({ isEphemeral: true, content: "Skill shell asks\\: it \\*deletes\\*\\." });
    expect(agent.answers).toMatchObject([{ choice: "why", messageId: card?.id, by: { id: discord.ben.id } }]);
  });

  async function openedAllow() {
    const message = await mentioned("deploy");
    const grantText = "For 30 minutes, Remora won't ask again here when a call for Ann only *deletes files*.";
    await replyTo(message).ask(createCard(message, { choices: ["approve", "deny", "allow"], grantText }));
    const [card] = cards();
    const menu = (await clicked(card as SeenMessage, "More…")).reply() as SeenMessage;
    expect(menu.buttons.map(({ label }) => label)).toContain("Allow here for 30 min…");
    return { card, menu, click: () => discord.ann.click(menu, "Allow here for 30 min…") };
  }

  test("Allow shows all that it covers before it is allowed, also after a restart", async () => {
    const { card, click } = await openedAllow();
    await bot.restart();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const form = click();
    const modal = await discord.until(() => form.modal());
    expect(modal).toMatchObject({ title: "Allow without asking", inputs: [], checkboxes: [] });
    expect(modal.texts.join("\n").replaceAll("\\", "")).toBe(
      "For 30 minutes, Remora won't ask again here when a call for Ann only *deletes files*.\n\nThis also approves what is on the card. You can end it there at any time.",
    );
    expect(agent.answers).toEqual([]);
    const sent = discord.ann.submit(form);
    await discord.until(() => sent.state() === "answered");
    expect(agent.answers).toMatchObject([
      { choice: "allow", cardOrApprovalId: "approval-1", messageId: card?.id, by: { id: discord.ann.id } },
    ]);
  });

  test("Allow has a message with the same words if Discord refuses its form", async () => {
    const { card, click } = await openedAllow();
    const refusal = { type: "answer", status: 400, body: { message: "Invalid Form Body", code: 50035 } } as const;
    discord.fail({ route: "interactions.callback", times: 1 }, refusal);
    const shown = click();
    const message = await discord.until(() => shown.reply());
    expect(message).toMatchObject({ isEphemeral: true });
    expect(rendered(message).text).toContain("This also approves what is on the card.");
    const sent = discord.ann.click(message, "Allow here for 30 min");
    await discord.until(() => sent.state() === "answered");
    expect(agent.answers).toMatchObject([{ choice: "allow", messageId: card?.id }]);
  });

  test("Allow does nothing once nobody can read what it would allow", async () => {
    const { click } = await openedAllow();
    bot.store.values.clear();
    const late = click();
    await discord.until(() => late.state() === "answered");
    expect(late.reply()?.content.replaceAll("\\", "")).toBe("This can't be allowed in advance any more.");
    expect(agent.answers).toEqual([]);
  });

  test("Allow is not offered if what it would allow can't be read", async () => {
    const message = await mentioned("deploy");
    await replyTo(message).ask(
      createCard(message, { choices: ["approve", "deny", "allow"], grantText: "For a while" }),
    );
    bot.store.values.clear();
    const menu = (await clicked(cards()[0] as SeenMessage, "More…")).reply();
    expect(menu?.buttons.map(({ label }) => label)).toEqual(["Deny with reason…"]);
  });
});

describe("questions", () => {
  test("have a button an option, are answered in private, and have none once they are answered, by whichever process", async () => {
    const message = await mentioned("deploy");
    const posts = createPosts();
    const card = createQuestion(message, { question: "Which *server* @everyone?" });
    await replyTo(message, posts).question(card);
    const [shown] = cards();
    expect(shown?.notification).toBe("**The plugin deploy asks Ann\\:**");
    expect(shown?.previews).toEqual([]);
    expect(shown?.buttons.map(({ label }) => label)).toEqual(["Answer 1", "Answer 2"]);
    expect(rendered(shown as SeenMessage)).toMatchObject({
      text: expect.stringContaining("Which *server* @everyone?"),
      effects: [],
    });
    const click = await clicked(shown as SeenMessage, "Answer 2");
    expect(click.reply()).toMatchObject({ isEphemeral: true, content: "Noted\\." });
    expect(agent.picks).toMatchObject([
      { questionId: "question-1", option: 1, conversationId: message.conversationId, by: { id: discord.ann.id } },
    ]);
    await bot.restart();
    await replyTo(message, posts).question({ ...card, isOpen: false, note: "Ann chose “production”." });
    expect(cards()).toHaveLength(1);
    expect(cards()[0]?.buttons).toEqual([]);
    expect(rendered(cards()[0] as SeenMessage).text).toContain("Ann chose “production”.");
  });

  test("are text where embeds are not allowed", async () => {
    discord.channel.permit(discord.bot, { deny: ["EmbedLinks"] });
    const message = await mentioned("deploy");
    await replyTo(message).question(createQuestion(message));
    expect(cards()[0]).toMatchObject({ embeds: [], content: expect.stringContaining("Which \\*server\\*") });
    expect(cards()[0]?.buttons).toHaveLength(2);
  });
});
