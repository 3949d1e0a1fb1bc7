/** The card about changes to a folder, as people see it. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CardItem, ShownChanges } from "../../../src/ports/card.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import { createCard, createPosts } from "../../conformance/platform-world.ts";
import type { SeenMessage } from "../../doubles/slack/see.ts";
import { createTestAgent, replyTo } from "./agent.ts";
import { changeCard, manyFiles, shownChanges } from "./changes.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

let world: SlackWorld;
let message: InboundMessage;

beforeEach(async () => {
  world = await createSlackWorld();
  const agent = createTestAgent();
  await world.platform.connect(agent.handlers, new AbortController().signal);
  const { slack } = world;
  await slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello" }).acknowledged();
  message = agent.kept[0] as InboundMessage;
});
afterEach(() => world.close());

function agents(): SeenMessage[] {
  return world.slack.see({ in: world.slack.general }).filter((each) => each.isAgents);
}

async function shown(changes: Partial<ShownChanges> = {}, item: Partial<CardItem> = {}): Promise<SeenMessage> {
  await replyTo(world.platform, message).ask(changeCard(message, changes, item));
  const [card] = agents();
  if (card === undefined) throw new Error("no card");
  return card;
}

/** Where each of the texts begins; throws when one is not there. */
function placesOf(text: string, parts: string[]): number[] {
  return parts.map((part) => {
    const at = text.indexOf(part);
    if (at === -1) throw new Error(`“${part}” is not in: ${text}`);
    return at;
  });
}

