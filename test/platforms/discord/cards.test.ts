/** What a card shows. */
import { MessageFlags } from "discord.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatButtonId, parseButtonId } from "../../../src/platforms/discord/interactions/custom-id.ts";
import { cardMessages, cardStyles } from "../../../src/platforms/discord/outbound/cards/card.ts";
import type { ApprovalCard, CardItem } from "../../../src/ports/card.ts";
import { createCard, createPosts } from "../../conformance/platform-world.ts";
import { readMessage } from "../../doubles/discord/message-form.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { runs } from "../../faults/share.ts";
import { cardOf, cards, clicked, item, settled } from "./cards-world.ts";
import { agent, bot, discord, mentioned, replyTo, useConnectedBot } from "./connected-bot.ts";
import { rendered, textDisplays } from "./rendering.ts";
import { own, threadOf } from "./replying-world.ts";

useConnectedBot();

describe("what a card shows", () => {
  test("what will happen, the call, who may answer, and when it expires as Discord counts it down", async () => {
    const message = await mentioned("deploy");
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
    const labels = menu.buttons.map(({ label }) => label);
    expect(labels).toEqual(["Edit…", "Allow here for 45 min…", "Deny with reason…", "Why this asks"]);
  });

  test("a card that mentions somebody, or that stands in a direct message, says in its notification who asks for what", async () => {
    const message = await mentioned("deploy");
    const line = ["Waiting for ", { userId: discord.ben.id, name: "Ben" }, "."];
    const notify = { userIds: [discord.ben.id], roleIds: [], line, text: "Waiting for Ben." };
    const notified = () => cards().map(({ notification, pings }) => ({ words: notification, to: pings.users }));
    await replyTo(message).ask({ ...createCard(message), notify });
    const ben = `<@${discord.ben.id}>`;
    const asked = { words: `Ann asks: Run \`rm -rf ./build\`\nWaiting for ${ben}\\.`, to: [discord.ben.id] };
    expect(notified()).toEqual([asked]);
    expect(cards()[0]?.content).toBe("");
    expect(cards()[0]?.buttons.map(({ label }) => label)).toEqual(["Approve", "Deny", "More…"]);
    await replyTo(message).ask({ ...cardOf(message, 4), id: "card-2", notify });
    const several = `Ann asks: 4 actions need approval\nWaiting for ${ben}\\.`;
    expect(notified().slice(1)).toMatchObject([{ words: several, to: [discord.ben.id] }, { to: [] }]);
  });

  const refusedEdits = [
    ["is refused once for a reason that nobody knows", 1, 400, 999_123],
    ["is always refused for a reason that nobody knows", 100, 400, 999_123],
    ["is always refused by AutoMod", 100, 400, 200_000],
    ["is always forbidden", 100, 403, 50_013],
    ["finds no message any more, because a moderator removed it", 1, 404, 10_008],
  ] as const;

  test.each(refusedEdits)(
    "each card has its buttons, and no line is left over, if the edit that makes it a card %s",
    async (_if, times, status, code) => {
      const message = await mentioned("deploy");
      const line = ["Waiting for ", { userId: discord.ben.id, name: "Ben" }, "."];
      const notify = { userIds: [discord.ben.id], roleIds: [], line, text: "Waiting for Ben." };
      const posts = createPosts();
      const fault = { type: "answer", status, body: { code, message: "No" } } as const;
      const patches = { method: "PATCH", path: /\/channels\/\d+\/messages\/\d+$/, times };
      const refusing = discord.fail(patches, fault);
      const ids = ["card-1", "card-2", "card-3", "card-4", "card-5"];
      for (const id of ids) await replyTo(message, posts).ask({ ...createCard(message), id, notify });
      refusing.remove();
      const shown = cards();
      expect(shown.map(({ content, buttons }) => [content, buttons[0]?.label])).toEqual(ids.map(() => ["", "Approve"]));
      expect(own(threadOf(message))).toHaveLength(ids.length);
      expect((await posts.all()).at(-1)?.key).toMatch(/^card:card-/);
      await bot.restart();
      await replyTo(message, posts).ask({ ...createCard(message), notify });
      await replyTo(message, posts).settle(settled(createCard(message)));
      expect(rendered(cards()[0] as SeenMessage).text).toBe("❌ Denied by Ann");
    },
  );

  test("a card that nobody can see leaves no line behind that says who is waited for", async () => {
    const said = discord.ann.say("deploy", { in: "dm" });
    const message = await discord.until(() => agent.kept.find(({ id }) => id === said.id));
    const fault = { type: "answer", status: 400, body: { code: 999_123, message: "No" } } as const;
    discord.fail({ method: "PATCH", path: /\/messages\/\d+$/, times: 100 }, fault);
    discord.fail({ method: "POST", path: /\/messages$/, after: 1, times: 100 }, fault);
    await expect(replyTo(message).ask(createCard(message))).rejects.toMatchObject({ code: "platform.no-route" });
    expect(own(discord.ann.dm())).toEqual([]);
  });

  test("without an expiry none is shown, and a settled card has none either", async () => {
    const message = await mentioned("deploy");
    const reply = replyTo(message);
    await reply.ask({ ...createCard(message), expiresAt: null });
    expect(rendered(cards()[0] as SeenMessage).text).not.toContain("<t:");
    await reply.settle(settled(createCard(message)));
    expect(rendered(cards()[0] as SeenMessage).text).toBe("❌ Denied by Ann");
  });

  test("several calls share a card with a row each and one line for all", async () => {
    const message = await mentioned("deploy");
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
    const message = await mentioned("deploy");
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
    const message = await mentioned("deploy");
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
    const message = await mentioned("deploy");
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
    const message = await mentioned("deploy");
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
    const message = await mentioned("deploy");
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
      { numRuns: runs(500) },
    );
  });

  test("whatever is offered to be approved is seen whole", async () => {
    const message = await mentioned("deploy");
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
      { numRuns: runs(300) },
    );
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
