/** Events of people's actions in Slack's formats, and markup as people see it. */
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDirectClient } from "./bolt-app.ts";
import { createStandingClock } from "./clock.ts";
import type { Delivery } from "./delivery.ts";
import { createSlackDouble, type SlackDouble } from "./double.ts";
import { escapeText, type JsonObject, unescapeText } from "./wire.ts";

let slack: SlackDouble;
beforeEach(async () => {
  slack = await createSlackDouble({ clock: createStandingClock() });
});
afterEach(() => slack.stop());

const eventsOf = (deliveries: Delivery[]) => deliveries.map((delivery) => delivery.payload.event as JsonObject);
const app = () => slack.workspace.app.id;

describe("messages", () => {
  test.each([
    ["a channel", "message.channels", () => slack.general, "channel"],
    ["a private channel", "message.groups", () => slack.workspace.addChannel({ name: "p", isPrivate: true }), "group"],
    ["a DM", "message.im", () => slack.workspace.direct(slack.ann), "im"],
    ["a group DM", "message.mpim", () => slack.workspace.direct(slack.ann, slack.ben), "mpim"],
  ] as const)("in %s", (_name, subscription, place, type) => {
    const say = () => slack.people.say({ as: slack.ann, in: place(), text: "hello" }).deliveries;
    expect(eventsOf(say())).toMatchObject([{ type: "message", channel_type: type, text: "hello", user: slack.ann.id }]);
    slack.events.unsubscribed.add(subscription);
    expect(say()).toEqual([]);
  });

  test("a mention event exists in channels, not in DMs, and may precede its message", () => {
    const text = "@Remora hello";
    const types = (deliveries: Delivery[]) => eventsOf(deliveries).map((event) => event.type);
    const saying = { as: slack.ann, text };
    expect(types(slack.people.say({ ...saying, in: slack.general, mentionFirst: true }).deliveries)).toEqual([
      "app_mention",
      "message",
    ]);
    expect(types(slack.people.say({ ...saying, in: slack.workspace.direct(slack.ann) }).deliveries)).toEqual([
      "message",
    ]);
  });

  test("the app gets no events from channels that it is not in", () => {
    const channel = slack.workspace.addChannel({ name: "elsewhere", hasApp: false });
    const said = slack.people.say({ as: slack.ann, in: channel, text: "@Remora hello" });
    expect([
      ...said.deliveries,
      ...slack.people.react(slack.ann, said, "eyes"),
      ...slack.people.edit(said, "x").deliveries,
    ]).toEqual([]);
    expect(slack.people.join(slack.ben, channel)).toEqual([]);
  });

  test("a reply names its thread, and edits and deletions have the earlier message", () => {
    const parent = slack.people.say({ as: slack.ann, in: slack.general, text: "one" });
    const reply = slack.people.say({ as: slack.ben, in: slack.general, thread: parent, text: "two" });
    expect(eventsOf(reply.deliveries)).toMatchObject([{ thread_ts: parent.ts, parent_user_id: slack.ann.id }]);
    expect(eventsOf(slack.people.edit(reply, "three").deliveries)).toMatchObject([
      {
        subtype: "message_changed",
        hidden: true,
        message: { ts: reply.ts, text: "three", edited: { user: slack.ben.id } },
        previous_message: { text: "two" },
      },
    ]);
    expect(eventsOf(slack.people.remove(parent))).toMatchObject([
      {
        subtype: "message_changed",
        message: { subtype: "tombstone", ts: parent.ts },
        previous_message: { text: "one" },
      },
    ]);
    expect(eventsOf(slack.people.remove(reply))).toMatchObject([
      { subtype: "message_deleted", deleted_ts: reply.ts, previous_message: { text: "three" } },
    ]);
  });

  test("a link preview is a change without an editor", () => {
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "see https://example.com" });
    const [event] = eventsOf(slack.people.unfurl(said, "https://example.com"));
    expect(event).toMatchObject({ subtype: "message_changed", message: { text: "see <https://example.com>" } });
    expect(event?.message).not.toHaveProperty("edited");
  });

  test("bots and webhooks are recognized by their ids", () => {
    const bot = slack.workspace.addBot("Deployer");
    const say = (more: object) =>
      eventsOf(slack.people.say({ as: bot, in: slack.general, text: "done", ...more }).deliveries);
    expect(say({})).toMatchObject([{ user: bot.id, bot_id: bot.botId }]);
    const [webhook] = say({ isWebhook: true });
    expect(webhook).toMatchObject({ subtype: "bot_message", bot_id: bot.botId, username: "Deployer" });
    expect(webhook?.user).toBeUndefined();
  });

  test("the app receives its own messages, like every app", async () => {
    const { client } = createDirectClient(slack);
    const { ts } = await client.chat.postMessage({ channel: slack.general.id, text: "mine" });
    await client.chat.update({ channel: slack.general.id, ts: ts ?? "", text: "changed" });
    expect(eventsOf(slack.sent)).toMatchObject([
      { type: "message", user: app(), bot_id: slack.workspace.app.botId, text: "mine" },
      { subtype: "message_changed", message: { user: app(), text: "changed" } },
    ]);
  });

  test("people of another organisation have their own team", () => {
    const stranger = slack.workspace.addPerson({ name: "Stranger", isStranger: true });
    const shared = slack.workspace.addChannel({ name: "partners", isShared: true, members: [stranger] });
    const [delivery] = slack.people.say({ as: stranger, in: shared, text: "hello" }).deliveries;
    expect(delivery?.payload).toMatchObject({
      team_id: stranger.teamId,
      context_team_id: slack.ann.teamId,
      is_ext_shared_channel: true,
      authorizations: [{ team_id: slack.ann.teamId, user_id: app(), is_bot: true }],
      event: { user_team: stranger.teamId, source_team: stranger.teamId, team: stranger.teamId },
    });
  });
});

