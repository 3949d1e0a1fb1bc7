/** What is clicked on cards about changes: Choose files…, Show diff, Undo, Do it again. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CardItem, ShownChanges } from "../../../src/ports/card.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import { createPosts } from "../../conformance/platform-world.ts";
import { readableView, type SeenMessage } from "../../doubles/slack/see.ts";
import type { Channel, Person, StoredView } from "../../doubles/slack/state.ts";
import { type JsonObject, objectsIn } from "../../doubles/slack/wire.ts";
import { createTestAgent, replyTo, type TestAgent } from "./agent.ts";
import { changeCard, manyFiles } from "./changes.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

let world: SlackWorld;
let agent: TestAgent;
let message: InboundMessage;

beforeEach(async () => {
  world = await createSlackWorld();
  agent = createTestAgent();
  await world.platform.connect(agent.handlers, new AbortController().signal);
  const { slack } = world;
  await slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello" }).acknowledged();
  message = agent.kept[0] as InboundMessage;
});
afterEach(() => world.close());

async function ask(changes: Partial<ShownChanges> = {}, item: Partial<CardItem> = {}): Promise<void> {
  await replyTo(world.platform, message).ask(changeCard(message, changes, item));
}

function cardIn(channel: Channel): SeenMessage {
  const card = world.slack.see({ in: channel }).find((each) => each.buttons.length > 0);
  if (card === undefined) throw new Error("no card");
  return card;
}

function click(button: string, as: Person = world.slack.ann, channel: Channel = world.slack.general) {
  return world.slack.interactions.click({ as, on: { channel, ts: cardIn(channel).ts }, button });
}

function top(as: Person = world.slack.ann): StoredView | undefined {
  return world.slack.views.stack(as).at(-1);
}

async function modal(as?: Person): Promise<StoredView> {
  return await world.slack.until(() => top(as));
}

/** The modal, once it shows more than that it waits. */
async function diffShown(as?: Person): Promise<string> {
  return await world.slack.until(() => {
    const view = top(as);
    const text = view === undefined ? "" : readableView(view.view);
    return text === "" || text.startsWith("One moment") ? undefined : text;
  });
}

function told(as: Person = world.slack.ann, channel: Channel = world.slack.general): string[] {
  const seen = world.slack.see({ in: channel, as });
  return seen.filter((each) => each.isEphemeral).map((each) => each.readable);
}

function groupsIn(view: StoredView): JsonObject[] {
  return objectsIn(view.view.blocks).flatMap((block) => (block.type === "input" ? [block] : []));
}

/** Ticks exactly these files, as the client sends it. */
function ticked(view: StoredView, indexes: number[]): Record<string, JsonObject> {
  const entries = groupsIn(view).map(({ element }) => {
    const { action_id: id, options } = element as JsonObject;
    const chosen = objectsIn(options).filter((option) => indexes.includes(Number(option.value)));
    return [String(id), { type: "checkboxes", selected_options: chosen }] as const;
  });
  return Object.fromEntries(entries);
}

async function restart(): Promise<void> {
  await world.restart();
  await world.platform.connect(agent.handlers, new AbortController().signal);
}

