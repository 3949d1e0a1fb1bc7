/**
 * The contract of every platform. A platform's test provides a world: the platform on a double of its service, and functions
 * for what a person does there.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { isReplyLost } from "../../src/ports/platform.ts";
import {
  agentsMessages,
  createCard,
  createPosts,
  createQuestion,
  heard,
  last,
  mentioned,
  type PlatformWorld,
  replyTo,
  targetOf,
  usePlatform,
  world,
} from "./platform-world.ts";

export function describePlatform(name: string, createWorld: () => Promise<PlatformWorld>): void {
  describe(`the platform port: ${name}`, () => {
    usePlatform(createWorld);

    describe("receiving", () => {
      test("a message is acknowledged only after it is durably saved", async () => {
        const order: string[] = [];
        let keep = () => {};
        heard.before = () =>
          new Promise((resolve) => {
            keep = () => {
              order.push("kept");
              resolve();
            };
          });
        const said = world.say({ text: "hello", where: "mention" }).then(() => order.push("acknowledged"));
        await vi.waitFor(() => expect(heard.messages).toHaveLength(1));
        await new Promise((resolve) => setImmediate(resolve));
        keep();
        await said;
        expect(order).toEqual(["kept", "acknowledged"]);
      });

      test("a message that can't be saved is not acknowledged, and is accepted on redelivery", async () => {
        heard.before = () => Promise.reject(new Error("the disk is full"));
        const said = world.say({ text: "hello", where: "mention", acknowledgeWithinMs: 1_000 });
        await expect(said).rejects.toThrow();
        heard.before = () => Promise.resolve();
        await world.repeat();
        expect(new Set(heard.messages.map((message) => message.id)).size).toBe(1);
        expect(heard.kept).toHaveLength(1);
      });

      test("the same message delivered twice is one message", async () => {
        const { id } = await mentioned();
        await world.repeat();
        expect(new Set(heard.messages.map((message) => message.id))).toEqual(new Set([id]));
      });

      test("mentions, follow-ups in their thread and DMs are addressed; other messages are only received", async () => {
        const mention = await mentioned();
        await world.say({ text: "and then?", where: "thread" });
        const followUp = last(heard.messages);
        await world.say({ text: "between us", where: "dm" });
        const direct = last(heard.messages);
        await world.say({ text: "lunch?", where: "aside" });
        const aside = last(heard.messages);
        expect([mention, followUp, direct, aside].map((message) => message.isAddressed)).toEqual([
          true,
          true,
          true,
          false,
        ]);
        expect([mention, followUp, direct, aside].map((message) => message.isDirect)).toEqual([
          false,
          false,
          true,
          false,
        ]);
        expect(followUp.conversationId).toBe(mention.conversationId);
        expect(followUp.scope).toBe(mention.scope);
        expect(aside.conversationId).not.toBe(mention.conversationId);
        expect(mention.scope).toMatch(/^channel:/);
        expect(direct.scope).toMatch(/^dm:/);
      });

      test("the leading mention is not part of the text", async () => {
        expect((await mentioned("what time is it?")).text).toBe("what time is it?");
      });

      test("a name full of markup stays a name", async () => {
        await world.say({ text: "hi", where: "mention", as: "*<b>Zoë</b>* `x` @everyone" });
        expect(last(heard.messages).author).toMatchObject({ name: "*<b>Zoë</b>* `x` @everyone", isBot: false });
        await replyTo(last(heard.messages), createPosts()).finish("Hello *you*", []);
        expect(await agentsMessages()).toHaveLength(1);
      });

      test("the agent's own messages are not received", async () => {
        const message = await mentioned();
        await replyTo(message, createPosts()).finish("I am here, @remora", []);
        await world.say({ text: "thanks", where: "thread" });
        expect(heard.messages.map((each) => each.author.isBot)).toEqual([false, false]);
      });
    });

    describe("replying", () => {
      test("a growing segment stays one message", async () => {
        const reply = replyTo(await mentioned(), createPosts());
        for (const text of ["One", "One two", "One two three"]) await reply.write(text);
        await reply.finish("One two three four.", []);
        const shown = await agentsMessages();
        expect(shown.map((message) => message.text)).toEqual(["One two three four."]);
      });

      test("the first words appear before the end", async () => {
        const reply = replyTo(await mentioned(), createPosts());
        await reply.write("First words");
        await vi.waitFor(async () => expect((await agentsMessages())[0]?.text).toContain("First words"), {
          timeout: 5000,
        });
        await reply.finish("First words, and the last.", []);
      });

      test("the status line shows the current work, and disappears at the end", async () => {
        const reply = replyTo(await mentioned(), createPosts());
        await reply.progress({
          headline: "Running a tool",
          current: "Running a tool",
          since: Date.now() - 60_000,
          tasks: [{ id: "c1", title: "Running a tool", state: "running" }],
        });
        await vi.waitFor(async () => expect((await agentsMessages())[0]?.text).toMatch(/running a tool/i), {
          timeout: 5000,
        });
        await reply.finish("Done.", []);
        const shown = await agentsMessages();
        expect(shown.map((message) => message.text)).toEqual(["Done."]);
      });

      test("a card closes the segment, and later text appears below it", async () => {
        const message = await mentioned();
        const reply = replyTo(message, createPosts());
        await reply.write("Let me look.");
        await reply.ask(createCard(message));
        await reply.settle(createCard(message, { state: "approved", choices: [], outcome: "Approved by Ann" }));
        await reply.write("I looked");
        await reply.finish("I looked: all is well.", []);
        const [above, card, below, ...more] = await agentsMessages();
        expect(above?.text).toBe("Let me look.");
        expect(card?.text).toContain("Approved by Ann");
        expect(below?.text).toBe("I looked: all is well.");
        expect(more).toEqual([]);
      });

      test("a card shows the whole call, the reasons, who can answer, and exactly its buttons", async () => {
        const message = await mentioned();
        const reply = replyTo(message, createPosts());
        const callText = `shell_exec\ncommand: "rm -rf ./build <b>*x*</b> \`y\` ${"z".repeat(3000)} the end"`;
        await reply.ask(createCard(message, { callText, choices: ["approve", "deny", "allow"] }));
        const [card] = await agentsMessages();
        const seen = `${card?.text}\n${card?.files.map((file) => file.content).join("\n")}`;
        for (const part of ["Run rm -rf ./build", "shell_exec", "the end", "Asks before it deletes.", "Ann"])
          expect(seen).toContain(part);
        expect(card?.choices.toSorted()).toEqual(["allow", "approve", "deny"]);
      });

      test("a settled card has its outcome and no buttons", async () => {
        const message = await mentioned();
        const reply = replyTo(message, createPosts());
        await reply.ask(createCard(message));
        await reply.settle(createCard(message, { state: "denied", choices: [], outcome: "Denied by Ben" }));
        const [card] = await agentsMessages();
        expect(card?.text).toContain("Denied by Ben");
        expect(card?.choices).toEqual([]);
      });

      test("a click reports the choice and the person, and the person is told the result", async () => {
        const message = await mentioned();
        await replyTo(message, createPosts()).ask(createCard(message));
        heard.receipt = { accepted: false, text: "That is not yours to answer." };
        expect(await world.click("approval-1", "approve")).toContain("That is not yours to answer.");
        expect(heard.answers).toMatchObject([
          { cardOrApprovalId: "approval-1", choice: "approve", conversationId: message.conversationId },
        ]);
        expect(last(heard.answers).by).toMatchObject({ name: "Ann", isBot: false });
      });

      test("a closed question that nobody has seen is not posted", async () => {
        const message = await mentioned();
        const reply = replyTo(message, createPosts());
        await reply.question(createQuestion(message, { isOpen: false }));
        await reply.finish("Done.", []);
        expect((await agentsMessages()).map(({ text }) => text)).toEqual([expect.stringContaining("Done.")]);
      });

      test("a question has one button per option, reports the choice, and loses its buttons when answered", async () => {
        const message = await mentioned();
        const reply = replyTo(message, createPosts());
        await reply.write("One thing first.");
        await reply.question(createQuestion(message));
        const [above, question] = await agentsMessages();
        expect(above?.text).toBe("One thing first.");
        for (const part of ["The plugin deploy asks Ann:", "“Which *server* <b>?”", "1  “staging”", "2  “production”"])
          expect(question?.text).toContain(part);
        expect(question?.options).toEqual(["Answer 1", "Answer 2"]);
        expect(await world.pick("question-1", 1)).toContain("Noted.");
        expect(heard.picks).toMatchObject([
          { questionId: "question-1", option: 1, conversationId: message.conversationId, by: { name: "Ann" } },
        ]);
        await reply.question(createQuestion(message, { isOpen: false, note: "Ann chose “production”." }));
        await reply.finish("Deployed.", []);
        const [, settled, below, ...more] = await agentsMessages();
        expect(settled?.text).toContain("Ann chose “production”.");
        expect(settled?.options ?? []).toEqual([]);
        expect(below?.text).toBe("Deployed.");
        expect(more).toEqual([]);
      });

      test("the author of a refused message is told why", async () => {
        heard.notice = { text: "I can't answer: guests may not use me here." };
        await world.say({ text: "hello", where: "dm" });
        await vi.waitFor(async () => {
          const shown = await agentsMessages();
          expect(shown.map((each) => each.text).join("\n")).toContain("guests may not use me here");
        });
      });

      test("a reply without a message is posted in the conversation by itself", async () => {
        const message = await mentioned();
        const target = { ...targetOf(message), messageId: "schedule:abc:1800000000000", turnId: "turn-scheduled" };
        await world.platform.reply(target, createPosts()).finish("It is time for tea.", []);
        expect((await agentsMessages()).map((each) => each.text)).toEqual(["It is time for tea."]);
      });

      test("a reply that failed says so", async () => {
        const reply = replyTo(await mentioned(), createPosts());
        await reply.write("I was about to");
        await reply.fail("I was about to", "⚠️ The model could not answer. Try again.");
        const shown = await agentsMessages();
        expect(shown).toHaveLength(1);
        expect(shown[0]?.text).toMatch(/^I was about to\n+⚠️ The model could not answer. Try again.$/);
      });

      test("a reply with a long text that failed says so in its last message", async () => {
        const lines = Array.from({ length: 4000 }, (_, index) => `line ${index} of the long answer`);
        const reply = replyTo(await mentioned(), createPosts());
        await reply.write(lines.join("\n"));
        await reply.fail(lines.join("\n"), "⚠️ The model could not go on. Try again.");
        const last = (await agentsMessages()).findLast(({ text }) => text !== "");
        expect(last?.text).toContain("The model could not go on. Try again.");
      });

      test("the notes below a long answer are in its last message", async () => {
        const lines = Array.from({ length: 4000 }, (_, index) => `line ${index} of the long answer`);
        const message = await mentioned();
        const lost = { name: "lost.csv", path: join(tmpdir(), "no-such-file"), mimeType: "text/csv" };
        await replyTo(message, createPosts()).finish(
          lines.join("\n"),
          [lost],
          undefined,
          "*(Another model answered.)*",
        );
        const last = (await agentsMessages()).findLast(({ text }) => text !== "");
        expect(last?.text).toContain("(Another model answered.)");
        expect(last?.text).toContain("I couldn't attach the file");
      });

      test("an unreachable conversation has no route, and a card there is refused", async () => {
        const message = await mentioned();
        const target = { ...targetOf(message), conversationId: `${message.conversationId.split(":")[0]}:nowhere` };
        const asking = world.platform.reply(target, createPosts()).ask(createCard(message));
        await expect(asking).rejects.toMatchObject({ code: "platform.no-route" });
      });

      test("a long text arrives completely and in order", async () => {
        const lines = Array.from({ length: 4000 }, (_, index) => `line ${index} of the long answer`);
        await replyTo(await mentioned(), createPosts()).finish(lines.join("\n"), []);
        const shown = await agentsMessages();
        const all = shown
          .map((message) => [message.text, ...message.files.map((file) => file.content)].join("\n"))
          .join("\n");
        expect(all.match(/line \d+ of the long answer/g)?.slice(-4000)).toEqual(lines);
      });

      test("files arrive with their content, and a missing one is named", async () => {
        const folder = await mkdtemp(join(tmpdir(), "remora-files-"));
        const path = join(folder, "report.csv");
        await writeFile(path, "a,b\n1,2\n");
        const missing = join(folder, "missing.txt");
        await replyTo(await mentioned(), createPosts()).finish("Here.", [
          { name: "report.csv", path, mimeType: "text/csv" },
          { name: "missing.txt", path: missing, mimeType: "text/plain" },
        ]);
        await rm(folder, { recursive: true });
        const shown = await agentsMessages();
        expect(shown.flatMap((message) => message.files)).toEqual([{ name: "report.csv", content: "a,b\n1,2\n" }]);
        expect(shown.map((message) => message.text).join("\n")).toContain("missing.txt");
      });
    });

    describe("resuming after a crash", () => {
      test("a text that was removed is written below what was posted in the meantime", async () => {
        const [message, posts, earlier] = [await mentioned(), createPosts(), createPosts()];
        const waiting = replyTo(message, posts);
        await waiting.progress({ headline: "Waiting", current: "Waiting", isQueued: true, tasks: [] });
        await vi.waitFor(async () => expect(await agentsMessages()).toHaveLength(1), { timeout: 5000 });
        await world.platform
          .reply({ ...targetOf(message), turnId: "turn0" }, earlier)
          .finish("The earlier answer.", []);
        await waiting.leave?.();
        await replyTo(message, posts).finish("", []);
        const reply = replyTo(message, posts);
        await reply.write("A later");
        await reply.finish("A later answer.", []);
        expect((await agentsMessages()).map((each) => each.text)).toEqual(["The earlier answer.", "A later answer."]);
      });

      test("a process that stalled writes nothing once another one may continue the reply", async () => {
        const [message, posts] = [await mentioned(), createPosts()];
        let isLost = false;
        const stalled = replyTo(message, { ...posts, isLost: () => isLost });
        await stalled.write("Half an ans");
        const neverBegan = replyTo(message, { ...posts, isLost: () => isLost });
        await replyTo(message, posts).finish("The whole answer", []);
        isLost = true;
        // Rejects if it is shown at once, on a machine so slow that the pause between two edits is over.
        await stalled.write("Half an answer, and").catch((thrown) => expect(thrown).toSatisfy(isReplyLost));
        for (const reply of [stalled, neverBegan]) {
          const end = reply.finish("An older answer", []);
          await expect(end).rejects.toSatisfy(isReplyLost);
        }
        expect((await agentsMessages()).map(({ text }) => text)).toEqual(["The whole answer"]);
      });

      test("a partial text is edited, not posted again", async () => {
        const message = await mentioned();
        const posts = createPosts();
        await replyTo(message, posts).write("Half an ans");
        await expect.poll(agentsMessages).toHaveLength(1);
        await world.restart();
        await world.platform.connect(heard.handlers, new AbortController().signal);
        const reply = replyTo(message, posts);
        await reply.write("A whole");
        await reply.finish("A whole answer.", []);
        expect((await agentsMessages()).map((each) => each.text)).toEqual(["A whole answer."]);
      });

      test("a posted card is not posted again, and the text continues below it", async () => {
        const message = await mentioned();
        const posts = createPosts();
        const before = replyTo(message, posts);
        await before.write("Let me look.");
        await before.ask(createCard(message));
        await world.restart();
        await world.platform.connect(heard.handlers, new AbortController().signal);
        const reply = replyTo(message, posts);
        await reply.ask(createCard(message));
        await reply.settle(createCard(message, { state: "approved", choices: [], outcome: "Approved by Ann" }));
        await reply.finish("I looked.", []);
        const shown = await agentsMessages();
        expect(shown).toHaveLength(3);
        expect(shown[1]?.text).toContain("Approved by Ann");
        expect(shown[2]?.text).toBe("I looked.");
      });

      test("a card is settled although the process that posted it died before it knew", async () => {
        const message = await mentioned();
        const posts = createPosts();
        let isPosted = false;
        const keep = async (key: string, id: string) => {
          if (!key.startsWith("card:")) return await posts.keep(key, id);
          isPosted = true;
          await new Promise(() => {});
        };
        void replyTo(message, { ...posts, keep }).ask(createCard(message));
        await vi.waitFor(() => expect(isPosted).toBe(true));
        await world.restart();
        await world.platform.connect(heard.handlers, new AbortController().signal);
        const settled = createCard(message, { state: "denied", choices: [], outcome: "Denied by Ann" });
        await replyTo(message, posts).settle(settled);
        const [card, ...more] = await agentsMessages();
        expect(card?.text).toContain("Denied by Ann");
        expect([card?.choices, more]).toEqual([[], []]);
      });

      test("a click on a card from before the crash is reported", async () => {
        const message = await mentioned();
        await replyTo(message, createPosts()).ask(createCard(message));
        await world.restart();
        await world.platform.connect(heard.handlers, new AbortController().signal);
        expect(await world.click("approval-1", "deny")).toContain("Noted.");
        expect(last(heard.answers).choice).toBe("deny");
      });
    });

    test("health says whether messages can be received", async () => {
      expect(world.platform.health()).toMatchObject({ isConnected: true });
      await world.restart();
      expect(world.platform.health()).toMatchObject({ isConnected: false });
      expect(world.platform.health().detail).not.toBe("");
    });
  });
}