describe("a card that asks about changes", () => {
  test("its parts stand in their order, with deletions first, and its buttons last", async () => {
    const card = await shown({ moreFiles: 4 });
    const places = placesOf(card.readable, [
      "website: 1 file deleted, 1 changed, 1 added",
      "The folder /srv/website",
      "⚠ Deleted",
      "old.html",
      "Changed",
      "src/app.ts   +12 −3",
      "Added",
      "logo.png   14 kB",
      "And 4 more files.",
      "npm test — exit code 0",
      "12 passed",
      "--- a/src/app.ts\n+++ b/src/app.ts\n-old\n+new",
      changeCard(message).approversText,
      "Choose files…",
    ]);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(card.text).toBe("Ann asks: website: 1 file deleted, 1 changed, 1 added");
  });

  test("its buttons are exactly its choices, under the names that the card gives them", async () => {
    const grantText = "For 30 minutes, in this conversation: changes to website are kept without asking.";
    const card = await shown(
      { labels: { approve: "Keep", deny: "Discard" } },
      { choices: ["approve", "deny", "part", "diff", "allow", "undo", "again"], grantText },
    );
    expect(card.buttons).toEqual([
      { label: "Keep", actionId: "remora_approve", value: "approval-1", style: "primary" },
      { label: "Discard", actionId: "remora_deny", value: "approval-1", style: "danger" },
      { label: "Choose files…", actionId: "remora_part", value: "approval-1", style: undefined },
      { label: "Show diff", actionId: "remora_diff", value: "approval-1", style: undefined },
      { label: "Undo", actionId: "remora_undo", value: "approval-1", style: undefined },
      { label: "Do it again", actionId: "remora_again", value: "approval-1", style: undefined },
    ]);
    expect(card.options.map(({ label }) => label)).toEqual(["Allow here for 30 min…", "Discard with reason…"]);
  });

  test("deletions come first, also when the list does not", async () => {
    const files = [...manyFiles(2, { action: "added" }), { path: "gone.txt", action: "deleted" as const, detail: "" }];
    const { readable } = await shown({ files });
    expect(readable.indexOf("gone.txt")).toBeLessThan(readable.indexOf("src/file-0.ts"));
  });

  test.each<[string, Partial<ShownChanges>]>([
    ["nothing but a title", { summary: "", files: [], commands: [], lastOutput: "", diff: "" }],
    ["no text at all", { title: "", summary: "", files: [], commands: [], labels: { approve: "", deny: "" } }],
    ["a diff with fences", { diff: "+```\n+<!channel>\n+```" }],
    ["markup", { title: "<!channel> *x*", summary: "<@U1> <https://a.b|c>", lastOutput: "```\n<!here>" }],
    ["paths of markup", { files: manyFiles(25, { path: "<!channel>/`*_~/<@U1>", detail: "<!here>" }) }],
    ["long labels", { labels: { approve: "K".repeat(200), deny: "🐟".repeat(80) } }],
    [
      "emoji at the cuts",
      { title: "🐟".repeat(999), lastOutput: `${"🐟".repeat(999)}x`, summary: `a${"🐟".repeat(999)}` },
    ],
  ])("Slack takes it, and nothing in it reaches anybody: %s", async (_name, changes) => {
    const card = await shown(changes);
    expect(card.effects).toEqual([]);
    expect(card.buttons).toHaveLength(4);
    for (const text of Object.values(changes)) {
      if (typeof text === "string" && text.length < 100) expect(card.readable).toContain(text);
    }
    expect(card.readable.isWellFormed()).toBe(true);
  });

  test("everything at its longest fits into one message, and what is left out is named", async () => {
    const card = await shown(
      {
        title: "t".repeat(900),
        summary: "s".repeat(900),
        files: manyFiles(25, { path: `${"🐟/".repeat(1_200)}end.ts`, detail: "d".repeat(90) }),
        moreFiles: 1_975,
        commands: Array.from({ length: 40 }, (_, n) => ({
          text: `${n} ${"c".repeat(5_000)}`,
          outcome: "o".repeat(90),
        })),
        lastOutput: `${"x".repeat(50_000)}the end`,
        diff: "+line\n".repeat(900),
      },
      {
        choices: ["approve", "deny", "part", "diff", "allow"],
        grantText: `For 30 minutes, ${"g".repeat(300)}`,
        facts: ["h".repeat(400), ...Array.from({ length: 90 }, (_, n) => `host-${n}.example.com`)],
        warning: "w".repeat(200),
        progress: "1 of 2 approvals: Ann",
      },
    );
    for (const part of [
      "And 1,975 more files.",
      "… 32 earlier commands",
      "more characters)",
      "the end",
      "The diff has 5,400 characters, too many for this card. Use Show diff.",
      "And 66 more. The full text is in the file facts.txt below",
    ]) {
      expect(card.readable).toContain(part);
    }
    const [, files] = agents();
    expect(files?.files.map((file) => file.name)).toEqual(["changes.txt", "facts.txt"]);
    expect(files?.files[0]?.content.split("\n")).toHaveLength(26);
    expect(files?.files[0]?.content).toContain(`changed  ${"🐟/".repeat(1_200)}end.ts`);
    expect(files?.files[1]?.content).toContain("host-89.example.com");
    expect(card.buttons).toHaveLength(4);
  });

  test("of hundreds of files 25 are listed, deletions first; all of them are in a file, and the buttons come after it", async () => {
    let buttonsWithoutFile = 0;
    const leave = world.slack.state.onChange(() => {
      const hasFile = agents().some((each) => each.files.length > 0);
      if (!hasFile) buttonsWithoutFile += agents().flatMap((each) => each.buttons).length;
    });
    const card = await shown({
      files: [...manyFiles(300), { path: "gone.txt", action: "deleted", detail: "" }],
      moreFiles: 9,
    });
    leave();
    expect(buttonsWithoutFile).toBe(0);
    expect(card.readable).toContain("gone.txt");
    expect(card.readable).toContain("src/file-23.ts");
    expect(card.readable).not.toContain("src/file-24.ts");
    expect(card.readable).toContain("And 285 more files.");
    expect(agents()[1]?.files[0]).toMatchObject({ name: "changes.txt" });
    expect(agents()[1]?.files[0]?.content).toContain("src/file-299.ts");
    expect(card.buttons).toHaveLength(4);
  });

  test("a diff that is behind its button is named", async () => {
    const { diff: _diff, ...changes } = shownChanges();
    const card = createCard(message, { choices: ["approve", "deny", "diff"], changes });
    await replyTo(world.platform, message).ask(card);
    expect(agents()[0]?.readable).toContain("The diff is not on this card. Use Show diff.");
  });

  test("a diff without room is a file where there is no Show diff", async () => {
    const diff = "+line\n".repeat(2_000);
    const card = await shown({ diff }, { choices: ["approve", "deny"] });
    expect(card.readable).toContain("changes.diff");
    expect(agents()[1]?.files).toMatchObject([{ name: "changes.diff", content: diff }]);
  });
});

