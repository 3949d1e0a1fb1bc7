/** Cards, questions, and what is clicked on them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { InboundMessage } from "../../../src/ports/message.ts";
import { createCard, createPosts, createQuestion, targetOf } from "../../conformance/platform-world.ts";
import type { SeenMessage } from "../../doubles/slack/see.ts";
import { cardFor, createTestAgent, replyTo, type TestAgent } from "./agent.ts";
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

function agents(): SeenMessage[] {
  return world.slack.see({ in: world.slack.general }).filter((each) => each.isAgents);
}

function only(): SeenMessage {
  const [card, ...more] = agents();
  expect(more).toEqual([]);
  if (card === undefined) throw new Error("no card");
  return card;
}

function click(button: string, as = world.slack.ann, on = only()) {
  return world.slack.interactions.click({ as, on: { channel: world.slack.general, ts: on.ts }, button });
}

function choose(option: string, as = world.slack.ann, on = only()) {
  return world.slack.interactions.click({ as, on: { channel: world.slack.general, ts: on.ts }, option });
}

function told(as = world.slack.ann): string[] {
  return world.slack
    .see({ in: world.slack.general, as })
    .filter((each) => each.isEphemeral)
    .map((each) => each.readable);
}

describe("a card", () => {
  test("buttons and the menu carry the approval's id and the choice, nothing else; what is rarely needed is in the menu", async () => {
    const grantText = "For 30 minutes, in this conversation: calls that ask only because of “rm ” run without asking.";
    await replyTo(world.platform, message).ask(
      createCard(message, { choices: ["approve", "deny", "edit", "allow", "why"], editJson: "{}", grantText }),
    );
    expect(only().buttons).toEqual([
      { label: "Approve", actionId: "remora_approve", value: "approval-1", style: "primary" },
      { label: "Deny", actionId: "remora_deny", value: "approval-1", style: "danger" },
    ]);
    expect(only().options).toEqual([
      { label: "Edit…", value: "edit|approval-1" },
      { label: "Allow here for 30 min…", value: "allow|approval-1" },
      { label: "Deny with reason…", value: "reason|approval-1" },
      { label: "Why this asks", value: "why|approval-1" },
    ]);
    expect(only().readable).not.toContain(grantText);
    expect(only().readable).not.toContain("Pattern");
  });

  test("it says until when, in each reader's own time", async () => {
    await replyTo(world.platform, message).ask({ ...createCard(message), expiresAt: 1_900_000_000_000 });
    expect(JSON.stringify(only().blocks)).toContain(
      "<!date^1900000000^{date_short_pretty} at {time}|2030-03-17 17:46 UTC>",
    );
  });

  test("several calls share it, with one answer for all", async () => {
    await replyTo(world.platform, message).ask(cardFor(message, 3));
    const labels = only().buttons.map((button) => button.label);
    expect(labels.filter((label) => label === "Approve")).toHaveLength(3);
    expect(labels.slice(-2)).toEqual(["Approve all 3", "Deny all 3"]);
    await click("Deny all 3").acknowledged();
    await expect.poll(() => agent.answers).toMatchObject([{ cardOrApprovalId: "card-1", choice: "deny" }]);
  });

  test("more calls than a message holds make several; a click on any of them is the card's, and all are rewritten", async () => {
    const posts = createPosts();
    await replyTo(world.platform, message, posts).ask(cardFor(message, 30));
    const parts = agents();
    expect(parts.length).toBeGreaterThan(1);
    const ids = parts.flatMap((part) =>
      part.buttons.filter((each) => each.label === "Approve").map((each) => each.value),
    );
    expect(ids).toEqual(Array.from({ length: 30 }, (_, index) => `approval-${index + 1}`));
    const [first, last] = [parts[0] as SeenMessage, parts.at(-1) as SeenMessage];
    await click("approval-1", world.slack.ann, first).acknowledged();
    await click("approval-30", world.slack.ann, last).acknowledged();
    await expect.poll(() => agent.answers.length).toBe(2);
    expect(agent.answers[0]?.messageId).toBe(`${world.slack.general.id}:${first.ts}`);
    expect(agent.answers[1]?.messageId).toBeUndefined();
    const settled = cardFor(message, 30, { state: "denied", choices: [], outcome: "Denied by Ann" });
    await replyTo(world.platform, message, posts).settle(settled);
    expect(agents().flatMap((part) => part.buttons)).toEqual([]);
    expect(agents()).toHaveLength(parts.length);
  });

  test("of a call that is too long the beginning, the end and the length are shown, the whole is a file, and the buttons come after it", async () => {
    const callText = `shell_exec\ncommand: "${"x".repeat(20_000)}; rm -rf the-tail"`;
    let buttonsWithoutFile = 0;
    const { slack } = world;
    const seen = () => {
      const hasFile = agents().some((each) => each.files.length > 0);
      if (!hasFile) buttonsWithoutFile += agents().flatMap((each) => each.buttons).length;
    };
    const leave = slack.state.onChange(seen);
    await replyTo(world.platform, message).ask(createCard(message, { callText }));
    leave();
    expect(buttonsWithoutFile).toBe(0);
    const [card, file] = agents();
    for (const part of [
      "rm -rf the-tail",
      `of ${callText.length.toLocaleString("en")} characters`,
      "call-1-shell_exec.txt",
    ]) {
      expect(card?.readable).toContain(part);
    }
    expect(card?.buttons.map((button) => button.label)).toEqual(["Approve", "Deny"]);
    expect(file?.files).toMatchObject([{ name: "call-1-shell_exec.txt", content: callText }]);
  });

  test.each([
    ["files.getUploadURLExternal", { type: "error", error: "file_uploads_disabled" }],
    ["upload", { type: "http", status: 500 }],
    ["files.completeUploadExternal", { type: "error", error: "posting_to_channel_denied" }],
  ] as const)(
    "where its file can't be uploaded (%s) the card says so, and only Deny is offered; the next start tries again",
    async (method, failure) => {
      const callText = `shell_exec\ncommand: "${"x".repeat(40_000)}"`;
      world.slack.failNext(method, failure);
      const card = createCard(message, { callText });
      const posts = createPosts();
      await replyTo(world.platform, message, posts).ask(card);
      const [shown] = agents();
      expect(agents().flatMap((each) => each.files)).toEqual([]);
      expect(shown?.readable).toContain("couldn't upload the file with the full call, so this can't be approved here");
      expect(shown?.buttons.map((button) => button.label)).toEqual(["Deny"]);
      await replyTo(world.platform, message, posts).settle(card);
      expect(agents()[0]?.buttons.map((button) => button.label)).toEqual(["Deny"]);
      await replyTo(world.platform, message, posts).ask(card);
      expect(agents()[0]?.buttons.map((button) => button.label)).toEqual(["Approve", "Deny"]);
      expect(agents()[1]?.files).toMatchObject([{ content: callText }]);
    },
  );

  test.each([
    ["not_in_channel", () => world.slack.general.members.delete(world.slack.workspace.app.id)],
    ["is_archived", () => Object.assign(world.slack.general, { isArchived: true })],
  ])("where nobody would see it (%s) it has no route", async (error, happens) => {
    happens();
    const asking = replyTo(world.platform, message).ask(createCard(message));
    await expect(asking).rejects.toMatchObject({ code: "platform.no-route", message: expect.stringContaining(error) });
  });

  test("an answer that comes before its posting is known rewrites it, in this process and in any other", async () => {
    const settled = createCard(message, { state: "denied", choices: [], outcome: "Denied by Ann" });
    for (const isElsewhere of [false, true]) {
      const kept = new Map<string, string>();
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const all = async () => [...kept].map(([key, messageId]) => ({ key, messageId }));
      const slow = {
        all,
        async keep(key: string, messageId: string) {
          if (key.startsWith("card:")) await held;
          kept.set(key, messageId);
        },
      };
      const target = { ...targetOf(message), turnId: `turn-${isElsewhere}` };
      const asking = world.platform.reply(target, slow).ask(createCard(message));
      const card = await world.slack.until(() => agents().find((each) => each.buttons.length > 0));
      if (isElsewhere) await world.restart();
      const settling = world.platform
        .reply(target, { all, keep: async (key, id) => void kept.set(key, id) })
        .settle(settled);
      if (isElsewhere) await settling;
      release();
      await Promise.all([asking, settling]);
      expect(agents().find((each) => each.ts === card.ts)).toMatchObject({
        buttons: [],
        readable: expect.stringContaining("Denied by Ann"),
      });
    }
    expect(agents()).toHaveLength(2);
  });

  test("one that somebody deleted is settled without a word", async () => {
    const posts = createPosts();
    await replyTo(world.platform, message, posts).ask(createCard(message));
    const { state } = world.slack;
    state.messages.splice(
      state.messages.findIndex((each) => each.ts === only().ts),
      1,
    );
    await replyTo(world.platform, message, posts).settle(createCard(message, { state: "denied", choices: [] }));
    expect(agents()).toEqual([]);
  });
});

describe("Edit…", () => {
  async function askToEdit(editJson: string): Promise<void> {
    await replyTo(world.platform, message).ask(createCard(message, { choices: ["approve", "deny", "edit"], editJson }));
    // Also after a restart the arguments are there.
    await world.restart();
    await world.platform.connect(agent.handlers, new AbortController().signal);
    await choose("Edit…").acknowledged();
    await world.slack.until(() => world.slack.views.stack(world.slack.ann).length === 1);
  }

  function modal() {
    const [view] = world.slack.views.stack(world.slack.ann);
    if (view === undefined) throw new Error("no modal is open");
    return view;
  }

  test("opens the arguments, and what comes back is handed in as the person's edit", async () => {
    await askToEdit('{\n  "command": "ls"\n}');
    expect(JSON.stringify(modal().view)).toContain("ls");
    await world.slack.interactions
      .submit({ as: world.slack.ann, view: modal(), values: { json: '{"command":"ls -l"}' } })
      .acknowledged();
    expect(agent.answers).toMatchObject([
      {
        cardOrApprovalId: "approval-1",
        choice: "edit",
        editedJson: '{"command":"ls -l"}',
        conversationId: message.conversationId,
        messageId: `${world.slack.general.id}:${only().ts}`,
        by: { id: world.slack.ann.id },
      },
    ]);
    await expect.poll(() => world.slack.views.stack(world.slack.ann)).toEqual([]);
    await expect.poll(() => told()).toEqual(["Noted."]);
  });

  test("a refused edit leaves the modal open with what was typed, and says why", async () => {
    await askToEdit("{}");
    agent.receipt = { accepted: false, text: "That is no JSON." };
    await world.slack.interactions.submit({ as: world.slack.ann, view: modal(), values: { json: "{" } }).acknowledged();
    expect(modal().errors).toEqual({ "arguments-0": "That is no JSON." });
    expect(told()).toEqual([]);
  });

  test.each([
    [
      "many lines",
      JSON.stringify(
        Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`key ${index}`, `value ${index} `])),
        null,
        1,
      ),
    ],
    ["one long line", JSON.stringify({ text: "word and  blanks ".repeat(900) })],
    ["characters of two units", JSON.stringify({ text: "🐟".repeat(4_000) })],
  ])("arguments longer than an input come back unchanged: %s", async (_name, editJson) => {
    await askToEdit(editJson);
    await world.slack.interactions.submit({ as: world.slack.ann, view: modal() }).acknowledged();
    expect(agent.answers).toHaveLength(1);
    expect(agent.answers[0]?.editedJson).toBe(editJson);
  });

  test("a stranger's edit is handed in as theirs", async () => {
    await askToEdit("{}");
    await choose("Edit…", world.slack.ben).acknowledged();
    const view = await world.slack.until(() => world.slack.views.stack(world.slack.ben)[0]);
    agent.receipt = { accepted: false, text: "Not yours." };
    await world.slack.interactions.submit({ as: world.slack.ben, view }).acknowledged();
    expect(agent.answers).toMatchObject([{ by: { id: world.slack.ben.id } }]);
  });

  test("the modal comes before anything is asked about the person, because the trigger is short-lived", async () => {
    await replyTo(world.platform, message).ask(createCard(message, { choices: ["edit"], editJson: "{}" }));
    await world.restart();
    await world.platform.connect(agent.handlers, new AbortController().signal);
    const { slack } = world;
    const before = slack.callsOf("users.info").length;
    await choose("Edit…").acknowledged();
    await slack.until(() => slack.views.stack(slack.ann)[0]);
    expect(slack.callsOf("users.info")).toHaveLength(before);
  });

  test("a trigger that has expired is told", async () => {
    await replyTo(world.platform, message).ask(createCard(message, { choices: ["edit"], editJson: "{}" }));
    world.slack.failNext("views.open", { type: "error", error: "expired_trigger_id" });
    await choose("Edit…").acknowledged();
    await expect.poll(() => told()[0]).toContain("nothing changed");
  });
});

describe("the menu", () => {
  async function opened(option: string) {
    const grantText = "For 30 minutes in this conversation: removals run without asking, for requests by Ann.";
    const choices = ["approve", "deny", "allow", "why"] as const;
    await replyTo(world.platform, message).ask(createCard(message, { choices: [...choices], grantText }));
    // The menu and its forms need nothing that a restart forgets.
    await world.restart();
    await world.platform.connect(agent.handlers, new AbortController().signal);
    await choose(option).acknowledged();
    return await world.slack.until(() => world.slack.views.stack(world.slack.ann)[0]);
  }

  test("Deny with reason asks for one, and hands it in as the person's denial", async () => {
    const view = await opened("Deny with reason…");
    await world.slack.interactions
      .submit({ as: world.slack.ann, view, values: { reason: "Not on a Friday." } })
      .acknowledged();
    expect(agent.answers).toMatchObject([
      { choice: "deny", reason: "Not on a Friday.", messageId: `${world.slack.general.id}:${only().ts}` },
    ]);
  });

  test("Allow says what it would allow, and allows it only after that", async () => {
    const view = await opened("Allow here for 30 min…");
    expect(JSON.stringify(view.view)).toContain("removals run without asking");
    expect(agent.answers).toEqual([]);
    await world.slack.interactions.submit({ as: world.slack.ann, view }).acknowledged();
    expect(agent.answers).toMatchObject([{ choice: "allow", cardOrApprovalId: "approval-1" }]);
  });

  test("a refused Allow is said in the modal", async () => {
    const view = await opened("Allow here for 30 min…");
    agent.receipt = { accepted: false, text: "Only Ben can answer this." };
    await world.slack.interactions.submit({ as: world.slack.ann, view }).acknowledged();
    await expect.poll(() => JSON.stringify(world.slack.views.stack(world.slack.ann)[0]?.view)).toContain("Only Ben");
  });

  test("Why this asks is told to the person alone, whoever asks", async () => {
    await replyTo(world.platform, message).ask(createCard(message, { choices: ["approve", "deny", "why"] }));
    agent.receipt = { accepted: true, text: "Skill shell asks: it deletes." };
    await choose("Why this asks", world.slack.ben).acknowledged();
    await expect.poll(() => told(world.slack.ben)).toEqual(["Skill shell asks: it deletes."]);
    expect(told()).toEqual([]);
    expect(agent.answers).toMatchObject([{ choice: "why", by: { id: world.slack.ben.id } }]);
  });

  test("what nobody offered is answered, and nothing is handed in", async () => {
    await replyTo(world.platform, message).ask(createCard(message));
    const on = { channel: world.slack.general, ts: only().ts };
    for (const value of ["approve|approval-1", "end|approval-1", "x", ""]) {
      const forged = { actionId: "remora_more", option: value };
      await world.slack.interactions.click({ as: world.slack.ann, on, forged }).acknowledged();
    }
    await expect.poll(() => told()).toHaveLength(4);
    expect(agent.answers).toEqual([]);
  });
});

describe("clicks", () => {
  test("a button nobody knows is answered, and nothing is handed in", async () => {
    await replyTo(world.platform, message).ask(createCard(message));
    const forged = { actionId: "something_old", value: "x" };
    const on = { channel: world.slack.general, ts: only().ts };
    await world.slack.interactions.click({ as: world.slack.ann, on, forged }).acknowledged();
    await expect.poll(() => told()[0]).toContain("button no longer works");
    expect([...agent.answers, ...agent.picks]).toEqual([]);
  });

  test("while Slack does not say who clicked, the person is told that it takes longer, and then what came of it", async () => {
    await replyTo(world.platform, message).ask(createCard(message));
    await world.restart();
    await world.platform.connect(agent.handlers, new AbortController().signal);
    world.slack.failNext("users.info", { type: "rate-limit", retryAfterSeconds: 3 });
    await click("Approve").acknowledged();
    await expect.poll(() => told()[0], { timeout: 5_000 }).toContain("taking longer");
    await expect.poll(() => told()[1], { timeout: 10_000 }).toBe("Noted.");
    expect(agent.answers).toMatchObject([{ by: { id: world.slack.ann.id, name: "Ann" } }]);
  });

  test("when Slack takes no questions about who clicked, nothing is done, and the person is told", async () => {
    await replyTo(world.platform, message).ask(createCard(message));
    await world.restart();
    await world.platform.connect(agent.handlers, new AbortController().signal);
    world.slack.failNext("users.info", { type: "error", error: "invalid_auth" });
    await click("Approve").acknowledged();
    await expect.poll(() => told()[0]).toContain("nothing changed");
    expect(agent.answers).toEqual([]);
  });

  test("when the response URL does not answer, the person is told by an ephemeral message", async () => {
    await replyTo(world.platform, message).ask(createCard(message));
    world.slack.failNext("response_url", { type: "http", status: 500 });
    await click("Approve").acknowledged();
    await expect.poll(() => told()).toEqual(["Noted."]);
    expect(world.slack.callsOf("chat.postEphemeral")).toHaveLength(1);
  });

  test("on a card in a DM they come from the DM", async () => {
    const { slack } = world;
    const dm = slack.workspace.direct(slack.ann);
    await slack.people.say({ as: slack.ann, in: dm, text: "hello" }).acknowledged();
    const direct = agent.kept.at(-1) as InboundMessage;
    await replyTo(world.platform, direct).ask(createCard(direct));
    const [card] = slack.see({ in: dm }).filter((each) => each.isAgents);
    await slack.interactions
      .click({ as: slack.ann, on: { channel: dm, ts: card?.ts ?? "" }, button: "Approve" })
      .acknowledged();
    await expect.poll(() => agent.answers).toMatchObject([{ conversationId: direct.conversationId }]);
  });

  test("a person of another workspace and a guest are who they are", async () => {
    await replyTo(world.platform, message).ask(createCard(message));
    const guest = world.slack.workspace.addPerson({ name: "Gus", isGuest: true });
    const stranger = world.slack.workspace.addPerson({ name: "Sam", isStranger: true });
    for (const person of [guest, stranger]) await click("Approve", person).acknowledged();
    await expect.poll(() => agent.answers.map((answer) => answer.by.kind)).toEqual(["guest", "external"]);
  });
});

describe("a question", () => {
  test("markup in it and in its options is text, and a pick brings the option's number", async () => {
    const question = "<!channel> *which*?";
    const card = createQuestion(message, { id: "q1", question, options: ["<@U1>", "two & three"] });
    await replyTo(world.platform, message).question(card);
    expect(only().readable).toContain(question);
    expect(only().effects).toEqual([]);
    await click("Answer 2").acknowledged();
    await expect
      .poll(() => agent.picks)
      .toMatchObject([{ questionId: "q1", option: 1, by: { id: world.slack.ann.id } }]);
  });
});
