/** Cards about changes to a folder: what they show, and what their buttons do. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ApprovalCard, CardItem, ShownChange, ShownChanges } from "../../../src/core/approval.ts";
import type { AnswerChoice, InboundMessage } from "../../../src/core/message.ts";
import type { Reply } from "../../../src/core/platform.ts";
import { cardMessages, cardStyles } from "../../../src/platforms/discord/card.ts";
import { fileForm } from "../../../src/platforms/discord/file-form.ts";
import { createCard, createPosts, targetOf } from "../../conformance/platform.ts";
import type { DiscordDouble } from "../../doubles/discord/double.ts";
import { readMessage } from "../../doubles/discord/message-form.ts";
import { readModal } from "../../doubles/discord/modal-form.ts";
import type { InteractionHandle } from "../../doubles/discord/people-interactions.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent, type RecordingAgent } from "./recording-agent.ts";
import { rendered } from "./rendering.ts";

let bot: DiscordBot;
let agent: RecordingAgent;
let discord: DiscordDouble;
let message: InboundMessage;
let reply: Reply;

beforeEach(async () => {
  bot = await openDiscordBot();
  discord = bot.discord;
  agent = createRecordingAgent();
  await bot.platform.connect(agent.handlers, new AbortController().signal);
  const said = discord.ann.say(`${discord.bot.mention} clean up`, { in: discord.channel });
  message = await discord.until(() => agent.kept.find(({ id }) => id === said.id));
  reply = bot.platform.reply(targetOf(message), createPosts());
});
afterEach(() => bot.close());

const files: ShownChange[] = [
  { path: "old/readme.md", action: "deleted", detail: "−30" },
  { path: "src/*index*.ts", action: "changed", detail: "+12 −3" },
  { path: "src/@everyone.ts", action: "added", detail: "+4" },
];

function changesOf(more: Partial<ShownChanges> = {}): ShownChanges {
  return {
    title: "website: 1 file deleted, 1 changed, 1 added",
    summary: "The folder was given by the configuration.",
    files,
    moreFiles: 0,
    commands: [{ text: "npm test", outcome: "exit code 0" }],
    lastOutput: "ok 1\nok 2",
    diff: "--- a/x\n+++ b/x\n-one\n+``` two",
    labels: { approve: "Approve", deny: "Deny" },
    ...more,
  };
}

function cardOf(changes: Partial<ShownChanges> = {}, item: Partial<CardItem> = {}): ApprovalCard {
  const choices: AnswerChoice[] = ["approve", "deny", "allow", "part", "diff"];
  const own = {
    callText: "",
    reasons: [],
    choices,
    grantText: "For 30 minutes, changes here are kept without asking.",
  };
  return createCard(message, { ...own, ...item, changes: changesOf(changes) });
}

function card(): SeenMessage {
  const all = [discord.channel, ...discord.channel.threads()].flatMap((channel) => channel.messages());
  const [found, ...more] = all.filter(({ author, buttons, embeds }) => {
    return author.id === discord.bot.id && (embeds.length > 0 || buttons.length > 0);
  });
  if (found === undefined || more.length > 0) throw new Error(`there are ${more.length + 1} cards`);
  return found;
}

function labels(): string[] {
  return card().buttons.map(({ label }) => label);
}

async function ended(click: InteractionHandle): Promise<SeenMessage> {
  await discord.until(() => click.state() === "answered");
  return click.reply() as SeenMessage;
}

describe("a card that asks about changes", () => {
  test("shows title, summary, files with deletions first, commands, output and diff, in this order", async () => {
    await reply.ask(cardOf());
    const { text, effects } = rendered(card());
    const order = [
      "website: 1 file deleted",
      "The folder was given",
      "- deleted  old/readme.md  −30",
      "! changed  src/*index*.ts  +12 −3",
      "+ added  src/@everyone.ts  +4",
      "$ npm test — exit code 0",
      "ok 1\nok 2",
      "-one",
      "Allow: For 30 minutes",
      "Ann may answer",
    ].map((part) => text.indexOf(part));
    expect(order.every((at) => at >= 0)).toBe(true);
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    expect(effects).toEqual([]);
    expect(card().files).toEqual([]);
    expect(card().embeds[0]?.description).toContain("```diff\n--- a/x");
    expect(labels()).toEqual(["Approve", "Deny", "Allow 30 min here", "Choose files…", "Show diff"]);
  });

  test("calls its buttons as the card says", async () => {
    await reply.ask(cardOf({ labels: { approve: "Keep", deny: "Discard" } }, { choices: ["approve", "deny"] }));
    expect(labels()).toEqual(["Keep", "Discard"]);
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
    expect(labels()).toEqual(["Deny"]);
    expect(rendered(card()).text).toContain("can't be approved on this card");
    await reply.settle(cardOf({ diff }, { choices: ["approve", "deny", "part", "diff"] }));
    expect(labels()).toEqual(["Approve", "Deny", "Choose files…", "Show diff"]);
  });

  test("is text where embeds are not allowed, and keeps Show diff even when it does not fit", async () => {
    discord.channel.permit(discord.bot, { deny: ["EmbedLinks", "AttachFiles"] });
    await reply.ask(cardOf({}, { choices: ["approve", "deny", "diff"] }));
    expect(card()).toMatchObject({ embeds: [], content: expect.stringContaining("deleted  old/readme.md") });
    expect(labels()).toEqual(["Approve", "Deny", "Show diff"]);
    const long = "*".repeat(400);
    await reply.settle({ ...cardOf({ title: long, summary: long }), approversText: long });
    expect(card().content.length).toBeLessThanOrEqual(2_000);
    expect(labels()).toContain("Show diff");
  });

  test("facts are prominent lines, on a card about a call too", async () => {
    const facts = ["Reaches github.com and *.example.com", "Takes along the changed file a.txt"];
    await reply.ask(createCard(message, { facts }));
    const text = card().embeds[0]?.description ?? "";
    expect(text).toContain("**Reaches github\\.com and \\*\\.example\\.com**");
    for (const fact of facts) expect(rendered(card()).text).toContain(fact);
    expect(text.indexOf("Reaches")).toBeLessThan(text.indexOf("Why it asks"));
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
  const report = { state: "consumed", outcome: "Kept" } as const;

  test("is few lines: title, outcome, some names of each kind, and how many more", async () => {
    const many = Array.from({ length: 20 }, (_, index) => ({
      path: `f${index}.txt`,
      action: "added" as const,
      detail: "",
    }));
    await reply.ask(cardOf({ files: [...files, ...many], moreFiles: 7 }, { ...report, choices: ["undo"] }));
    expect(rendered(card()).text.split("\n")).toEqual([
      "website: 1 file deleted, 1 changed, 1 added",
      "Kept",
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

  test("shrinks once it is answered, and keeps its title and outcome", async () => {
    await reply.ask(cardOf());
    const before = rendered(card()).text.length;
    const outcome = "Nothing was kept: a.txt changed in the meantime";
    await reply.settle(cardOf({}, { state: "cancelled", outcome, choices: ["again"] }));
    const { text } = rendered(card());
    expect(text).toContain("website: 1 file deleted");
    expect(text).toContain(outcome);
    for (const gone of ["npm test", "ok 2", "-one", "may answer"]) expect(text).not.toContain(gone);
    expect(text.length).toBeLessThan(before);
    expect(labels()).toEqual(["Run again"]);
    await ended(discord.ann.click(card(), "Run again"));
    expect(agent.answers).toMatchObject([{ choice: "again" }]);
  });

  test("stands below an answer that has ended, and leaves the answer as it is", async () => {
    await reply.write("I am chang");
    await reply.finish("I changed three files.", []);
    await reply.ask(cardOf({}, { ...report, choices: ["undo"] }));
    const contents = discord.channel
      .threads()
      .flatMap((thread) => thread.messages())
      .map(({ content, embeds }) => content || embeds[0]?.title);
    expect(contents.slice(-2)).toEqual(["I changed three files.", expect.stringContaining("website")]);
  });

  test("what was undone does not look kept again when a turn goes on with the card as it once was", async () => {
    const posts = createPosts();
    const kept = cardOf({}, { ...report, choices: ["undo"] });
    await bot.platform.reply(targetOf(message), posts).ask(kept);
    const undone = cardOf({}, { ...report, outcome: "Undone by Ann", choices: [] });
    await bot.platform.reply(targetOf(message), posts).settle(undone);
    await bot.restart();
    await bot.platform.reply(targetOf(message), posts).ask(kept);
    expect(rendered(card()).text).toContain("Undone by Ann");
    expect(labels()).toEqual([]);
  });
});

describe("Choose files…", () => {
  async function opened(who = discord.ann): Promise<InteractionHandle> {
    const click = who.click(card(), "Choose files…");
    await discord.until(() => click.modal());
    return click;
  }

  test("opens a form in which all files are chosen, also after a restart, and hands in those that are left", async () => {
    await reply.ask(cardOf());
    await bot.restart();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const form = await opened();
    const [menu] = form.modal()?.menus ?? [];
    expect(menu).toMatchObject({ chosen: ["0", "1", "2"], least: 1, most: 3, isRequired: true });
    expect(menu?.description).toContain("To keep none, use “Deny”");
    expect(menu?.options.map(({ label, description }) => [label, description])).toEqual([
      ["old/readme.md", "deleted · −30"],
      ["src/*index*.ts", "changed · +12 −3"],
      ["src/@everyone.ts", "added · +4"],
    ]);
    const receipt = await ended(discord.ann.submit(form, { files: ["2", "0"] }));
    expect(receipt).toMatchObject({ isEphemeral: true, content: "Noted\\." });
    expect(agent.answers).toMatchObject([
      { choice: "part", parts: [0, 2], cardOrApprovalId: "approval-1", messageId: card().id },
    ]);
  });

  test("hands in every file when nothing is changed in the form", async () => {
    await reply.ask(cardOf());
    await ended(discord.ben.submit(await opened(discord.ben)));
    expect(agent.answers).toMatchObject([{ parts: [0, 1, 2], by: { id: discord.ben.id } }]);
  });

  test("says what to use when no file is chosen, and decides nothing", async () => {
    await reply.ask(cardOf({ labels: { approve: "Keep", deny: "Discard" } }));
    const made = await ended(discord.ann.press(card(), "chosen|||approval-1"));
    expect(rendered(made).text).toBe(
      "No file was chosen, so nothing was decided. To keep none of them, use “Discard”.",
    );
    expect(agent.answers).toEqual([]);
  });

  test("that is offered no more is handed in without files, and the rules say why not", async () => {
    await reply.ask(cardOf());
    bot.store.values.clear();
    agent.receipt = { accepted: false, text: "Nothing left to answer." };
    const receipt = await ended(discord.ann.click(card(), "Choose files…"));
    expect(receipt.content).toBe("Nothing left to answer\\.");
    expect(agent.answers[0]).toMatchObject({ choice: "part" });
    expect(agent.answers[0]).not.toHaveProperty("parts");
  });

  test.each([
    ["fails", () => Promise.reject(new Error("the disk is gone"))],
    ["never answers", () => new Promise<never>(() => {})],
  ])("is answered within Discord's time when the store %s", async (_what, get) => {
    await reply.ask(cardOf());
    bot.store.get = get;
    const click = discord.ann.click(card(), "Choose files…");
    expect(rendered(await ended(click)).text).toContain("could not be opened");
    expect(click.answeredWith()).toBe(5);
    expect(agent.answers).toEqual([]);
  });

  test("any list of files is a form that Discord takes, in which every file can be told apart", () => {
    const path = fc.oneof(
      fc.string({ minLength: 1, maxLength: 300, unit: "grapheme" }),
      fc.constantFrom(" ", "a".repeat(250), `${"🎉".repeat(120)}.txt`, "```", "@everyone"),
    );
    const change = fc.record({
      path,
      action: fc.constantFrom("deleted" as const, "changed" as const, "added" as const),
      detail: fc.oneof(fc.constant(""), fc.string({ maxLength: 200 })),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 25 }), fc.string({ maxLength: 90 }), (all, denyLabel) => {
        const place = { approvalId: "a".repeat(22), thread: "1".repeat(20), firstMessage: "2".repeat(20) };
        const form = fileForm({ ...place, choice: { files: all, denyLabel } });
        const modal = readModal(JSON.parse(JSON.stringify(form)));
        const [part] = modal.components as { component: { options: { label: string; description?: string }[] } }[];
        const shown = part?.component.options.map(({ label, description }) => `${label}\n${description}`) ?? [];
        const isSame = (one: number, other: number) => all[one]?.path === all[other]?.path;
        for (const [index, text] of shown.entries()) {
          const first = shown.indexOf(text);
          if (first !== index && all[index]?.path.trim() !== "") expect(isSame(first, index)).toBe(true);
        }
      }),
    );
  });
});

describe("Show diff", () => {
  const text = "--- a/ü.txt\n+++ b/ü.txt\n+``` <@1> 🎉\n".repeat(400);

  test("is acknowledged at once, and answers with the file for the person alone", async () => {
    await reply.ask(cardOf());
    let decide = () => {};
    agent.handlers.onAnswer = (answer) => {
      agent.answers.push(answer);
      const receipt = { accepted: true, text: "The whole diff.", file: { name: "website.diff", text } };
      return new Promise((resolve) => (decide = () => resolve(receipt)));
    };
    await bot.restart();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const click = discord.ben.click(card(), "Show diff");
    await discord.until(() => click.state() === "deferred");
    await discord.until(() => agent.answers.length === 1);
    expect(agent.answers).toMatchObject([{ choice: "diff", by: { id: discord.ben.id } }]);
    decide();
    const shown = await ended(click);
    expect(shown).toMatchObject({ isEphemeral: true, content: "The whole diff\\." });
    expect(shown.files.map((file) => [file.name, file.text])).toEqual([["website.diff", text]]);
    expect(discord.ann.sees(shown.channelId).some(({ id }) => id === shown.id)).toBe(false);
    expect(labels()).toContain("Show diff");
  });

  test("shows text where no file may be attached, as much as fits, and counts the rest", async () => {
    await reply.ask(cardOf());
    agent.receipt = { accepted: true, text: "The whole diff.", file: { name: "website.diff", text } };
    discord.fail(
      { route: "webhooks.edit", times: 1 },
      { type: "answer", status: 403, body: { message: "Missing Permissions", code: 50013 } },
    );
    const click = discord.ann.click(card(), "Show diff");
    await ended(click);
    const last = await discord.until(() => click.replies().find(({ content }) => content.includes("do not fit here")));
    const replies = click.replies();
    expect(replies.every(({ isEphemeral }) => isEphemeral)).toBe(true);
    expect(replies.length).toBeLessThanOrEqual(3);
    expect(replies[0]?.content).toContain("+++ b/ü.txt");
    expect(last.content).toMatch(/[\d,]+ more characters/);
    expect(replies.flatMap((each) => [...rendered(each).effects, ...each.files])).toEqual([]);
  });

  test("attaches the beginning of what is too big for Discord, in whole lines, and says so", async () => {
    await reply.ask(cardOf());
    const line = `+${"x".repeat(1_000)}\n`;
    agent.receipt = { accepted: true, text: "Here.", file: { name: "big.diff", text: line.repeat(11_000) } };
    const shown = await ended(discord.ann.click(card(), "Show diff"));
    expect(rendered(shown).text).toContain("only its beginning is attached");
    const [file] = shown.files;
    expect(file?.bytes.length).toBeLessThanOrEqual(10 * 1024 * 1024);
    expect((file?.bytes.length ?? 0) % line.length).toBe(0);
  });
});

describe("whatever the changes are", () => {
  const text = fc.oneof(
    fc.string({ maxLength: 400 }),
    fc.stringMatching(/^[*_`~|<>@#\\[\]()\n:-]{0,300}$/),
    fc.constantFrom("`".repeat(5_000), "x".repeat(9_000), "\\".repeat(700), "🎉".repeat(500), "a\n".repeat(900)),
    fc.constantFrom("```diff\n+x\n```\n<@1> @everyone https://evil.example", ""),
  );
  const change = fc.record({
    path: text,
    action: fc.constantFrom("deleted" as const, "changed" as const, "added" as const),
    detail: text,
  });
  const anyChanges: fc.Arbitrary<ShownChanges> = fc.record(
    {
      title: text.map((each) => each || "changes"),
      summary: text,
      files: fc.array(change, { maxLength: 25 }),
      moreFiles: fc.constantFrom(0, 1, 12_345),
      commands: fc.array(fc.record({ text, outcome: text }), { maxLength: 40 }),
      lastOutput: text,
      diff: text,
      labels: fc.record({ approve: text, deny: text }),
    },
    { requiredKeys: ["title", "summary", "files", "moreFiles", "commands", "labels"] },
  );
  const anyItem: fc.Arbitrary<CardItem> = fc.record(
    {
      approvalId: fc.stringMatching(/^[\w-]{22}$/),
      tool: fc.constant("shell_exec"),
      callText: text,
      reasons: fc.array(text, { maxLength: 9 }),
      times: fc.constant(1),
      state: fc.constantFrom("open", "denied", "consumed"),
      choices: fc.subarray<AnswerChoice>(["approve", "deny", "allow", "part", "diff", "undo", "again"]),
      facts: fc.array(text, { maxLength: 20 }),
      grantText: text,
      progress: text,
      outcome: text,
      editedFrom: text,
      warning: text,
      changes: anyChanges,
    },
    { requiredKeys: ["approvalId", "tool", "callText", "reasons", "times", "state", "choices"] },
  );

  test("the card is one that Discord takes, and nothing in it does anything", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(anyItem, { minLength: 1, maxLength: 6, selector: ({ approvalId }) => approvalId }),
        text,
        fc.constantFrom(...cardStyles),
        (items, approversText, style) => {
          const shown: ApprovalCard = { ...createCard(message), id: "c".repeat(22), items, approversText };
          const place = { thread: "1".repeat(20), firstMessage: "2".repeat(20) };
          for (const each of cardMessages(shown, { place, style })) {
            const attached = (each.files ?? []).map(({ name, data }) => ({
              index: "0",
              filename: name,
              bytes: Buffer.from(String(data)),
            }));
            const { content = "", embeds = [] } = readMessage({ ...each, files: undefined }, attached);
            const seen = { content, embeds, pings: { users: [], roles: [], everyone: false }, previews: [] };
            expect(rendered(seen as unknown as SeenMessage).effects).toEqual([]);
          }
        },
      ),
      { numRuns: 500 },
    );
  }, 60_000);

  test("every file of a card that asks is on it, in its file, behind Show diff, or counted", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ length: fc.integer({ min: 1, max: 400 }), isLong: fc.boolean() }), { maxLength: 25 }),
        fc.constantFrom(...cardStyles),
        fc.boolean(),
        (lengths, style, hasDiff) => {
          const all = lengths.map(({ length }, index): ShownChange => {
            return { path: `${"d".repeat(length)}/${index}.x`, action: "deleted", detail: "−1" };
          });
          const choices: AnswerChoice[] = ["approve", "deny", ...(hasDiff ? (["diff"] as const) : [])];
          const asking = cardOf({ files: all, commands: [], lastOutput: "", diff: "" }, { choices });
          const [only] = cardMessages(asking, { place: { thread: null }, style });
          const body = `${only?.content ?? ""}${only?.embeds?.[0]?.description ?? ""}`;
          const attached = (only?.files ?? []).map(({ data }) => String(data)).join("");
          const canApprove = JSON.stringify(only?.components).includes("approve|");
          const isSeen = ({ path }: ShownChange) => `${body}${attached}`.includes(path);
          if (canApprove && !hasDiff) expect(all.every(isSeen)).toBe(true);
          if (style === "full") expect(canApprove).toBe(true);
          const named = all.filter((_, index) => body.includes(`/${index}.x `)).length;
          if (named < all.length && style !== "plain") expect(body).toContain(`and ${all.length - named} more file`);
        },
      ),
      { numRuns: 300 },
    );
  });
});