describe("a card that reports changes", () => {
  const title = "website: 1 file deleted, 1 changed, 1 added";
  const kept: Partial<CardItem> = { state: "consumed", outcome: `Kept — ${title}`, choices: ["undo", "diff"] };

  test("it is one line, a few files and its buttons", async () => {
    const card = await shown({ files: manyFiles(20), moreFiles: 3, summary: "" }, kept);
    expect(card.readable).toContain(`✅ Kept — ${title}\n`);
    expect(card.readable).toContain("changed src/file-4.ts   +1 −1\nand 18 more files");
    for (const part of ["src/file-5.ts", "npm test", "12 passed", "+new", "asked for", "Approval needed"]) {
      expect(card.readable).not.toContain(part);
    }
    expect(card.buttons.map((button) => button.label)).toEqual(["Undo", "Show diff"]);
    expect(card.blocks).toHaveLength(3);
    expect(card.text).toBe(`Kept — ${title}`);
  });

  test("markup in it is text", async () => {
    const bad = "<!channel> <@U1> *bold*";
    const files = manyFiles(3, { path: bad, detail: bad });
    const card = await shown({ files, title: bad, summary: bad }, { ...kept, outcome: bad });
    expect(card.effects).toEqual([]);
    expect(card.readable.split(bad)).toHaveLength(9);
  });
});

describe("a settled card about changes", () => {
  test.each<[string, Partial<CardItem>, string[]]>([
    ["approved", { state: "consumed", outcome: "Ben approved it", choices: ["undo"], settledAt: 1 }, ["Undo"]],
    ["denied", { state: "denied", outcome: "Denied by Ben: not now", choices: [] }, []],
    [
      "out of date",
      { state: "cancelled", outcome: "Nothing was kept: a.txt changed", choices: ["again"] },
      ["Do it again"],
    ],
    ["continued", { state: "cancelled", outcome: "Continued below", choices: [] }, []],
  ])("says in one line how it ended: %s", async (_name, item, labels) => {
    const posts = createPosts();
    await replyTo(world.platform, message, posts).ask(changeCard(message, { files: manyFiles(300) }));
    await replyTo(world.platform, message, posts).settle(changeCard(message, { files: manyFiles(300) }, item));
    const card = agents()[0];
    expect(card?.readable).toContain(item.outcome);
    for (const part of ["src/file-1.ts", "npm test", "12 passed", "+new", "Ann may answer"])
      expect(card?.readable).not.toContain(part);
    expect(card?.buttons.map((button) => button.label)).toEqual(labels);
    expect(agents()).toHaveLength(2);
  });
});

describe("facts on a call", () => {
  test("each is a line right below the call, as the text it is", async () => {
    const facts = ["Reaches github.com:443", "Takes along 2 changed files: <!channel> *a*.txt"];
    await replyTo(world.platform, message).ask(createCard(message, { facts }));
    const [card] = agents();
    const [why, call, first, second] = placesOf(card?.readable ?? "", [
      "Asks before it deletes.",
      createCard(message).items[0]?.callText ?? "",
      `• ${facts[0]}`,
      `• ${facts[1]}`,
    ]) as [number, number, number, number];
    expect(call).toBeLessThan(first);
    expect(first).toBeLessThan(second);
    expect(why).toBeLessThan(call);
    expect(card?.effects).toEqual([]);
  });

  test("more than there is room for are in a file, and the card says so", async () => {
    const facts = Array.from({ length: 200 }, (_, index) => `Reaches host-${index}.example.com`);
    await replyTo(world.platform, message).ask(createCard(message, { facts }));
    const [card, file] = agents();
    expect(card?.readable).toMatch(/And 1\d\d more\. The full text is in the file call-1-shell_exec-facts\.txt below/);
    expect(file?.files[0]?.content).toBe(facts.join("\n"));
    expect(card?.buttons.map((button) => button.label)).toContain("Approve");
  });
});
