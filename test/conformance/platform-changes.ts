/** Part of the platform suite: cards about changes to a folder, and facts on cards. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApprovalCard, CardItem, ShownChange, ShownChanges } from "../../src/ports/card.ts";
import type { AnswerChoice, InboundMessage } from "../../src/ports/message.ts";
import {
  agentsMessages,
  createCard,
  createPosts,
  heard,
  mentioned,
  type PlatformWorld,
  replyTo,
  type ShownMessage,
  usePlatform,
} from "./platform-world.ts";

/** What a platform's test also needs for cards about changes. Its `shown` returns `labels`. */
export interface ChangesWorld extends PlatformWorld {
  /**
   * Like `click`, for `part`: opens the form of the card about changes, chooses exactly these files (indexes into
   * `ShownChanges.files`), and submits it. The result includes the form's own error if it can't be submitted.
   */
  choose(approvalId: string, parts: number[], as?: string): Promise<string>;
}

const warning = "can run by itself outside the sandbox";
const tick = "`";
const shortDiff = [
  "diff --git a/src/app.css b/src/app.css",
  "--- a/src/app.css",
  "+++ b/src/app.css",
  "@@ -1,3 +1,3 @@",
  " body {",
  "-  color: black;",
  `+  /* ${tick}${tick}${tick} <b>*x*</b> */ color: navy;`,
  " }",
].join("\n");

function changesWith(changes: Partial<ShownChanges> = {}): ShownChanges {
  return {
    title: "website: 1 file deleted, 1 changed, 1 added",
    summary: "The folder is shared, so somebody must agree before they are kept.",
    files: [
      { path: "old/page.html", action: "deleted", detail: "−40" },
      { path: "src/app.css", action: "changed", detail: "+12 −3" },
      { path: "notes/today.md", action: "added", detail: "14 kB" },
    ],
    moreFiles: 0,
    commands: [
      { text: "npm run build", outcome: "exit code 0" },
      { text: "npm test", outcome: "exit code 1" },
    ],
    lastOutput: "12 tests passed\n1 test failed",
    diff: shortDiff,
    labels: { approve: "Keep them", deny: "Discard all" },
    ...changes,
  };
}

const grantText = "For 30 minutes, in this conversation: keep changes in website without asking, when Ann asks for it.";
const allOfAsking: AnswerChoice[] = ["approve", "deny", "part", "diff", "allow"];

/** A card that asks; `changes` of the item override that. */
function changesCard(
  message: InboundMessage,
  shown: Partial<ShownChanges> = {},
  item: Partial<CardItem> = {},
): ApprovalCard {
  const changes = changesWith(shown);
  return createCard(message, {
    ...{
      tool: "changes",
      callText: "",
      headline: changes.headline ?? changes.title,
      why: [],
      choices: allOfAsking,
      changes,
    },
    grantText,
    ...item,
  });
}

const reported: Partial<CardItem> = {
  state: "consumed",
  choices: ["undo", "diff"],
  outcome: `Kept — ${changesWith().title}`,
};

