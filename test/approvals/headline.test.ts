/** The first line of a card: plain words from arguments that may be hostile. */
import { MessageFlags } from "discord.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { callHeadline } from "../../src/approvals/headline.ts";
import { createMasker } from "../../src/lib/redact.ts";
import { parseAskTemplate } from "../../src/lib/text/ask-template.ts";
import { cardMessages as discordMessages } from "../../src/platforms/discord/outbound/cards/card.ts";
import { headlineText } from "../../src/platforms/discord/outbound/cards/headline.ts";
import { cardMessages as slackMessages } from "../../src/platforms/slack/outbound/cards/card.ts";
import { headlineElements } from "../../src/platforms/slack/outbound/cards/card-line.ts";
import { headlineParts } from "../../src/ports/card.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { readMessage } from "../doubles/discord/message-form.ts";
import { checkBlocks } from "../doubles/slack/block-rules.ts";
import { runs } from "../faults/share.ts";
import { cardKinds, cardOfKind } from "../fixtures/cards.ts";
import { rendered } from "../platforms/discord/rendering.ts";
import { ann, asks, ben, call, click, request, setUp, target } from "./approvals-fixture.ts";

const asIs = (text: string) => text;
const line = (ask: string | undefined, input: JsonObject, tool = "chat_post") =>
  callHeadline(call("c", input, tool), ask, asIs).text;

const post = "Post to {channel|this conversation}: {text}";
const run = "Run `{command}`";

describe("the words", () => {
  test.each<[string, string | undefined, JsonObject, string]>([
    ["arguments", post, { channel: "#general", text: "Deploy at 5" }, "Post to #general: Deploy at 5"],
    ["the words for a missing one", post, { text: "Hi" }, "Post to this conversation: Hi"],
    ["a missing one without words", "Delete {file_name}", {}, "Delete (no file name)"],
    ["code", run, { command: "npm install" }, "Run `npm install`"],
    ["several lines", run, { command: "cd x\nrm y" }, "Run `cd x ⏎ rm y`"],
    ["backticks of a value", run, { command: "echo `id`" }, "Run `echo 'id'`"],
    ["braces of a value", post, { text: "{channel} {text}" }, "Post to this conversation: {channel} {text}"],
    ["lists, numbers and objects", "{a} {b} {c.d} {c}", { a: [1, "x"], b: false, c: { d: 2 } }, '1, x false 2 {"d":2}'],
    ["no template", undefined, {}, "Use `chat_post`"],
    ["names that every object has", "{constructor} {__proto__}", {}, "(no constructor) (no  proto )"],
  ])("%s", (_what, ask, input, expected) => {
    expect(line(ask, input)).toBe(expected.replace(/ +/g, " "));
  });

  test("a value is cut, the call below it is not", async () => {
    const desk = setUp({ askOf: () => run });
    const command = `rm ${"x".repeat(40_000)}`;
    const { card } = await desk.ask("t1", call("c1", { command }));
    expect(card.items[0]?.headline).toHaveLength("Run ``".length + 120);
    expect(card.items[0]?.headline).toMatch(/x…`$/);
    expect(card.items[0]?.callText).toContain(command);
  });

  test("a secret never remains in part, wherever the cut is", () => {
    const mask = createMasker([{ name: "KEY", value: "hunter2secret" }]);
    for (let before = 90; before < 125; before++) {
      const text = callHeadline(call("c", { command: `${"x".repeat(before)}hunter2secret` }), run, mask).text;
      expect(text).not.toMatch(/hunter|secret/);
    }
  });

  test("an open card keeps its words when the skill changes, and the call stays what runs", async () => {
    let ask = run;
    const desk = setUp({ askOf: () => ask });
    const { cardId } = await desk.ask();
    ask = "Say hello";
    expect((await desk.approvals.card(cardId))?.items[0]?.headline).toBe("Run `rm notes.txt`");
  });

  test("records from before have words too", async () => {
    expect((await setUp().ask()).card.items[0]?.headline).toBe("Use `shell_exec`");
  });
});

describe("templates", () => {
  test.each([
    ["", "is empty"],
    ["{", "has a brace without its partner"],
    ["a } b", "has a brace without its partner"],
    ["{{a}}", "has a brace without its partner"],
    ["{a{b}}", "has a brace without its partner"],
    ["{}", "has a placeholder that names no argument: {}"],
    ["{a b}", "has a placeholder that names no argument: {a b}"],
    ["{|x}", "has a placeholder that names no argument: {|x}"],
    ["`{a}", "has a backtick without its partner"],
    ["{a|`}", "has a backtick without its partner"],
    ["x".repeat(201), "is longer than 200 characters"],
  ])("%j is refused: it %s", (text, problem) => {
    expect(parseAskTemplate(text)).toEqual({ type: "problem", problem });
  });
});

/** Texts that try to hide, to reach people, to format, and to look like another part of a card. */
const hostile = fc.oneof(
  fc.string({
    unit: fc.oneof(
      fc.constantFrom(
        "`",
        "```",
        "\n",
        "\r\n",
        "\u2028",
        "\u202e",
        "\u200b",
        "\u0000",
        "\ud800",
        "{text}",
        "}",
        "|",
        "\\",
      ),
      fc.constantFrom(
        "<@U1>",
        "<@1>",
        "<@&2>",
        "<!channel>",
        "<#C1>",
        "@everyone",
        "@here",
        "**",
        "~~",
        "||",
        "# ",
        "-# ",
      ),
      fc.constantFrom("[a](https://evil.example)", "<https://evil.example|a>", "<t:1:R>", "✅ Ben approved", "❗ "),
      fc.string({ unit: anyCharacter, maxLength: 3 }),
    ),
    maxLength: 40,
  }),
  fc.constantFrom("`".repeat(40_000), "\n".repeat(40_000), "<@1>".repeat(10_000), "\u202e".repeat(40_000)),
);
const anyInput = fc.record(
  { channel: fc.oneof(hostile, fc.constantFrom("C0123456789", "123456789012345678")), text: hostile, command: hostile },
  { requiredKeys: [] },
);
const invisible = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]/u;