describe("Choose files…", () => {
  test("has a ticked box for every file in the order of the card, with its detail, and answers with what stays ticked", async () => {
    await ask();
    await restart();
    await click("Choose files…").acknowledged();
    const view = await modal();
    const text = readableView(view.view);
    for (const part of ["⚠ Deleted", "old.html", "src/app.ts", "+12 −3", "logo.png", "14 kB"])
      expect(text).toContain(part);
    const values = ticked(view, [0, 2]);
    await world.slack.interactions.submit({ as: world.slack.ann, view, values }).acknowledged();
    expect(agent.answers).toMatchObject([
      {
        cardOrApprovalId: "approval-1",
        choice: "part",
        parts: [0, 2],
        conversationId: message.conversationId,
        messageId: `${world.slack.general.id}:${cardIn(world.slack.general).ts}`,
        by: { id: world.slack.ann.id },
      },
    ]);
    await expect.poll(() => world.slack.views.stack(world.slack.ann)).toEqual([]);
    await expect.poll(() => told()).toEqual(["Noted."]);
  });

  test("untouched, it answers with every file, also with as many as a card lists, whose paths fit no option", async () => {
    const files = manyFiles(25).map((file, index) => ({
      ...file,
      path: `${"🐟/".repeat(index * 60)}${index}/<!channel>.ts`,
      detail: "x".repeat(200),
    }));
    await ask({ files });
    await click("Choose files…").acknowledged();
    const view = await modal();
    const groups = groupsIn(view);
    expect(groups.map(({ element }) => objectsIn((element as JsonObject).options).length)).toEqual([10, 10, 5]);
    const text = readableView(view.view);
    expect(text.isWellFormed()).toBe(true);
    expect(text).toContain(`3. ${files[2]?.path}`);
    await world.slack.interactions.submit({ as: world.slack.ann, view }).acknowledged();
    expect(agent.answers[0]?.parts).toEqual(Array.from({ length: 25 }, (_, index) => index));
  });

  test("indexes are those of the card, also where the deletions do not come first in it", async () => {
    const files = [...manyFiles(2, { action: "added" }), { path: "gone.txt", action: "deleted" as const, detail: "" }];
    await ask({ files });
    await click("Choose files…").acknowledged();
    const view = await modal();
    expect(readableView(view.view).indexOf("gone.txt")).toBeLessThan(readableView(view.view).indexOf("src/file-0.ts"));
    await world.slack.interactions.submit({ as: world.slack.ann, view, values: ticked(view, [2]) }).acknowledged();
    expect(agent.answers[0]?.parts).toEqual([2]);
  });

  test("with none ticked nothing is handed in, and the form says which button to use instead", async () => {
    await ask({ labels: { approve: "Keep", deny: "Discard" } });
    await click("Choose files…").acknowledged();
    const view = await modal();
    await world.slack.interactions.submit({ as: world.slack.ann, view, values: ticked(view, []) }).acknowledged();
    await expect.poll(() => view.errors["files-0"]).toContain("press Discard on the card");
    expect(agent.answers).toEqual([]);
    expect(top()).toBe(view);
  });

  test("a refused choice leaves the form open and says why", async () => {
    await ask();
    agent.receipt = { accepted: false, text: "Only Ben can answer this." };
    await click("Choose files…").acknowledged();
    const view = await modal();
    await world.slack.interactions.submit({ as: world.slack.ann, view }).acknowledged();
    await expect.poll(() => view.errors).toEqual({ "files-0": "Only Ben can answer this." });
    expect(told()).toEqual([]);
  });

  test("files without a box are named as not kept", async () => {
    await ask({ files: manyFiles(40), moreFiles: 2 });
    await click("Choose files…").acknowledged();
    expect(readableView((await modal()).view)).toContain("Not listed and not kept: 17 more files.");
  });

  test("once the card is settled there is nothing to choose", async () => {
    const posts = createPosts();
    await replyTo(world.platform, message, posts).ask(changeCard(message));
    const { ts } = cardIn(world.slack.general);
    const settled = changeCard(message, {}, { state: "denied", choices: [], outcome: "Denied by Ben" });
    await replyTo(world.platform, message, posts).settle(settled);
    const forged = { actionId: "remora_part", value: "approval-1" };
    const on = { channel: world.slack.general, ts };
    await world.slack.interactions.click({ as: world.slack.ann, on, forged }).acknowledged();
    await expect.poll(() => told()).toEqual(["You can't choose files on this card any more."]);
    expect(top()).toBeUndefined();
  });
});