export function describePlatformChanges(name: string, createWorld: () => Promise<ChangesWorld>): void {
  describe(`the platform port, changes: ${name}`, () => {
    let world: ChangesWorld;
    usePlatform(async () => {
      world = await createWorld();
      return world;
    });

    async function asked(shown: Partial<ShownChanges> = {}, item: Partial<CardItem> = {}) {
      const message = await mentioned();
      const posts = createPosts();
      const reply = replyTo(message, posts);
      await reply.ask(changesCard(message, shown, item));
      return { message, posts, reply };
    }

    async function onlyMessage(): Promise<ShownMessage> {
      const [card, ...more] = await agentsMessages();
      if (card === undefined) throw new Error("no card is shown");
      expect(more).toEqual([]);
      return card;
    }

    /** Only the card, without an overflow file below it. */
    async function theCard(): Promise<ShownMessage> {
      const [card] = await agentsMessages();
      if (card === undefined) throw new Error("no card is shown");
      return card;
    }

    /**
     * The card and its attachments. A service whose code blocks can't hold three backticks separates them with a zero-width
     * character.
     */
    async function seen(): Promise<string> {
      const shown = await agentsMessages();
      const texts = shown.flatMap(({ text, files }) => [text, ...files.map(({ content }) => content)]);
      return texts.join("\n").replaceAll("\u200b", "");
    }

    describe("a card about changes", () => {
      test("says how many of the files that are only counted can run by themselves", async () => {
        await asked({ moreFiles: 7, moreWarned: 3 });
        expect((await onlyMessage()).text).toMatch(
          /and 7 more files, 3 of which can run by themselves outside the sandbox/i,
        );
      });

      test("lists the changes, deletions first, with its own buttons", async () => {
        await asked({ moreFiles: 7 });
        const card = await onlyMessage();
        const { title, summary, files, commands } = changesWith();
        for (const part of [title, summary, "Ann may answer"]) expect(card.text).toContain(part);
        for (const { path, detail } of files) expectInOrder(card.text, [path, detail]);
        expectInOrder(card.text, ["deleted", ...files.map(({ path }) => path)]);
        expect(card.text).toMatch(/and 7 more files/i);
        for (const { text, outcome } of commands) expectInOrder(card.text, [text, outcome]);
        expectInOrder(card.text, ["npm run build", "npm test", "1 test failed"]);
        expect(card.choices.toSorted()).toEqual(allOfAsking.toSorted());
        expect(card.labels).toEqual(
          expect.arrayContaining([
            "Keep them",
            "Discard all",
            "Choose files…",
            "Show diff",
            expect.stringMatching(/^Allow /),
          ]),
        );
      });

      test("shows a short diff in full, whatever it contains", async () => {
        await asked();
        const text = await seen();
        for (const line of shortDiff.split("\n")) expect(text).toContain(line.trim());
        expect((await onlyMessage()).effects ?? []).toEqual([]);
      });

      test("leaves out empty sections", async () => {
        const message = await mentioned();
        const { lastOutput: _output, diff: _diff, ...bare } = changesWith({ summary: "", commands: [] });
        const card = changesCard(message, {}, { choices: ["approve", "deny"] });
        await replyTo(message, createPosts()).ask({
          ...card,
          items: card.items.map((item) => ({ ...item, changes: bare })),
        });
        const shown = await onlyMessage();
        expect(shown.text).toContain("old/page.html");
        expect(shown.text).not.toMatch(/undefined|null/);
        expect(shown.choices.toSorted()).toEqual(["approve", "deny"]);
      });

      test("counts the files that it does not list", async () => {
        const files = Array.from(
          { length: 25 },
          (_, index): ShownChange => ({
            path: `${"a-long-folder-name/".repeat(4)}file-${String(index).padStart(3, "0")}.txt`,
            action: index < 5 ? "deleted" : "changed",
            detail: "+1 −1",
          }),
        );
        await asked({ files, moreFiles: 375 });
        const { text } = await onlyMessage();
        const listed = new Set(text.match(/file-\d{3}/g)).size;
        const counted = [...text.matchAll(/and ([\d,]+) more files/gi)].map(([, count = ""]) =>
          count.replaceAll(",", ""),
        );
        expect(listed + counted.reduce((sum, count) => sum + Number(count), 0)).toBe(400);
        expect(listed).toBeGreaterThanOrEqual(5);
      });

      test("shows a warning whole on every line that it shows, however long the path and the detail", async () => {
        const length = fc.integer({ min: 1, max: 300 });
        const name = fc
          .tuple(fc.constantFrom("x", "folder/", "ü", "a b/"), length)
          .map(([part, times]) => part.repeat(times));
        const [paths = []] = fc.sample(fc.array(name, { minLength: 25, maxLength: 25 }), { numRuns: 1, seed: 5 });
        const files = paths.map(
          (path, index): ShownChange => ({
            path: `file-${String(index).padStart(2, "0")}-${path}/.git/config`,
            action: index % 2 === 0 ? "changed" : "added",
            detail: `link to ${"y".repeat(index * 9)}`,
            warning,
          }),
        );
        await asked({ files });
        const { text } = await theCard();
        const lines = text.split("\n").filter((line) => /file-\d\d/.test(line));
        expect(lines.length).toBeGreaterThan(5);
        for (const line of lines) expect(line).toMatch(/file-\d\d.*git\/config.*can run by itself outside the sandbox/);
        for (const { path } of files) expect(await seen()).toContain(path.slice(0, 9));
      });

      test("says when a diff is too long for the service", async () => {
        const lines = Array.from({ length: 2_000 }, (_, index) => `+line ${index} of what was written`);
        const diff = ["--- a/x", "+++ b/x", "@@ -0,0 +1,2000 @@", ...lines].join("\n");
        await asked({ diff });
        const text = await seen();
        expect(text.includes("line 1999 of what was written") || text.includes("Show diff")).toBe(true);
        expect((await agentsMessages())[0]?.choices).toContain("approve");
      });

      test("shows markup in paths, commands, output, facts and the diff as text", async () => {
        const bad = "<!channel> <@U1> @everyone [safe](https://evil.example/x) *bold* ~~s~~ <b>b</b> &amp; | # h";
        const { message, reply } = await asked(
          {
            ...{ title: `folder ${bad}`, summary: `Because ${bad}` },
            files: [{ path: `dir/${bad}`, action: "deleted", detail: `link to ${bad}` }],
            commands: [{ text: `echo ${bad}`, outcome: `killed ${bad}` }],
            ...{ lastOutput: `${bad}\n> quoted`, diff: `+${bad}` },
          },
          { facts: [`sends ${bad}`] },
        );
        const text = await seen();
        for (const before of ["folder ", "Because ", "dir/", "link to ", "sends ", "+"])
          expect(text).toContain(`${before}${bad}`);
        for (const before of ["echo", "killed"]) expect(text).toContain(`${before} ${bad.slice(0, 10)}`);
        for (const { effects } of await agentsMessages()) expect(effects ?? []).toEqual([]);
        const outcome = `Nothing was kept: ${bad} changed in the meantime`;
        await reply.settle(
          changesCard(message, { title: `folder ${bad}` }, { state: "cancelled", choices: ["again"], outcome }),
        );
        const settledCard = await theCard();
        expect(settledCard.text).toContain(outcome);
        expect(settledCard.effects ?? []).toEqual([]);
      });

      test.each(["approve", "deny", "allow"] as const)("reports %s with the person and the card", async (choice) => {
        const { message } = await asked();
        expect(await world.click("approval-1", choice)).toContain("Noted.");
        expect(heard.answers).toMatchObject([
          { cardOrApprovalId: "approval-1", choice, conversationId: message.conversationId, by: { name: "Ann" } },
        ]);
      });

      test.each(["undo", "again"] as const)("reports %s on a settled card", async (choice) => {
        const { message } = await asked({}, { ...reported, choices: [choice] });
        expect((await onlyMessage()).choices).toEqual([choice]);
        expect(await world.click("approval-1", choice)).toContain("Noted.");
        expect(heard.answers).toMatchObject([
          { cardOrApprovalId: "approval-1", choice, conversationId: message.conversationId, by: { name: "Ann" } },
        ]);
      });

      test("reports the chosen files and who chose them", async () => {
        const { message } = await asked();
        expect(await world.choose("approval-1", [0, 2], "Ben")).toContain("Noted.");
        expect(heard.answers).toMatchObject([
          {
            cardOrApprovalId: "approval-1",
            choice: "part",
            conversationId: message.conversationId,
            by: { name: "Ben" },
          },
        ]);
        expect(heard.answers[0]?.parts).toEqual([0, 2]);
      });

      test("lets people choose only the last of 25 files", async () => {
        const files = Array.from(
          { length: 25 },
          (_, index): ShownChange => ({ path: `file-${index}.txt`, action: "added", detail: "+1" }),
        );
        await asked({ files });
        await world.choose("approval-1", [24]);
        expect(heard.answers[0]?.parts).toEqual([24]);
      });

      test("treats an empty choice as no answer, and tells the person to use the other button", async () => {
        await asked();
        expect(await world.choose("approval-1", [])).toContain("Discard all");
        expect(heard.answers).toEqual([]);
      });

      test("shows the whole diff only to the person who asked for it", async () => {
        await asked();
        const text = Array.from({ length: 3_000 }, (_, index) => `+line ${index} \`\`\` <b> of the diff`).join("\n");
        heard.receipt = { accepted: true, text: "This is the whole diff.", file: { name: "changes.diff", text } };
        expect(await world.click("approval-1", "diff", "Ben")).toContain(text);
        expect(heard.answers).toMatchObject([{ choice: "diff", by: { name: "Ben" } }]);
        expect(await seen()).not.toContain("line 2999");
      });

      test("says why a diff is refused", async () => {
        await asked();
        heard.receipt = { accepted: false, text: "This diff is not kept any more." };
        expect(await world.click("approval-1", "diff")).toContain("This diff is not kept any more.");
      });
    });

    describe("a card that only reports", () => {
      test("has a title, an outcome, the files and Undo, and asks nothing", async () => {
        await asked({}, reported);
        const card = await onlyMessage();
        for (const part of [changesWith().title, "Kept", "old/page.html"]) expect(card.text).toContain(part);
        expect(card.choices.toSorted()).toEqual(["diff", "undo"]);
        expect(card.labels?.toSorted()).toEqual(["Show diff", "Undo"]);
      });

      test("names first what carries a warning, and of the rest a few", async () => {
        const files = Array.from({ length: 12 }, (_, index): ShownChange => {
          const file = { path: `file-${index}.txt`, action: index < 8 ? "deleted" : "changed", detail: "+1" } as const;
          return index === 11 ? { ...file, path: ".git/hooks/pre-commit", warning } : file;
        });
        await asked({ files }, reported);
        const { text } = await onlyMessage();
        for (const part of [".git/hooks/pre-commit", warning, "file-0.txt"]) expect(text).toContain(part);
      });

      test("names every file if somebody had only allowed such changes in advance", async () => {
        const files = Array.from(
          { length: 25 },
          (_, index): ShownChange => ({
            path: `${"folder/".repeat(index)}file-${index}.txt`,
            action: index < 9 ? "deleted" : "added",
            detail: "+1 −12",
          }),
        );
        const granted = {
          isGranted: true,
          settledAt: 1_700_000_000_000,
          outcome: "Ann had allowed it in advance",
        } as const;
        await asked({ files }, { ...reported, ...granted, choices: ["undo"] });
        const { text } = await onlyMessage();
        for (const { path } of files) expect(text).toContain(path.slice(-12));
        expect(text).not.toContain("more file");
      });

      test.each(["finish", "fail"] as const)(
        "appears below an answer that ended by %s, and does not change it",
        async (end) => {
          const folder = await mkdtemp(join(tmpdir(), "remora-files-"));
          const path = join(folder, "report.csv");
          await writeFile(path, "a,b\n1,2\n");
          const message = await mentioned();
          const posts = createPosts();
          const files = [{ name: "report.csv", path, mimeType: "text/csv" }];
          const reply = replyTo(message, posts);
          if (end === "finish") await reply.finish("Here it is.", files);
          else await reply.fail("Here it is.", "It broke off.");
          await rm(folder, { recursive: true });
          const before = await agentsMessages();
          const below = replyTo(message, posts);
          await below.ask(changesCard(message, {}, reported));
          const after = await agentsMessages();
          expect(after.slice(0, -1)).toEqual(before);
          expect(after.at(-1)?.text).toContain(changesWith().title);
          await below.settle(changesCard(message, {}, { ...reported, choices: [], outcome: "Undone by Ann" }));
          expect((await agentsMessages()).at(-1)?.text).toContain("Undone by Ann");
          expect(await agentsMessages()).toHaveLength(after.length);
        },
      );
    });

    describe("a settled card about changes", () => {
      test.each([
        ["consumed", "Approved by Ben", ["undo"]],
        ["denied", "Denied by Ben: not today", []],
        ["cancelled", "Nothing was kept: src/app.css changed in the meantime", ["again"]],
        ["cancelled", "Continued below", []],
        ["expired", "Expired: nobody answered in time", []],
      ] as const)("shrinks to one line: %s, “%s”", async (state, outcome, choices) => {
        const { message, posts } = await asked();
        await world.restart();
        await world.platform.connect(heard.handlers, new AbortController().signal);
        const settledAt = Date.UTC(2026, 10, 1, 14, 2);
        const settled = changesCard(message, {}, { state, outcome, choices: [...choices], settledAt });
        for (const _ of [1, 2]) await replyTo(message, posts).settle(settled);
        const card = await onlyMessage();
        expect(card.text).toContain(outcome);
        expect(card.text.trim().split("\n").length).toBeLessThanOrEqual(1 + choices.length);
        for (const part of ["src/app.css  ", "npm run build", "1 test failed", "color: navy", "Ann may answer"])
          expect(await seen()).not.toContain(part);
        expect(card.choices).toEqual(choices);
      });

      test("passes on a late click and answers it", async () => {
        const { message, reply } = await asked();
        await reply.settle(changesCard(message, {}, { state: "denied", choices: [], outcome: "Denied by Ben" }));
        heard.receipt = { accepted: false, text: "Nothing left to answer. Denied by Ben." };
        expect(await world.click("approval-1", "approve")).toContain("Nothing left to answer. Denied by Ben.");
      });
    });

    test("facts are shown below an ordinary call, with its reasons and buttons", async () => {
      const message = await mentioned();
      const facts = [
        "Connects to *github.com* and registry.example:443",
        "Takes along 2 changed files: a.txt, b_c_d.txt",
      ];
      await replyTo(message, createPosts()).ask(createCard(message, { facts }));
      const card = await onlyMessage();
      expectInOrder(card.text, ["rm -rf ./build", ...facts]);
      expect(card.text).toContain("Asks before it deletes.");
      expect(card.choices.toSorted()).toEqual(["approve", "deny"]);
      expect(card.effects ?? []).toEqual([]);
    });
  });
}

/** Checks that the texts appear in this order. */
function expectInOrder(text: string, parts: string[]): void {
  const found: string[] = [];
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at >= 0) found.push(part);
    from = Math.max(from, at + part.length);
  }
  expect(found, text).toEqual(parts);
}