describe("other events", () => {
  test("people and the app join and leave", () => {
    const cat = slack.workspace.addPerson({ name: "Cat" });
    expect(eventsOf(slack.people.join(cat, slack.general))).toMatchObject([
      { type: "member_joined_channel", user: cat.id, channel: slack.general.id },
      { type: "message", subtype: "channel_join" },
    ]);
    expect(eventsOf(slack.people.leave(cat, slack.general))[0]).toMatchObject({ type: "member_left_channel" });
    const other = slack.workspace.addChannel({ name: "other", hasApp: false });
    expect(eventsOf(slack.people.join(slack.workspace.app, other))[0]).toMatchObject({
      type: "member_joined_channel",
      user: app(),
    });
  });

  test("a reaction names its message, and an opened home tab its person", () => {
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    expect(eventsOf(slack.people.react(slack.ben, said, "eyes"))).toMatchObject([
      { type: "reaction_added", user: slack.ben.id, reaction: "eyes", item: { ts: said.ts }, item_user: slack.ann.id },
    ]);
    expect(eventsOf(slack.people.openHome(slack.ann))).toMatchObject([
      { type: "app_home_opened", user: slack.ann.id, tab: "home", channel: slack.workspace.direct(slack.ann).id },
    ]);
  });

  test("closing a modal notifies an app that asked for it", async () => {
    const { client } = createDirectClient(slack);
    const open = async (isAsked: boolean) => {
      const { triggerId } = slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora" });
      await client.views.open({
        trigger_id: triggerId,
        view: { type: "modal", title: { type: "plain_text", text: "Edit" }, blocks: [], notify_on_close: isAsked },
      });
      const [view] = slack.views.stack(slack.ann);
      if (view === undefined) throw new Error("no view");
      return slack.interactions.close({ as: slack.ann, view });
    };
    expect((await open(true))?.delivery.payload).toMatchObject({ type: "view_closed", is_cleared: false });
    expect(await open(false)).toBeUndefined();
    expect(slack.views.stack(slack.ann)).toEqual([]);
  });

  test("commands have all their fields", () => {
    const place = { as: slack.ann, command: "/remora", text: "status now" };
    const { delivery } = slack.interactions.command({ ...place, in: slack.workspace.direct(slack.ann) });
    expect(delivery).toMatchObject({
      kind: "slash_commands",
      payload: { command: "/remora", text: "status now", channel_name: "directmessage", user_name: "ann" },
    });
  });
});

describe("typed text", () => {
  test("names, channels, groups and addresses become markup, except in code", () => {
    const group = slack.workspace.addGroup("operators", [slack.ann]);
    const say = (text: string) => slack.people.say({ as: slack.ben, in: slack.general, text }).message.text;
    expect(say("@Ann and @operators in #general: @here")).toBe(
      `<@${slack.ann.id}> and <!subteam^${group.id}|@operators> in <#${slack.general.id}|general>: <!here>`,
    );
    expect(say("`@Ann <b>` 1 < 2 & https://a.example/?b=1&c=2")).toBe(
      "`@Ann &lt;b&gt;` 1 &lt; 2 &amp; <https://a.example/?b=1&amp;c=2>",
    );
    expect(say("mail@Annika.example")).toBe("mail@Annika.example");
  });

  test("escaping loses no text", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(unescapeText(escapeText(text))).toBe(text);
        expect(escapeText(text)).not.toMatch(/[<>]/);
      }),
    );
  });
});