describe("Show diff", () => {
  const text = "--- a/x\n+++ b/x\n+<!channel> ```\n";

  test("is a modal for whoever pressed the button, with the whole diff as text; nobody else sees anything", async () => {
    await ask();
    agent.receipt = { accepted: true, text: "The changes of this turn:", file: { name: "website.diff", text } };
    const { ben, general } = world.slack;
    await click("Show diff", ben).acknowledged();
    const shown = await diffShown(ben);
    expect(shown).toBe(`The changes of this turn:\n${text}`);
    expect(agent.answers).toMatchObject([{ choice: "diff", cardOrApprovalId: "approval-1", by: { id: ben.id } }]);
    expect(told(ben)).toEqual([]);
    expect(world.slack.see({ in: general }).flatMap((each) => each.files)).toEqual([]);
  });

  test.each([
    ["many lines", `${"+a line of some length\n".repeat(4_000)}+the end`],
    ["one long line", `+${"x".repeat(100_000)}`],
    ["emoji at the cuts", `+${"🐟".repeat(15_000)}`],
    ["an empty diff", ""],
  ])("a diff of several boxes is whole: %s", async (_name, diff) => {
    await ask();
    agent.receipt = { accepted: true, text: "", file: { name: "website.diff", text: diff } };
    await click("Show diff").acknowledged();
    await diffShown();
    const boxes = boxesIn(await modal());
    const whole = diff.includes("\n") ? boxes.join("\n") : boxes.join("");
    expect(whole.trim()).toBe(diff);
    expect(world.slack.see({ in: world.slack.workspace.direct(world.slack.ann) })).toEqual([]);
  });

  test("the modal comes before anything is asked about the person, because the trigger is short-lived", async () => {
    await ask();
    await restart();
    world.slack.failNext("users.info", { type: "rate-limit", retryAfterSeconds: 1 });
    agent.receipt = { accepted: true, text: "", file: { name: "website.diff", text } };
    await click("Show diff").acknowledged();
    expect(readableView((await modal()).view)).toBe("One moment…");
    await expect.poll(() => readableView(top()?.view ?? {}), { timeout: 5_000 }).toBe(text);
    expect(told()).toEqual([]);
  });

  test.each([
    ["more than a modal of lines", "+a line\n".repeat(50_000)],
    ["more bytes than a view holds", "+ü\n".repeat(26_000)],
  ])("%s goes to the person's DM as a file, and the modal shows its beginning and says so", async (_name, diff) => {
    await ask();
    agent.receipt = { accepted: true, text: "", file: { name: "website.diff", text: diff } };
    const { ben, general, workspace } = world.slack;
    await click("Show diff", ben).acknowledged();
    const shown = await diffShown(ben);
    expect(shown).toContain("I sent you all of it as the file website.diff in our direct messages.");
    expect(shown).toContain(diff.slice(0, 1_000));
    expect(filesIn(workspace.direct(ben))).toEqual([{ name: "website.diff", content: diff }]);
    expect(filesIn(general)).toEqual([]);
    expect(filesIn(workspace.direct(world.slack.ann))).toEqual([]);
  });

  test("in a DM the file stands beside the card", async () => {
    const { slack } = world;
    const dm = slack.workspace.direct(slack.ann);
    await slack.people.say({ as: slack.ann, in: dm, text: "hello" }).acknowledged();
    const direct = agent.kept.at(-1) as InboundMessage;
    await replyTo(world.platform, direct).ask(changeCard(direct));
    const diff = "+a line\n".repeat(50_000);
    agent.receipt = { accepted: true, text: "", file: { name: "website.diff", text: diff } };
    await click("Show diff", slack.ann, dm).acknowledged();
    expect(await diffShown()).toContain("website.diff");
    expect(filesIn(dm)).toEqual([{ name: "website.diff", content: diff }]);
    expect(slack.callsOf("conversations.open")).toEqual([]);
  });

  test("without a modal it is a file in the DM, and the person alone is told", async () => {
    await ask();
    world.slack.failNext("views.open", { type: "error", error: "expired_trigger_id" });
    agent.receipt = { accepted: true, text: "", file: { name: "website.diff", text } };
    await click("Show diff").acknowledged();
    await expect.poll(() => told()[0]).toContain("as the file website.diff in our direct messages");
    expect(filesIn(world.slack.workspace.direct(world.slack.ann))).toEqual([{ name: "website.diff", content: text }]);
    expect(filesIn(world.slack.general)).toEqual([]);
  });

  test("a modal that Slack does not take is a file in the DM", async () => {
    await ask();
    world.slack.failNext("views.update", { type: "error", error: "invalid_arguments" });
    agent.receipt = { accepted: true, text: "", file: { name: "website.diff", text } };
    await click("Show diff").acknowledged();
    expect(await diffShown()).toContain("as the file website.diff in our direct messages");
    expect(filesIn(world.slack.workspace.direct(world.slack.ann))).toHaveLength(1);
  });

  test("a person whom no file reaches sees what a modal holds, and why there is no more", async () => {
    await ask();
    world.slack.failNext("conversations.open", { type: "error", error: "user_disabled" });
    const delivered = vi.fn(async () => {});
    agent.receipt = {
      ...{ accepted: true, text: "" },
      file: { name: "website.diff", text: "+a line\n".repeat(50_000), delivered },
    };
    await click("Show diff").acknowledged();
    const shown = await diffShown();
    expect(delivered.mock.calls).toEqual([[false]]);
    expect(shown).toContain("I couldn't send it to you as a file");
    expect(shown).not.toContain("user_disabled");
    expect(shown.length).toBeGreaterThan(100_000);
    expect(filesIn(world.slack.general)).toEqual([]);
  });

  test("a person who has closed the modal is not bothered again", async () => {
    await ask();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { onAnswer } = agent.handlers;
    agent.handlers.onAnswer = async (answer) => {
      await held;
      return await onAnswer(answer);
    };
    agent.receipt = { accepted: true, text: "Here.", file: { name: "website.diff", text } };
    await click("Show diff").acknowledged();
    world.slack.interactions.close({ as: world.slack.ann, view: await modal() });
    release();
    await world.slack.until(() => (world.slack.callsOf("views.update").length === 1 ? true : undefined));
    // A later click is answered after it.
    await click("Deny").acknowledged();
    await expect.poll(() => told()).toEqual(["Here."]);
    expect(world.slack.callsOf("conversations.open")).toEqual([]);
    expect(world.logged).toEqual([]);
  });

  test("a refusal stands in the modal", async () => {
    await ask();
    agent.receipt = { accepted: false, text: "The changes are not kept any more." };
    await click("Show diff").acknowledged();
    expect(await diffShown()).toBe("The changes are not kept any more.");
  });

  test("when it can't be handed in, the modal says so", async () => {
    await ask();
    agent.handlers.onAnswer = () => Promise.reject(new Error("the ledger is full"));
    await click("Show diff").acknowledged();
    expect(await diffShown()).toContain("didn't work");
  });
});

describe("Undo and Do it again", () => {
  test.each([
    ["Undo", "undo"],
    ["Do it again", "again"],
  ] as const)("%s is handed in as it is, and what came of it is told to the person alone", async (label, choice) => {
    await ask({}, { state: "consumed", outcome: "Kept", choices: ["undo", "again"] });
    agent.receipt = { accepted: true, text: "Done: 3 files restored." };
    const { ben } = world.slack;
    await click(label, ben).acknowledged();
    await expect.poll(() => told(ben)).toEqual(["Done: 3 files restored."]);
    expect(told()).toEqual([]);
    expect(agent.answers).toMatchObject([{ choice, cardOrApprovalId: "approval-1", by: { id: ben.id } }]);
  });
});

function boxesIn({ view }: StoredView): string[] {
  return objectsIn(view.blocks)
    .flatMap((block) => objectsIn(block.elements))
    .filter((element) => element.type === "rich_text_preformatted")
    .flatMap((element) => objectsIn(element.elements).map((each) => String(each.text)));
}

function filesIn(channel: Channel): { name: string; content: string }[] {
  return world.slack.see({ in: channel }).flatMap((each) => each.files.map(({ name, content }) => ({ name, content })));
}
