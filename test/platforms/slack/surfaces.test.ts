/** The slash command, App Home, the assistant pane and the stop button. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { createTestAgent, replyTo, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

let world: SlackWorld;
let agent: TestAgent;

beforeEach(async () => {
  world = await createSlackWorld({
    changes: {
      commands: () => [
        { usage: "status", description: "what runs" },
        { usage: "memory [WORDS]", description: "what is remembered" },
      ],
      home: async (person) => ({ status: ["**All** is well."], memory: [`3 notes of ${person.name}`] }),
    },
  });
  agent = createTestAgent();
  await world.platform.connect(agent.handlers, new AbortController().signal);
});
afterEach(() => world.close());

function command(text: string, options: { in?: typeof world.slack.general; as?: typeof world.slack.ann } = {}) {
  const { slack } = world;
  return slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora", text, ...options });
}

function toldTo(person = world.slack.ann, channel = world.slack.general): string[] {
  return world.slack
    .see({ in: channel, as: person })
    .filter((each) => each.isEphemeral)
    .map((each) => each.readable);
}

describe("/remora", () => {
  test("a command is handed in with its place, and answered to the person alone", async () => {
    agent.commandText = "- here: **1** running";
    await command("Status now please").acknowledged();
    const { slack } = world;
    await expect.poll(() => toldTo()).toEqual(["• here: *1* running"]);
    expect(toldTo(slack.ben)).toEqual([]);
    expect(agent.commands).toMatchObject([
      {
        name: "status",
        rest: "now please",
        conversationId: `slack:${slack.state.team.id}:${slack.general.id}`,
        scope: `channel:${slack.general.id}`,
        channelId: slack.general.id,
        by: { id: slack.ann.id, name: "Ann" },
      },
    ]);
  });

  test("in a DM it is the person's own place; nothing behind it is the command of no name", async () => {
    const { slack } = world;
    await command("  ", { in: slack.workspace.direct(slack.ann) }).acknowledged();
    await expect.poll(() => agent.commands).toMatchObject([{ name: "", rest: "", scope: `dm:${slack.ann.id}` }]);
  });

  test("in a DM it is about the threads there, unless the DM is one conversation", async () => {
    const dm = world.slack.workspace.direct(world.slack.ann);
    await command("new", { in: dm }).acknowledged();
    await expect.poll(() => agent.commands.at(-1)).toMatchObject({ isBesideThreads: true });
    await world.restart({ directMessages: "single" });
    await world.platform.connect(agent.handlers, new AbortController().signal);
    await command("stop", { in: dm }).acknowledged();
    await expect.poll(() => agent.commands.at(-1)?.name).toBe("stop");
    expect(agent.commands.at(-1)?.isBesideThreads).toBeUndefined();
  });

  test("an ask in a DM is answered in the thread of the question", async () => {
    const { slack } = world;
    await command("ask who am I?", { in: slack.workspace.direct(slack.ann) }).acknowledged();
    await expect.poll(() => agent.kept.length).toBe(1);
    const [message] = agent.kept;
    if (message === undefined) throw new Error("nothing was kept");
    await replyTo(world.platform, message).finish("You are Ann.", []);
    expect(slack.timeline(slack.ann)).toMatchObject([
      { isAgents: true, root: "Ann asks: who am I?", answers: ["You are Ann."] },
    ]);
  });

  test("it works where the agent is not", async () => {
    const { slack } = world;
    const elsewhere = slack.workspace.addChannel({ name: "elsewhere", members: [slack.ann], hasApp: false });
    await command("status", { in: elsewhere }).acknowledged();
    await expect.poll(() => toldTo(slack.ann, elsewhere)).toEqual(["Here you are."]);
  });

  test("a long answer comes in parts", async () => {
    agent.commandText = Array.from({ length: 400 }, (_, index) => `- line ${index} of it`).join("\n");
    await command("status").acknowledged();
    await expect
      .poll(
        () =>
          toldTo()
            .join("\n")
            .match(/line \d+ of it/g)?.length,
      )
      .toBe(400);
    expect(toldTo().length).toBeLessThanOrEqual(5);
  });

  test("ask is something said: visible to all, kept, and answered in its thread", async () => {
    const { slack } = world;
    await command(`ask what is <!channel> & <@${slack.ben.id}> doing?`).acknowledged();
    await expect.poll(() => agent.kept.length).toBe(1);
    const [message] = agent.kept;
    if (message === undefined) throw new Error("nothing was kept");
    expect(message).toMatchObject({
      text: `what is @channel & @Ben (${slack.ben.id}) doing?`,
      isAddressed: true,
      author: { id: slack.ann.id },
    });
    const [shown] = slack.see({ in: slack.general });
    expect(shown?.readable).toContain("Ann asks:");
    expect(shown?.effects).toEqual([]);
    const reply = replyTo(world.platform, message);
    await reply.write("Having");
    await reply.finish("Having lunch.", []);
    const [, answer] = slack.see({ in: slack.general });
    expect(answer).toMatchObject({ readable: "Having lunch.", threadTs: shown?.ts });
    await slack.people
      .say({ as: slack.ben, in: slack.general, thread: shown?.ts ?? "", text: "indeed" })
      .acknowledged();
    expect(agent.kept.at(-1)).toMatchObject({ isAddressed: true, conversationId: message.conversationId });
  });

  test("ask where the agent is not says to invite it", async () => {
    const { slack } = world;
    const elsewhere = slack.workspace.addChannel({ name: "elsewhere", members: [slack.ann], hasApp: false });
    await command("ask hello", { in: elsewhere }).acknowledged();
    await expect.poll(() => toldTo(slack.ann, elsewhere)[0]).toContain("/invite");
    expect(agent.kept).toEqual([]);
  });

  test("an ask that is refused is taken back, and the person is told", async () => {
    agent.notice = { text: "I can't answer." };
    await command("ask hello").acknowledged();
    await expect.poll(() => toldTo()).toEqual(["I can't answer."]);
    expect(world.slack.see({ in: world.slack.general })).toEqual([]);
  });

  test("an ask that can't be kept is taken back, and the person is told", async () => {
    agent.failure = new Error("the disk is full");
    await command("ask hello").acknowledged();
    await expect.poll(() => toldTo()[0]).toContain("the disk is full");
    expect(world.slack.see({ in: world.slack.general })).toEqual([]);
  });
});

describe("App Home", () => {
  async function open() {
    const { slack } = world;
    for (const delivery of slack.people.openHome(slack.ann)) await delivery.acknowledged();
    return await slack.until(() => slack.views.home(slack.ann));
  }

  test("shows how the agent is, what it remembers of the person, and the commands", async () => {
    const text = JSON.stringify((await open()).view);
    for (const part of ["*All* is well.", "3 notes of Ann", "/remora memory [WORDS]"]) expect(text).toContain(part);
  });

  test("shows what is remembered in a modal, as the command would in the person's DM", async () => {
    agent.commandText = "- a **note**";
    const view = await open();
    const { slack } = world;
    await slack.interactions.clickInView({ as: slack.ann, view, actionId: "home_memory" }).acknowledged();
    await slack.until(() => JSON.stringify(slack.views.stack(slack.ann)[0]?.view ?? "").includes("a *note*"));
    const dm = slack.workspace.direct(slack.ann);
    expect(agent.commands).toMatchObject([
      { name: "memory", scope: `dm:${slack.ann.id}`, conversationId: `slack:${slack.state.team.id}:${dm.id}` },
    ]);
  });

  test("long code in a modal is code in each of its parts", async () => {
    const code = Array.from({ length: 300 }, (_, index) => `line ${index} & <more>`).join("\n");
    agent.commandText = `\`\`\`\n${code}\n\`\`\`\n\nthe end`;
    const view = await open();
    const { slack } = world;
    await slack.interactions.clickInView({ as: slack.ann, view, actionId: "home_memory" }).acknowledged();
    const isThere = () => JSON.stringify(slack.views.stack(slack.ann)[0]?.view ?? "").includes("the end");
    await slack.until(isThere);
    const blocks = slack.views.stack(slack.ann)[0]?.view.blocks as { text: { text: string } }[];
    const texts = blocks.map((block) => block.text.text);
    expect(texts.length).toBeGreaterThan(2);
    for (const text of texts) expect(text.match(/```/g)?.length ?? 0).toSatisfy((count: number) => count % 2 === 0);
    for (const text of texts) expect(text.replace(/&(?:amp|lt|gt);/g, "")).not.toContain("&");
    expect(texts.join("\n").match(/line \d+/g)).toHaveLength(300);
  });

  test("an export goes to the person's DM", async () => {
    agent.commandText = "Part 1 of 1";
    const view = await open();
    const { slack } = world;
    await slack.interactions.clickInView({ as: slack.ann, view, actionId: "home_export" }).acknowledged();
    await slack.until(() =>
      slack.see({ in: slack.workspace.direct(slack.ann) }).some((each) => each.readable === "Part 1 of 1"),
    );
  });

  test("a long export is a file in the DM", async () => {
    agent.commandText = Array.from({ length: 1_500 }, (_, index) => `- entry ${index}`).join("\n");
    const view = await open();
    const { slack } = world;
    await slack.interactions.clickInView({ as: slack.ann, view, actionId: "home_export" }).acknowledged();
    const file = await slack.until(() => slack.see({ in: slack.workspace.direct(slack.ann) }).at(-1)?.files[0]);
    expect(file).toMatchObject({ name: "answer.md", content: agent.commandText });
  });

  test("a long export is text in the DM if Slack refuses the file, whatever the reason", async () => {
    agent.commandText = Array.from({ length: 1_500 }, (_, index) => `- entry ${index}`).join("\n");
    const view = await open();
    const { slack } = world;
    slack.failNext("files.completeUploadExternal", { type: "error", error: "files_of_next_year" });
    await slack.interactions.clickInView({ as: slack.ann, view, actionId: "home_export" }).acknowledged();
    await slack.until(() =>
      slack.see({ in: slack.workspace.direct(slack.ann) }).some(({ readable }) => readable.includes("entry 1")),
    );
  });

  test.each(["home_memory", "home_export"])("what %s could not do is told", async (actionId) => {
    const view = await open();
    const { slack } = world;
    agent.handlers.onCommand = () => Promise.reject(new Error("the disk is full"));
    await slack.interactions.clickInView({ as: slack.ann, view, actionId }).acknowledged();
    await slack.until(() => {
      const modal = JSON.stringify(slack.views.stack(slack.ann)[0]?.view ?? "");
      const direct = slack.see({ in: slack.workspace.direct(slack.ann) }).map((each) => each.readable);
      return `${modal} ${direct.join(" ")}`.includes("That didn't work: the disk is full");
    });
  });

  test("forgetting asks first; only what was sent is done", async () => {
    const view = await open();
    const { slack } = world;
    await slack.interactions.clickInView({ as: slack.ann, view, actionId: "home_forget" }).acknowledged();
    const asked = await slack.until(() => slack.views.stack(slack.ann)[0]);
    expect(agent.commands).toEqual([]);
    agent.commandText = "Removed 3 entries.";
    await slack.interactions.submit({ as: slack.ann, view: asked }).acknowledged();
    await slack.until(() => JSON.stringify(slack.views.stack(slack.ann)[0]?.view ?? "").includes("Removed 3 entries."));
    expect(agent.commands).toMatchObject([{ name: "forget", rest: "me yes", by: { id: slack.ann.id } }]);
  });
});

describe("the assistant pane", () => {
  test("a thread of it gets suggestions, a title by its first words, and answers in place", async () => {
    const { slack } = world;
    const pane = slack.assistant.open(slack.ann);
    for (const delivery of pane.deliveries) await delivery.acknowledged();
    expect(slack.assistant.thread(pane.channel, pane.threadTs)?.prompts?.prompts).toHaveLength(3);
    const text = "What is the airspeed velocity of an unladen swallow, all things considered?";
    await slack.people.say({ as: slack.ann, in: pane.channel, thread: pane.threadTs, text }).acknowledged();
    await slack.until(() =>
      slack.assistant.thread(pane.channel, pane.threadTs)?.title?.startsWith("What is the airspeed"),
    );
    const [message] = agent.kept;
    if (message === undefined) throw new Error("nothing was kept");
    expect(message.conversationId).toBe(`slack:${slack.state.team.id}:${pane.channel.id}:${pane.threadTs}`);
    const reply = replyTo(world.platform, message);
    await reply.write("African or");
    expect(slack.see({ in: pane.channel }).at(-1)).toMatchObject({ streaming: "in_progress", threadTs: pane.threadTs });
    await reply.finish("African or European?", []);
  });

  test("the tab with the messages shows suggestions, once in a while", async () => {
    const { slack } = world;
    for (const _ of [1, 2]) {
      for (const delivery of slack.people.openHome(slack.ann, "messages")) await delivery.acknowledged();
    }
    expect(slack.callsOf("assistant.threads.setSuggestedPrompts")).toHaveLength(1);
    // Those of the manifest stand there before the first event, so they must not change then.
    const manifest = parse(readFileSync(join(import.meta.dirname, "../../../slack/manifest.yaml"), "utf8"));
    const { suggested_prompts: prompts } = manifest.features.agent_view;
    expect(prompts).toHaveLength(3);
    expect(slack.assistant.thread(slack.workspace.direct(slack.ann), "")?.prompts?.prompts).toEqual(prompts);
    expect(slack.views.home(slack.ann)).toBeUndefined();
  });

  test("Slack's stop button is the command stop, by the person who pressed it, in that thread", async () => {
    const { slack } = world;
    await slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora tell me a story" }).acknowledged();
    const [message] = agent.kept.filter((each) => each.isAddressed);
    if (message === undefined) throw new Error("nothing was kept");
    await replyTo(world.platform, message).write("Once upon");
    const shown = slack.see({ in: slack.general }).find((each) => each.isAgents);
    const deliveries = slack.people.stopStream(slack.ben, { ts: shown?.ts ?? "", channel: slack.general });
    await Promise.all(deliveries.map((delivery) => delivery.acknowledged()));
    expect(agent.commands).toMatchObject([
      { name: "stop", conversationId: message.conversationId, isInThread: true, by: { id: slack.ben.id } },
    ]);
    const [stop] = agent.commands;
    expect(stop?.saidBy).toBeGreaterThan(message.at);
    expect(stop?.saidBy).toBeLessThanOrEqual(slack.clock.now());
  });
});
