/** Part of the platform suite: forged, double and late clicks on cards, and cards that can't be shown. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CardItem } from "../../src/ports/card.ts";
import {
  agentsMessages,
  createCard,
  createPosts,
  heard,
  last,
  mentioned,
  type PlatformWorld,
  replyTo,
  type ShownMessage,
  targetOf,
  usePlatform,
  world,
} from "./platform-world.ts";

export function describePlatformAttacks(name: string, createWorld: () => Promise<PlatformWorld>): void {
  describe(`the platform port, approvals under attack: ${name}`, () => {
    usePlatform(createWorld);

    async function asked(changes: Partial<CardItem> = {}) {
      const message = await mentioned();
      const posts = createPosts();
      const reply = replyTo(message, posts);
      await reply.ask(createCard(message, changes));
      return { message, posts, reply };
    }

    async function onlyCard(): Promise<ShownMessage> {
      const [card, ...more] = await agentsMessages();
      if (card === undefined) throw new Error("no card is shown");
      expect(more).toEqual([]);
      return card;
    }

    test("a click by someone else reports who it was, and only they read the refusal", async () => {
      await asked();
      heard.receipt = { accepted: false, text: "This is not yours to answer." };
      expect(await world.click("approval-1", "approve", "Mallory")).toContain("This is not yours to answer.");
      expect(await world.click("approval-1", "approve", "Ann")).toContain("This is not yours to answer.");
      const [stranger, requester] = heard.answers.map((answer) => answer.by);
      expect(stranger).toMatchObject({ name: "Mallory", isBot: false });
      expect(stranger?.id).not.toBe(requester?.id);
      const shown = await world.shown();
      expect(shown.map((each) => each.text).join("\n")).not.toContain("not yours to answer");
      expect((await onlyCard()).choices.toSorted()).toEqual(["approve", "deny"]);
    });

    test("double and late clicks are each reported and answered, even on a card without buttons", async () => {
      const { message, reply } = await asked();
      const twice = await Promise.all([world.click("approval-1", "approve"), world.click("approval-1", "deny")]);
      expect(twice.every((told) => told.includes("Noted."))).toBe(true);
      await reply.settle(createCard(message, { state: "consumed", choices: [], outcome: "Approved by Ann" }));
      heard.receipt = { accepted: false, text: "Nothing left to answer. Approved by Ann." };
      expect(await world.click("approval-1", "deny")).toContain("Nothing left to answer. Approved by Ann.");
      expect(heard.answers.map((answer) => answer.choice).toSorted()).toEqual(["approve", "deny", "deny"]);
    });

    test("a forged button id is reported unchanged, with the card's own conversation and message", async () => {
      const { message } = await asked();
      heard.receipt = { accepted: false, text: "This card is not valid any more." };
      for (const id of ["AAAAAAAAAAAAAAAAAAAAAA", "approval-2", "__proto__", "a:b:c"]) {
        expect(await world.click(id, "approve")).toContain("not valid any more");
        expect(last(heard.answers)).toMatchObject({ cardOrApprovalId: id, conversationId: message.conversationId });
      }
      expect(new Set(heard.answers.map((answer) => answer.messageId)).size).toBe(1);
    });

    test("a click that can't be processed is answered, and is not an approval", async () => {
      await asked();
      heard.failure = new Error("the disk is full");
      expect(await world.click("approval-1", "approve")).not.toBe("");
      expect((await onlyCard()).choices.toSorted()).toEqual(["approve", "deny"]);
    });

    test.each([
      ["denied", "Denied by Ben: not today"],
      ["expired", "Expired: nobody answered in time"],
      ["cancelled", "Cancelled: The turn was stopped."],
      ["consumed", "Approved by Ann"],
    ] as const)(
      "a card that is %s says so and has no buttons, even when another process settles it",
      async (state, outcome) => {
        const { message, posts } = await asked({ choices: ["approve", "deny", "edit", "allow"], editJson: "{}" });
        await world.restart();
        await world.platform.connect(heard.handlers, new AbortController().signal);
        const settledCard = createCard(message, { state, choices: [], outcome });
        for (const _ of [1, 2]) await replyTo(message, posts).settle(settledCard);
        const card = await onlyCard();
        expect(card.text).toContain(outcome);
        expect(card.choices).toEqual([]);
      },
    );

    test("only the open rows of a card have buttons", async () => {
      const message = await mentioned();
      const one = createCard(message).items[0] as CardItem;
      const settledRow: CardItem = {
        ...one,
        approvalId: "approval-0",
        state: "denied",
        choices: [],
        outcome: "Denied by Ann",
      };
      await replyTo(message, createPosts()).ask({ ...createCard(message), items: [settledRow, one] });
      const card = await onlyCard();
      expect(card.text).toContain("Denied by Ann");
      expect(card.choices.toSorted()).toEqual(["approve", "deny"]);
    });

    test("markup in a call, a name, a reason or an outcome is shown as text", async () => {
      const bad = "<!channel> <@U1> @everyone [safe](https://evil.example/x) *bold* ~~s~~ <b>b</b> &amp; | `tick` # h";
      const { message, reply } = await asked({
        callText: `shell_exec\ncommand: "${bad}"\n> quoted\n- item`,
        reason: `Removes files (${bad}).`,
        warning: `⚠ ${bad}`,
      });
      const card = await onlyCard();
      expect(card.text.split(bad).length - 1).toBeGreaterThanOrEqual(3);
      for (const part of ["> quoted", "- item"]) expect(card.text).toContain(part);
      expect(card.effects ?? []).toEqual([]);
      // A card's builder leaves no backtick but those around code.
      const reason = bad.replaceAll("`", "'");
      await reply.settle(createCard(message, { state: "denied", choices: [], outcome: `Ann denied it: ${reason}` }));
      const settledCard = await onlyCard();
      expect(settledCard.text).toContain(`Ann denied it: ${reason}`);
      expect(settledCard.effects ?? []).toEqual([]);
    });

    test("escaped bidi, zero-width and look-alike characters arrive unchanged, with the warning", async () => {
      const callText = 'shell_exec\ncommand: "echo \\u{202E}txt.exe\\u{200B} \\\\u{202E} C:\\dir ``\\u{60}"';
      const warning = "Some characters are invisible or imitate others: U+202E, U+200B.";
      await asked({ callText, warning });
      const { text } = await onlyCard();
      expect(text).toContain(callText.split("\n")[1]);
      expect(text).toContain(warning);
    });

    test("a call of 60,000 characters is shown in full, on the card or in a file", async () => {
      const callText = `shell_exec\ncommand: "${Array.from({ length: 6_000 }, (_, index) => `word ${index}`).join(" ")} && rm -rf the-tail"`;
      await asked({ callText });
      const shown = await agentsMessages();
      const seen = [
        ...shown.map((each) => each.text),
        ...shown.flatMap((each) => each.files.map((file) => file.content)),
      ];
      expect(seen.some((text) => text.includes(callText.split("\n")[1] ?? "-"))).toBe(true);
    });

    test("a call of any length and shape is shown whole, on the card or in a file, or it can't be approved", async () => {
      const word = fc.stringMatching(/^[a-z0-9;|&$ ]{1,40}$/);
      const lines = fc.array(
        fc.oneof(
          word,
          fc.tuple(word, fc.nat(4_000)).map(([text, times]) => text + "=".repeat(times)),
        ),
        {
          ...{ minLength: 1, maxLength: 60, size: "max" },
        },
      );
      for (const [index, some] of fc.sample(lines, { seed: 36, numRuns: 15 }).entries()) {
        const callText = [
          "shell_exec",
          "command:",
          ...some.map((text, line) => `  | ${index}-${line} ${text}|end`),
        ].join("\n");
        const facts = some.slice(0, index).map((text, line) => `fact ${index}-${line} ${text}|end`);
        await asked({ callText, facts, choices: ["approve", "deny"] });
        const shown = (await agentsMessages()).flatMap(({ text, files }) => [
          text,
          ...files.map(({ content }) => content),
        ]);
        const isWhole = [...callText.split("\n"), ...facts].every((line) =>
          shown.some((text) => text.includes(line.trim())),
        );
        const canApprove = (await agentsMessages()).some(({ choices }) => choices.includes("approve"));
        expect([isWhole, canApprove], callText).toEqual([true, true]);
      }
    });

    test("the card shows identical calls and votes so far", async () => {
      await asked({
        times: 3,
        progress: "1 of 2 approvals: Ann",
      });
      const { text } = await onlyCard();
      for (const part of ["3", "1 of 2 approvals: Ann"]) expect(text).toContain(part);
    });

    test("settling a card that was never posted does not post it", async () => {
      const message = await mentioned();
      await replyTo(message, createPosts()).settle(createCard(message, { state: "cancelled", choices: [] }));
      expect(await agentsMessages()).toEqual([]);
    });

    test("a card that can't be delivered is refused every time, and shown nowhere", async () => {
      const message = await mentioned();
      const conversationId = `${message.conversationId.split(":")[0]}:nowhere`;
      const reply = world.platform.reply({ ...targetOf(message), conversationId }, createPosts());
      for (const _ of [1, 2]) {
        await expect(reply.ask(createCard(message))).rejects.toMatchObject({ code: "platform.no-route" });
      }
      expect(await agentsMessages()).toEqual([]);
    });
  });
}