describe("effects of markup", () => {
  type Place = (text: string) => object;
  const inText: Place = (text) => ({ text });
  const inSection: Place = (text) => ({ blocks: [{ type: "section", text: { type: "mrkdwn", text } }] });
  const inMarkdown: Place = (text) => ({ blocks: [{ type: "markdown", text }] });
  const inPlain: Place = (text) => ({ blocks: [{ type: "header", text: { type: "plain_text", text } }] });

  async function effects(content: object) {
    const { call } = createDirectClient(slack);
    slack.limits.isEnforced = false;
    const posted = await call("chat.postMessage", { channel: slack.general.id, ...content });
    expect(posted).toMatchObject({ ok: true });
    return slack.see({ in: slack.general }).find((message) => message.ts === posted.ts)?.effects;
  }

  test.each([
    ["text", inText],
    ["mrkdwn", inSection],
    ["markdown", inMarkdown],
  ])("mentions form in %s, even in code, unless escaped", async (where, place) => {
    const forming = "<!channel> <!here|here> <@U012AB3CD> <#C012AB3CD|x> <!subteam^S012AB3CD> `<!everyone>`";
    expect(await effects(place(forming))).toEqual([
      { type: "broadcast", range: "channel", where },
      { type: "broadcast", range: "here", where },
      { type: "user", id: "U012AB3CD", where },
      { type: "channel", id: "C012AB3CD", where },
      { type: "group", id: "S012AB3CD", where },
      { type: "broadcast", range: "everyone", where },
    ]);
    expect(await effects(place(`${escapeText(forming)} @channel #general a < b > c`))).toEqual([]);
  });

  test("plain text forms nothing", async () => {
    expect(await effects(inPlain("<!channel> <@U012AB3CD>"))).toEqual([]);
  });

  test("links are visible with their label and their preview", async () => {
    const quiet = { unfurl_links: false, unfurl_media: false };
    const url = "https://evil.example/a";
    expect(await effects({ ...inSection(`<${url}|a friendly page>`), ...quiet })).toEqual([
      { type: "link", url, label: "a friendly page", where: "mrkdwn" },
    ]);
    expect(await effects({ ...inMarkdown(`[a friendly page](${url}) and \`${url}\``), ...quiet })).toEqual([
      { type: "link", url, label: "a friendly page", where: "markdown" },
    ]);
    expect(await effects({ ...inText(`see ${url}`), ...quiet })).toEqual([{ type: "link", url, where: "text" }]);
    expect(await effects({ ...inText(`see ${url}`), unfurl_links: false })).toHaveLength(1);
    expect(await effects(inText(`see ${url}`))).toContainEqual({ type: "unfurl", url });
    expect(await effects({ ...inText(`see ${url}.png`), unfurl_links: false })).toContainEqual({
      type: "unfurl",
      url: `${url}.png`,
    });
  });

  test("Slack fetches the links of a post unless its arguments forbid it, of its edits accordingly, and of streams always", async () => {
    const { client } = createDirectClient(slack);
    const channel = slack.general.id;
    const quiet = { unfurl_links: false, unfurl_media: false };
    const post = async (text: string, more: object) =>
      String((await client.chat.postMessage({ channel, text, ...more })).ts);
    const silent = await post("see https://a.example", quiet);
    await client.chat.update({ channel, ts: silent, text: "see https://b.example" });
    const open = await post("see https://c.example", {});
    await client.chat.update({ channel, ts: open, text: "see https://d.example" });
    const { ts } = slack.people.say({ as: slack.ann, in: slack.general, text: "go" });
    const place = { thread_ts: ts, recipient_user_id: slack.ann.id, recipient_team_id: slack.ann.teamId };
    const title = "Read https://f.example";
    await client.apiCall("chat.startStream", {
      ...{ channel, ...place },
      chunks: [
        { type: "markdown_text", text: "see https://e.example" },
        { type: "task_update", id: "1", title, status: "complete" },
      ],
    });
    const hosts = [...slack.state.fetched].map((url) => new URL(url).hostname);
    expect(hosts.toSorted()).toEqual(["c.example", "d.example", "e.example", "f.example"]);
  });

  test("with full parsing, bare names become mentions too", async () => {
    expect(await effects({ text: "@channel", parse: "full" })).toEqual([
      { type: "broadcast", range: "channel", where: "text" },
    ]);
  });

  test("all readable text is visible, in block order", async () => {
    const { client } = createDirectClient(slack);
    await client.chat.postMessage({
      channel: slack.general.id,
      text: "fallback",
      blocks: [
        { type: "header", text: { type: "plain_text", text: "Approve?" } },
        {
          type: "section",
          text: { type: "mrkdwn", text: "rm &lt;all&gt;" },
          fields: [{ type: "mrkdwn", text: "why" }],
        },
        { type: "context", elements: [{ type: "mrkdwn", text: "asked by Ann" }] },
        {
          type: "actions",
          elements: [{ type: "button", action_id: "a", value: "hidden", text: { type: "plain_text", text: "Yes" } }],
        },
      ],
    });
    expect(slack.see({ in: slack.general })[0]?.readable).toBe("Approve?\nrm <all>\nwhy\nasked by Ann\nYes");
    await client.chat.postMessage({ channel: slack.general.id, markdown_text: "a &lt; `b &lt; c`" });
    expect(slack.see({ in: slack.general })[1]?.readable).toBe("a < `b &lt; c`");
  });
});