describe("hostile arguments", () => {
  test("the first line is one line, shows every character, and only the template's backticks mark code", () => {
    fc.assert(
      fc.property(anyInput, fc.constantFrom(post, run, "Do {text} with `{command}` and {channel}"), (input, ask) => {
        const text = line(ask, input as JsonObject);
        expect(text).not.toMatch(invisible);
        expect([...text].length).toBeLessThanOrEqual(300);
        const codes = headlineParts(text).filter(({ kind }) => kind === "code");
        expect(text.split("`").length - 1).toBe(codes.length * 2 + (text.includes("``") ? 2 : 0));
      }),
      { numRuns: runs(3_000) },
    );
  });

  test("on no service does anything in it reach anybody, link or format", () => {
    fc.assert(
      fc.property(anyInput, fc.constantFrom(post, run), (input, ask) => {
        const { text: headline, channels } = callHeadline(call("c", input as JsonObject), ask, asIs);
        const discord = headlineText({ headline, channels });
        expect(discord).not.toContain("\n");
        const message = { content: discord, embeds: [], components: [], previews: [] };
        const { effects } = rendered({ ...message, pings: { users: [], roles: [], everyone: false } } as never);
        // A channel's name notifies nobody.
        expect(effects.filter((effect) => !/^mentions <#\d+>$/.test(effect))).toEqual([]);
        // Rich text has no markup: only an element of another type could do anything.
        const elements = headlineElements({ headline, channels });
        expect(elements.filter(({ type }) => type !== "text" && type !== "channel")).toEqual([]);
        expect(JSON.stringify(elements)).not.toContain("\\n");
      }),
      { numRuns: runs(3_000) },
    );
  });
});

describe("every kind of card", () => {
  test.each(cardKinds)("fits on Slack and Discord: %s", (kind) => {
    const card = cardOfKind(kind, target("t1"));
    for (const { blocks } of slackMessages(card, "shared").parts) checkBlocks(blocks);
    for (const message of discordMessages(card, { place: { thread: null }, style: "full" })) {
      const files = (message.files ?? []).map(({ name, data }, index) => ({
        index: `${index}`,
        filename: name,
        bytes: Buffer.from(String(data)),
      }));
      readMessage({ ...message, files: undefined, flags: MessageFlags.IsComponentsV2 }, files);
    }
    // Patterns are regular expressions, so they are behind Why this asks.
    const { why: _why, grantText: _grantText, ...shown } = card.items[0] ?? { why: [] };
    expect(JSON.stringify(shown)).not.toMatch(/Pattern|SKILL\.md|\^chat_post/);
  });

  test.each([
    ["approved", "Ben approved `npm install` for Ann"],
    ["edited", "Ben changed `npm i` to `npm install` for Ann and approved it"],
    ["denied", "Ben denied `npm install` for Ann: “Not on a Friday.” It did not run."],
    ["expired", "Nobody answered in time: `npm install` for Ann. It did not run."],
    ["cancelled", "Cancelled: `npm install` for Ann. It did not run. Stopped by Ann."],
    ["changes kept", "Ben approved “Delete 1, change 1 and add 1 file in website” for Ann. Kept 3 files."],
    ["report", "Kept without asking — website: 1 file deleted, 1 changed, 1 added"],
  ] as const)("%s is one line", (kind, outcome) => {
    expect(cardOfKind(kind, target("t1")).items[0]?.outcome).toBe(outcome);
  });

  test("30 calls and identical calls keep one line each", async () => {
    const desk = setUp({ askOf: () => run });
    const calls = Array.from({ length: 30 }, (_, index) => call(`c${index}`, { command: `rm ${index % 25}` }));
    const { card } = await desk.approvals.open(request("t1", calls));
    expect(card.items.map(({ headline, times }) => [headline, times])).toEqual(
      Array.from({ length: 25 }, (_, index) => [`Run \`rm ${index}\``, index < 5 ? 2 : 1]),
    );
  });
});

describe("Why this asks", () => {
  test("anybody who sees the card may ask, also who may not answer; it settles nothing", async () => {
    const desk = setUp();
    const { cardId, approvalId } = await desk.ask();
    const receipt = await desk.approvals.answer(click(approvalId, { choice: "why", by: ben }));
    expect(receipt).toEqual({
      accepted: true,
      text: "Skill shell asks: removes files. Pattern “rm ” (shell/SKILL.md, line 12).",
    });
    expect(await desk.stateOf(approvalId)).toBe("open");
    const elsewhere = click(cardId, { choice: "why", by: ben, conversationId: "test:C9" });
    expect((await desk.approvals.answer(elsewhere)).accepted).toBe(false);
  });
});

describe("End this permission", () => {
  test("stands on the line of what was allowed, ends it for everybody, and goes away", async () => {
    const desk = setUp();
    const { cardId, approvalId } = await desk.ask();
    await desk.approvals.answer(click(approvalId, { choice: "allow" }));
    await desk.approvals.whenIdle();
    const [item] = desk.shown.at(-1)?.items ?? [];
    expect(item).toMatchObject({
      choices: ["end"],
      grant: {
        text: "Remora won't ask again here when a call for Ann only removes files",
        until: desk.clock.now + 1_800_000,
      },
    });
    expect((await desk.approvals.answer(click(approvalId, { choice: "end", by: ann }))).text).toBe(
      "Ended. Such calls ask again.",
    );
    await desk.approvals.whenIdle();
    expect(desk.shown.at(-1)?.items[0]).toMatchObject({ choices: [] });
    expect(await desk.approvals.listGrants()).toEqual([]);
    expect((await desk.approvals.answer(click(approvalId, { choice: "end" }))).accepted).toBe(false);
    expect((await desk.ask("t2", call("c1", { command: "rm other" }))).card.items[0]?.state).toBe("open");
    expect(desk.names()).toContain("safety.revoked");
    expect(cardId).not.toBe("");
  });

  test("goes away when the time is over, and when the command revokes it", async () => {
    for (const isRevoked of [true, false]) {
      const desk = setUp();
      const { approvalId } = await desk.ask();
      await desk.approvals.answer(click(approvalId, { choice: "allow" }));
      const [grant] = await desk.approvals.listGrants();
      if (isRevoked) await desk.approvals.revokeGrant(grant?.id ?? "");
      else {
        desk.clock.now += 1_800_001;
        await desk.approvals.sweep(desk.clock.now);
      }
      await desk.approvals.whenIdle();
      expect(desk.shown.at(-1)?.items[0]).toMatchObject({ choices: [] });
      expect(desk.shown.at(-1)?.items[0]).not.toHaveProperty("grant");
    }
  });

  test("nobody ends it from another conversation", async () => {
    const desk = setUp();
    const { approvalId } = await desk.ask();
    await desk.approvals.answer(click(approvalId, { choice: "allow" }));
    const elsewhere = click(approvalId, { choice: "end", conversationId: "test:C9" });
    expect((await desk.approvals.answer(elsewhere)).accepted).toBe(false);
    expect(await desk.approvals.listGrants()).toHaveLength(1);
    expect(asks.reason).toBe("removes files");
  });
});

test.each([
  ["#plans (C0123ABCD)", ["C0123ABCD"]],
  ["#plans (<#C0123ABCD|plans>)", ["C0123ABCD"]],
  ["#plans (<#123456789012345678>)", ["123456789012345678"]],
  ["#plans (secret)", []],
])("a card shows the channel that %j really names, whatever name stands before its id", (channel, ids) => {
  const { channels } = callHeadline(call("c", { channel }), "Post in {channel}", (text) => text);
  expect(channels).toEqual(ids);
});
