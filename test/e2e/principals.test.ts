/** Each turn has one person's rights: on the page and on Slack, with the real process and several people at once. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

const call = (command: string) => `call shell_exec ${JSON.stringify({ command })}`;

let home: RemoraHome;
let model: CallingModel;
let remora: RunningRemora;
async function start(env: Record<string, string> = {}): Promise<void> {
  [home, model] = await Promise.all([createHome(), startCallingModel()]);
  remora = await startRemora(home, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url, ...env });
}
afterAll(async () => {
  await remora?.stop();
  await model?.close();
  await home?.remove();
});

describe("on the page", () => {
  let people: Record<"ann" | "ben", ChatClient>;
  let gate: string;
  beforeAll(async () => {
    const readable = await createHome();
    gate = readable.workspace;
    const config = join(gate, "remora.yaml");
    const safety = { tools: { chat_post: { approvers: ["user:ben", "user:cara"] } } };
    await writeFile(config, JSON.stringify({ sandbox: { readable: [gate] }, safety }));
    await start({ REMORA_CONFIG: config });
    const [ann, ben] = await Promise.all(
      ["ann", "ben"].map((name) => createChatClient(remora.url, remora.token, name)),
    );
    if (ann === undefined || ben === undefined) throw new Error("nobody is there");
    people = { ann, ben };
    return async () => {
      for (const person of Object.values(people)) person.close();
      await remora.stop();
      await model.close();
      await home.remove();
      await readable.remove();
    };
  });

  test("a grant for one person's requests does not cover another's, even when both write at once", async () => {
    const { ann, ben } = people;
    const asked = await ann.say(`@remora ${call("docker rm one")}`, { channel: "general" });
    expect(await ann.click(await ann.cardFor(asked), "allow")).toMatchObject({ accepted: true });
    await ann.answerTo(asked);
    const thread = asked.id;
    const again = await ann.say(`@remora ${call("docker rm two")}`, { channel: "general", thread });
    await ann.answerTo(again);

    // A view that has looked for a file in vain never sees it appear there, but it sees a file's new content.
    await writeFile(join(gate, "go"), "");
    // While one turn runs, Ben asks for what only Ann's grant covers, and Ann writes thanks.
    await ann.say(`@remora ${call(`until [ -s ${gate}/go ]; do sleep 0.05; done`)}`, {
      channel: "general",
      thread,
    });
    await expect.poll(() => model.requests.some((body) => body.includes("until [ -s"))).toBe(true);
    const bens = await ben.say(`@remora ${call("docker rm three")}`, { channel: "general", thread });
    await ann.say("@remora thanks", { channel: "general", thread });
    await writeFile(join(gate, "go"), "now");
    // Ben's turn begins when the slow one has ended.
    const card = await ben.cardFor(bens);
    expect(card.card?.items[0]?.callText).toContain("docker rm three");
    expect(await ann.click(card, "approve")).toMatchObject({ accepted: false });
    expect(await ben.click(card, "deny")).toMatchObject({ accepted: true });
  });

  describe("with approvers besides the person who asks", () => {
    let cara: ChatClient;
    beforeAll(async () => {
      await people.ann.request("POST", "/local/api/people", { name: "Cara" });
      cara = await createChatClient(remora.url, remora.token, "cara");
      return () => cara.close();
    });
    const post = (text: string) => `call chat_post ${JSON.stringify({ channel: "random", text })}`;
    const isAbout = (text: string) => (message: SeenMessage) =>
      message.type === "card" && message.state === "waiting" && JSON.stringify(message.card).includes(text);

    test("each gets a copy of a card from a direct conversation, and the first answer settles all", async () => {
      const { ann, ben } = people;
      const card = await ann.cardFor(await ann.say(post("Copied."), { dm: true }));
      const [bens, caras] = await Promise.all([ben, cara].map((each) => each.waitFor(isAbout("Copied."))));
      if (bens === undefined || caras === undefined) throw new Error("nobody got a copy");
      expect([bens.place, caras.place]).toEqual(["dm:ben", "dm:cara"]);
      expect(caras.card?.copy?.text).toBe("Ann needs an answer from you or Ben in a direct message with me.");
      expect(await ben.click(caras, "approve")).toMatchObject({ error: expect.stringContaining("does not exist") });
      expect(await ann.click(card, "approve")).toMatchObject({ accepted: false });
      expect(await cara.click(caras, "approve")).toMatchObject({ accepted: true });
      const isSettled =
        ({ id }: SeenMessage) =>
        (message: SeenMessage) =>
          message.id === id && message.state === "done";
      await Promise.all([ann.waitFor(isSettled(card)), ben.waitFor(isSettled(bens)), cara.waitFor(isSettled(caras))]);
      expect(await ben.click(bens, "deny")).toMatchObject({ accepted: false });
      const posted = ({ text, place }: SeenMessage) => place === "channel:random" && text === "Copied.";
      await ann.waitFor(posted);
      expect([...ann.seen.values()].filter(posted)).toHaveLength(1);
    });

    test("one hands a card over to the other, and to nobody who can't approve it", async () => {
      const { ann, ben } = people;
      const said = await ann.say(`@remora ${post("Handed.")}`, { channel: "general" });
      const card = await ben.cardFor(said);
      expect(card.card?.notify?.text).toBe("Waiting for Ben or Cara.");
      expect((await ben.click(card, "handover", { to: "ann" })).text).toContain("Ann can't approve this");
      expect(await ann.click(card, "handover", { to: "cara" })).toMatchObject({ accepted: false });
      expect((await ben.click(card, "handover", { to: "cara" })).text).toBe("Cara is asked to answer.");
      const line = await cara.waitFor(({ text, thread }) => thread === said.id && text.includes("handed this to you"));
      expect(line.text.replaceAll("\\", "")).toMatch(
        /^@?Cara: Ben handed this to you\. Ann’s request “.*”\. Answer above\.$/,
      );
      await cara.waitFor(
        ({ id, card: now }) => id === card.id && now?.notify?.text.includes("Ben handed this to Cara.") === true,
      );
      expect(await cara.click(card, "deny")).toMatchObject({ accepted: true });
      await ann.answerTo(said);
      expect([...ann.seen.values()].some(({ text }) => text === "Handed.")).toBe(false);
    });
  });
});

describe("on Slack", () => {
  let slack: SlackDouble;
  beforeAll(async () => {
    slack = await createSlackDouble();
    await start({ SLACK_BOT_TOKEN: slack.botToken, SLACK_API_URL: slack.apiUrl, SLACK_APP_TOKEN: slack.appToken });
    return () => slack.stop();
  });

  test("a member's message does not let an outsider read a private channel", async () => {
    const hidden = slack.workspace.addChannel({ name: "hidden", isPrivate: true, members: [slack.ann] });
    slack.people.say({ as: slack.ann, in: hidden, text: "the merger is on friday" });
    const begin = slack.people.say({
      as: slack.ann,
      in: slack.general,
      text: `@Remora ${call("sleep 3")}`,
    });
    await expect.poll(() => model.requests.length).toBeGreaterThan(0);
    const inThread = (as: typeof slack.ann, text: string) =>
      slack.people.say({ as, in: slack.general, thread: begin.ts, text: `@Remora ${text}` });
    inThread(slack.ben, `call chat_history {"channel":"${hidden.id}"}`);
    inThread(slack.ann, "thanks");
    const answers = () =>
      slack
        .see({ in: slack.general, thread: begin.ts })
        .filter(({ isAgents, streaming }) => isAgents && streaming !== "in_progress");
    await slack.until(() => answers().length >= 3, 30_000);
    for (const { readable } of answers()) expect(readable).not.toContain("merger");
    expect(model.requests.join()).not.toContain("merger");
    // A member gets an answer in a place that nobody else sees.
    const dm = slack.workspace.direct(slack.ann);
    slack.people.say({ as: slack.ann, in: dm, text: `call chat_history {"channel":"${hidden.id}"}` });
    await slack.until(
      () => slack.see({ in: dm }).some(({ isAgents, readable }) => isAgents && readable.includes("merger")),
      60_000,
    );
  });
});
