/** Cards about changes to a folder: what they show. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createCard } from "../../conformance/platform-world.ts";
import { type ChangesWorld, files, openChangesWorld } from "./changes-world.ts";
import { rendered, textDisplays } from "./rendering.ts";

let discord: ChangesWorld["discord"];
let agent: ChangesWorld["agent"];
let message: ChangesWorld["message"];
let reply: ChangesWorld["reply"];
let card: ChangesWorld["card"];
let labels: ChangesWorld["labels"];
let ended: ChangesWorld["ended"];
let cardOf: ChangesWorld["cardOf"];
let close: () => Promise<void>;

beforeEach(async () => {
  const world = await openChangesWorld();
  ({ discord, agent, message, reply, card, labels, ended, cardOf } = world);
  close = world.bot.close;
});
afterEach(() => close());

describe("a card that asks about changes", () => {
  test("shows title, summary, files with deletions first, commands, output and diff, in this order", async () => {
    await reply.ask(cardOf());
    const { text, effects } = rendered(card());
    const order = [
      "website: 1 file deleted",
      "The folder was given",
      "- ⚠️ deleted  old/readme.md  −30",
      "~ changed  src/*index*.ts  +12 −3",
      "+ added  src/@everyone.ts  +4",
      "$ npm test — exit code 0",
      "ok 1\nok 2",
      "-one",
      "Ann may answer",
    ].map((part) => text.indexOf(part));
    expect(order.every((at) => at >= 0)).toBe(true);
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    expect(effects).toEqual([]);
    expect(card().files).toEqual([]);
    expect((card().components ?? []).flatMap(textDisplays).join()).toContain("```diff\n--- a/x");
    expect(labels()).toEqual(["Approve", "Deny", "Choose files…", "Show diff", "More…"]);
  });

  test("calls its buttons as the card says", async () => {
    await reply.ask(cardOf({ labels: { approve: "Keep", deny: "Discard" } }, { choices: ["approve", "deny"] }));
    expect(labels()).toEqual(["Keep", "Discard", "More…"]);
    await ended(discord.ann.click(card(), "Discard"));
    expect(agent.answers).toMatchObject([{ choice: "deny", cardOrApprovalId: "approval-1" }]);
  });

  test("names what does not fit, and has it in an attached file", async () => {
    const many = Array.from({ length: 25 }, (_, index) => ({
      path: `packages/${"deeply/nested/".repeat(20)}file-${index}.ts`,
      action: "deleted" as const,
      detail: "−1",
    }));
    const commands = Array.from({ length: 60 }, (_, index) => ({ text: `make step-${index}`, outcome: "exit code 0" }));
    const lastOutput = Array.from({ length: 500 }, (_, index) => `line ${index}`).join("\n");
    const diff = Array.from({ length: 900 }, (_, index) => `+added ${index}`).join("\n");
    await reply.ask(cardOf({ files: many, moreFiles: 300, commands, lastOutput, diff }));
    const { text } = rendered(card());
    for (const part of [
      "file-0.ts",
      "more files",
      "before them",
      "make step-59",
      "line 499",
      "attached as changes-1.txt",
    ])
      expect(text).toContain(part);
    expect(text).toMatch(/Diff \([\d,]+ more lines: see Show diff\)/);
    const [file] = card().files;
    expect(file?.name).toBe("changes-1.txt");
    const whole = [...many.map(({ path }) => path), "make step-0 ", "line 0\n", "and 300 more files", "+added 899"];
    for (const part of whole) expect(file?.text).toContain(part);
    const named = many.filter((_, index) => text.includes(`file-${index}.ts`)).length;
    expect(text).toContain(`and ${many.length - named + 300} more files`);
  });

  test("can be approved without attached files only where everything is on it or behind Show diff", async () => {
    discord.channel.permit(discord.bot, { deny: ["AttachFiles"] });
    const diff = "+added\n".repeat(2_000);
    await reply.ask(cardOf({ diff }, { choices: ["approve", "deny", "part"] }));
    expect(labels()).toEqual(["Deny", "More…"]);
    expect(rendered(card()).text).toContain("can't be approved here");
    await reply.settle(cardOf({ diff }, { choices: ["approve", "deny", "part", "diff"] }));
    expect(labels()).toEqual(["Approve", "Deny", "Choose files…", "Show diff", "More…"]);
  });

  test("needs no permission for embeds, and keeps Show diff even when it does not fit", async () => {
    discord.channel.permit(discord.bot, { deny: ["EmbedLinks", "AttachFiles"] });
    await reply.ask(cardOf({}, { choices: ["approve", "deny", "diff"] }));
    expect(rendered(card()).text).toContain("deleted  old/readme.md");
    expect(labels()).toEqual(["Approve", "Deny", "Show diff", "More…"]);
    const long = "*".repeat(400);
    await reply.settle({ ...cardOf({ title: long, summary: long }), approversText: long });
    expect(labels()).toContain("Show diff");
  });

  test("facts are prominent lines, on a card about a call too", async () => {
    const facts = ["Reaches github.com and *.example.com", "Takes along the changed file a.txt"];
    await reply.ask(createCard(message, { facts }));
    const text = (card().components ?? []).flatMap(textDisplays).join("\n");
    expect(text).toContain("**Reaches github\\.com and \\*\\.example\\.com**");
    for (const fact of facts) expect(rendered(card()).text).toContain(fact);
    await reply.settle(cardOf({}, { facts }));
    for (const fact of facts) expect(rendered(card()).text).toContain(fact);
  });

  test("facts that do not fit beside a call are counted, and are in the attached file", async () => {
    const facts = Array.from({ length: 90 }, (_, index) => `Takes along the changed file ${"x".repeat(60)}-${index}`);
    await reply.ask(createCard(message, { facts }));
    expect(rendered(card()).text).toMatch(/and \d+ more lines/);
    for (const fact of facts) expect(card().files[0]?.text).toContain(fact);
  });
});

describe("a card that reports changes, or is settled", () => {
  const report = { state: "consumed", outcome: "Kept — website: 1 file deleted, 1 changed, 1 added" } as const;

  test("is few lines: title, outcome, some names of each kind, and how many more", async () => {
    const many = Array.from({ length: 20 }, (_, index) => ({
      path: `f${index}.txt`,
      action: "added" as const,
      detail: "",
    }));
    await reply.ask(cardOf({ files: [...files, ...many], moreFiles: 7 }, { ...report, choices: ["undo"] }));
    expect(rendered(card()).text.split("\n")).toEqual([
      "✅ Kept — website: 1 file deleted, 1 changed, 1 added",
      "The folder was given by the configuration.",
      "🗑️ deleted: old/readme.md",
      "✏️ changed: src/*index*.ts",
      "➕ added: src/@everyone.ts, f0.txt, f1.txt, f2.txt",
      "and 24 more files",
    ]);
    expect(card().files).toEqual([]);
    expect(labels()).toEqual(["Undo"]);
    await ended(discord.ben.click(card(), "Undo"));
    expect(agent.answers).toMatchObject([{ choice: "undo", messageId: card().id, by: { id: discord.ben.id } }]);
  });

  test("shrinks to its outcome once it is answered", async () => {
    await reply.ask(cardOf());
    const before = rendered(card()).text.length;
    const outcome = "Nothing was kept: a.txt changed in the meantime";
    await reply.settle(cardOf({}, { state: "cancelled", outcome, choices: ["again"] }));
    const { text } = rendered(card());
    expect(text).toBe(`⚠️ ${outcome}`);
    for (const gone of ["npm test", "ok 2", "-one", "may answer"]) expect(text).not.toContain(gone);
    expect(text.length).toBeLessThan(before);
    expect(labels()).toEqual(["Do it again"]);
    await ended(discord.ann.click(card(), "Do it again"));
    expect(agent.answers).toMatchObject([{ choice: "again" }]);
  });

  test("stands below an answer that has ended, and leaves the answer as it is", async () => {
    await reply.write("I am chang");
    await reply.finish("I changed three files.", []);
    await reply.ask(cardOf({}, { ...report, choices: ["undo"] }));
    const contents = discord.channel
      .threads()
      .flatMap((thread) => thread.messages())
      .map((each) => rendered(each).text);
    expect(contents.slice(-2)).toEqual(["I changed three files.", expect.stringContaining("website")]);
  });
});
