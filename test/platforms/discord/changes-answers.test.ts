/** Cards about changes to a folder: choosing files, and looking at the whole diff. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fileForm } from "../../../src/platforms/discord/interactions/file-form.ts";
import { readModal } from "../../doubles/discord/modal-form.ts";
import type { InteractionHandle } from "../../doubles/discord/people-interactions.ts";
import { seenModal } from "../../doubles/discord/people-modals.ts";
import { type ChangesWorld, openChangesWorld } from "./changes-world.ts";
import { rendered } from "./rendering.ts";

let bot: ChangesWorld["bot"];
let discord: ChangesWorld["discord"];
let agent: ChangesWorld["agent"];
let reply: ChangesWorld["reply"];
let card: ChangesWorld["card"];
let labels: ChangesWorld["labels"];
let ended: ChangesWorld["ended"];
let cardOf: ChangesWorld["cardOf"];
let close: () => Promise<void>;

beforeEach(async () => {
  const world = await openChangesWorld();
  ({ bot, discord, agent, reply, card, labels, ended, cardOf } = world);
  close = world.bot.close;
});
afterEach(() => close());

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
    expect(form.modal()?.texts).toEqual(["Ticked files are kept. Changes to the others are discarded."]);
    const [menu] = form.modal()?.checkboxes ?? [];
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
    expect(rendered(made).text).toBe("You chose no files, so nothing changed. To keep none, use “Discard”.");
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
    expect(rendered(await ended(click)).text).toContain("couldn't open the form");
    expect(click.answeredWith()).toBe(5);
    expect(agent.answers).toEqual([]);
  });

  test("has ticks for up to ten files and a menu for more, and says how many are not listed", () => {
    const form = (count: number, moreFiles: number) => {
      const files = Array.from({ length: count }, (_, at) => ({
        path: `${at}.txt`,
        action: "added" as const,
        detail: "",
      }));
      const made = fileForm("a", { thread: null }, { files, moreFiles, denyLabel: "Deny" });
      return seenModal(readModal(JSON.parse(JSON.stringify(made))));
    };
    expect(form(10, 0)).toMatchObject({ menus: [], checkboxes: [{ least: 1, most: 10 }] });
    expect(form(11, 1)).toMatchObject({ checkboxes: [], menus: [{ least: 1, most: 11 }] });
    expect(form(25, 7).texts).toEqual([
      "Selected files are kept. Changes to the others are discarded. Not listed and not kept: 7 more files.",
    ]);
  });

  test("paths that differ only where they are cut have their numbers", () => {
    const paths = ["a", "b"].map((middle) => `${"x".repeat(150)}${middle}${"y".repeat(150)}`);
    const all = paths.map((path) => ({ path, action: "added" as const, detail: "" }));
    const form = fileForm("a", { thread: null }, { files: all, moreFiles: 0, denyLabel: "Deny" });
    const labels = JSON.stringify(form).match(/"label":"\d\. …y+"/g) ?? [];
    expect(new Set(labels).size).toBe(2);
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
        const place = { thread: "1".repeat(20), firstMessage: "2".repeat(20) };
        const form = fileForm("a".repeat(22), place, { files: all, moreFiles: 0, denyLabel });
        const modal = readModal(JSON.parse(JSON.stringify(form)));
        const [, part] = modal.components as { component: { options: { label: string; description?: string }[] } }[];
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
    const delivered = vi.fn(async () => {});
    agent.receipt = { accepted: true, text: "The whole diff.", file: { name: "website.diff", text, delivered } };
    discord.fail(
      { route: "webhooks.edit", times: 1 },
      { type: "answer", status: 403, body: { message: "Missing Permissions", code: 50013 } },
    );
    const click = discord.ann.click(card(), "Show diff");
    await ended(click);
    const last = await discord.until(() => click.replies().find(({ content }) => content.includes("don't fit here")));
    await vi.waitFor(() => expect(delivered.mock.calls).toEqual([[false]]));
    const replies = click.replies();
    expect(replies.every(({ isEphemeral }) => isEphemeral)).toBe(true);
    expect(replies.length).toBeLessThanOrEqual(3);
    expect(replies[0]?.content).toContain("+++ b/ü.txt");
    expect(last.content).toMatch(/[\d,]+ more characters/);
    expect(replies.flatMap((each) => [...rendered(each).effects, ...each.files])).toEqual([]);
  });

  test("shows text where Discord refuses the file for a reason that nobody knows", async () => {
    await reply.ask(cardOf());
    const delivered = vi.fn(async () => {});
    agent.receipt = { accepted: true, text: "Here.", file: { name: "a.diff", text: "+one\n", delivered } };
    const refused = { type: "answer", status: 400, body: { message: "No", code: 999_123 } } as const;
    discord.fail({ route: "webhooks.edit", times: 1 }, refused);
    const shown = await ended(discord.ann.click(card(), "Show diff"));
    expect(shown.content).toContain("+one");
    await vi.waitFor(() => expect(delivered.mock.calls).toEqual([[true]]));
  });

  test("does not count as read if Discord refuses both the file and its text", async () => {
    await reply.ask(cardOf());
    const delivered = vi.fn(async () => {});
    agent.receipt = { accepted: true, text: "Here.", file: { name: "a.diff", text: "+one\n", delivered } };
    const forbidden = { type: "answer", status: 403, body: { message: "Missing Permissions", code: 50_013 } } as const;
    discord.fail({ route: "webhooks.edit", times: 2 }, forbidden);
    await ended(discord.ann.click(card(), "Show diff"));
    await vi.waitFor(() => expect(delivered.mock.calls).toEqual([[false]]));
  });

  test("attaches the beginning of what is too big for Discord, in whole lines, and says so", async () => {
    await reply.ask(cardOf());
    const line = `+${"x".repeat(1_000)}\n`;
    const delivered = vi.fn(async () => {});
    agent.receipt = { accepted: true, text: "Here.", file: { name: "big.diff", text: line.repeat(11_000), delivered } };
    const shown = await ended(discord.ann.click(card(), "Show diff"));
    expect(rendered(shown).text).toContain("only its beginning is attached");
    await vi.waitFor(() => expect(delivered.mock.calls).toEqual([[false]]));
    const [file] = shown.files;
    expect(file?.bytes.length).toBeLessThanOrEqual(10 * 1024 * 1024);
    expect((file?.bytes.length ?? 0) % line.length).toBe(0);
  });
});
