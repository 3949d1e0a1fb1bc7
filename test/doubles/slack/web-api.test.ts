/** The Web API of the double: tokens, scopes, rates, failures, conversations, people, files, the assistant pane. */
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runs } from "../../faults/share.ts";
import { createDirectClient } from "./bolt-app.ts";
import { createStandingClock } from "./clock.ts";
import type { Delivery } from "./delivery.ts";
import { createSlackDouble, type SlackDouble } from "./double.ts";
import { methodRules } from "./method-rules.ts";
import type { JsonObject } from "./wire.ts";

let slack: SlackDouble;
let call: ReturnType<typeof createDirectClient>["call"];
beforeEach(async () => {
  slack = await createSlackDouble({ clock: createStandingClock() });
  call = createDirectClient(slack).call;
});
afterEach(() => slack.stop());

const eventOf = (delivery: Delivery | undefined) => (delivery?.payload.event ?? {}) as JsonObject;
const post = (args: JsonObject = {}) => call("chat.postMessage", { channel: slack.general.id, text: "hello", ...args });

function botToken() {
  const token = slack.tokens.get(slack.botToken);
  if (token === undefined) throw new Error("no token");
  return token;
}

describe("tokens and scopes", () => {
  test("auth.test returns the app's identity and scopes", async () => {
    const answer = await call("auth.test");
    expect(answer).toMatchObject({ ok: true, user_id: slack.workspace.app.id, bot_id: slack.workspace.app.botId });
    expect(answer.response_metadata).toMatchObject({ scopes: botToken().scopes });
  });

  test.each([
    ["", "not_authed"],
    ["xoxb-wrong", "invalid_auth"],
  ])("token %j is %s", async (token, error) => {
    const response = await fetch(`${slack.apiUrl}auth.test`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await response.json()).toEqual({ ok: false, error });
  });

  test("each kind of token has its methods", async () => {
    expect(await call("apps.connections.open")).toMatchObject({ error: "not_allowed_token_type" });
    const app = createDirectClient(slack, slack.appToken);
    expect(await app.call("auth.test")).toMatchObject({ error: "not_allowed_token_type" });
    expect(await app.call("apps.connections.open")).toMatchObject({ ok: true });
    expect(await call("chat.sing")).toMatchObject({ error: "unknown_method" });
  });

  test("tokens can be revoked and accounts deactivated", async () => {
    botToken().state = "revoked";
    expect(await post()).toMatchObject({ error: "token_revoked" });
    botToken().state = "inactive";
    expect(await post()).toMatchObject({ error: "account_inactive" });
  });

  test("a missing scope is named together with the existing ones", async () => {
    botToken().scopes = ["chat:write", "channels:history"];
    expect(await call("users.info", { user: slack.ann.id })).toMatchObject({
      ok: false,
      error: "missing_scope",
      needed: "users:read",
      provided: "chat:write,channels:history",
      response_metadata: { scopes: ["chat:write", "channels:history"], acceptedScopes: ["users:read"] },
    });
    expect(await call("conversations.history", { channel: slack.general.id })).toMatchObject({ ok: true });
    const dm = slack.workspace.direct(slack.ann);
    expect(await call("conversations.history", { channel: dm.id })).toMatchObject({ needed: "im:history" });
  });

  test("without its scope or subscription an event is not sent", () => {
    botToken().scopes = ["channels:history"];
    const say = () => slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello" }).deliveries;
    expect(say().map((delivery) => (delivery.payload.event as JsonObject).type)).toEqual(["message"]);
    slack.events.unsubscribed.add("message.channels");
    expect(say()).toEqual([]);
  });

  test("JSON bodies are read like forms", async () => {
    const send = async (body: string) => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${slack.botToken}` };
      return await (await fetch(`${slack.apiUrl}chat.postMessage`, { method: "POST", headers, body })).json();
    };
    const blocks = [{ type: "divider" }];
    expect(await send(JSON.stringify({ channel: slack.general.id, text: "json", blocks }))).toMatchObject({ ok: true });
    expect(await send("{")).toEqual({ ok: false, error: "invalid_json" });
    expect(slack.callsOf("chat.postMessage")[0]).toMatchObject({ args: { blocks }, answer: { ok: true }, status: 200 });
  });
});

describe("any input", () => {
  test("every method returns ok or a named error", async () => {
    slack.limits.isEnforced = false;
    const { ts } = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    const names = [
      ...["attachments", "blocks", "channel", "channel_id", "chunks", "cursor", "file", "filename", "files", "length"],
      ...["limit", "markdown_text", "metadata", "name", "oldest", "prompts", "recipient_user_id", "status", "text"],
      ...[
        "thread_ts",
        "timestamp",
        "title",
        "trigger_id",
        "ts",
        "types",
        "user",
        "user_id",
        "usergroup",
        "users",
        "view",
      ],
    ];
    const value = fc.oneof(
      fc.constantFrom<unknown>(
        slack.general.id,
        ts,
        slack.ann.id,
        [{ type: "section" }],
        [null],
        { blocks: {} },
        "[",
        "{}",
      ),
      fc.jsonValue(),
    );
    // Mostly right, so that what is wrong is met deep inside of a method.
    const right = {
      ...{ channel: slack.general.id, channel_id: slack.general.id, ts, thread_ts: ts, timestamp: ts, text: "hello" },
      ...{ user: slack.ann.id, user_id: slack.ann.id, users: slack.ann.id, recipient_user_id: slack.ann.id },
      recipient_team_id: slack.ann.teamId,
    };
    const args = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4 });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(methodRules)),
        args,
        fc.boolean(),
        async (method, some, asJson) => {
          const sent: Record<string, unknown> = { ...right, ...some };
          const form = new URLSearchParams();
          for (const [name, one] of Object.entries(sent)) {
            form.append(name, typeof one === "string" ? one : JSON.stringify(one));
          }
          const response = await fetch(slack.apiUrl + method, {
            method: "POST",
            headers: {
              authorization: `Bearer ${method === "apps.connections.open" ? slack.appToken : slack.botToken}`,
              "content-type": asJson ? "application/json" : "application/x-www-form-urlencoded",
            },
            body: asJson ? JSON.stringify(sent) : form,
          });
          expect(response.status).toBe(200);
          const answer = (await response.json()) as JsonObject;
          expect(answer.ok === true || typeof answer.error === "string").toBe(true);
        },
      ),
      { numRuns: runs(300) },
    );
  });
});

describe("rates and failures", () => {
  test("after a short burst, one message per second and channel is allowed; a 429 says how long to wait", async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => post()));
    expect(answers.every((answer) => answer.ok === true)).toBe(true);
    await expect(post()).rejects.toMatchObject({ retryAfter: 1 });
    const other = slack.workspace.addChannel({ name: "random" });
    expect(await post({ channel: other.id })).toMatchObject({ ok: true });
    slack.clock.advance(1000);
    expect(await post()).toMatchObject({ ok: true });
  });

  test("fifty updates per minute are allowed", async () => {
    const { ts } = await post();
    const update = () => call("chat.update", { channel: slack.general.id, ts, text: "again" });
    for (let count = 0; count < 50; count += 1) expect(await update()).toMatchObject({ ok: true });
    await expect(update()).rejects.toMatchObject({ retryAfter: 2 });
    slack.limits.isEnforced = false;
    expect(await update()).toMatchObject({ ok: true });
  });

  test("rates can be set", async () => {
    slack.limits.rates["users.info"] = { perMinute: 6, burst: 1 };
    expect(await call("users.info", { user: slack.ann.id })).toMatchObject({ ok: true });
    await expect(call("users.info", { user: slack.ann.id })).rejects.toMatchObject({ retryAfter: 10 });
  });

  test("any method can be made to fail once, in order", async () => {
    slack.failNext("chat.postMessage", { type: "error", error: "fatal_error" }, { type: "http", status: 503 });
    slack.failNext("chat.postMessage", { type: "rate-limit", retryAfterSeconds: 30 }, { type: "cut" });
    expect(await post()).toMatchObject({ error: "fatal_error" });
    await expect(post()).rejects.toMatchObject({ statusCode: 503 });
    await expect(post()).rejects.toMatchObject({ retryAfter: 30 });
    await expect(post()).rejects.toThrow("A request error occurred");
    expect(slack.see({ in: slack.general })).toEqual([]);
    expect(await post()).toMatchObject({ ok: true });
  });

  test("a connection can break after the work is done, and a response can be late", async () => {
    slack.failNext("chat.postMessage", { type: "cut", after: true });
    await expect(post()).rejects.toThrow("A request error occurred");
    expect(slack.see({ in: slack.general })).toHaveLength(1);
    slack.failNext("*", { type: "delay", ms: 3_600_000 });
    const late = post({ text: "late" });
    await slack.until(() => slack.callsOf("chat.postMessage").length === 2);
    expect(slack.see({ in: slack.general })).toHaveLength(1);
    slack.clock.advance(3_600_000);
    expect(await late).toMatchObject({ ok: true });
  });
});

describe("where the app can post", () => {
  test.each([
    ["is_archived", { isArchived: true }],
    ["restricted_action", { isReadOnly: true }],
    ["not_in_channel", { hasApp: false }],
    ["channel_not_found", { hasApp: false, isPrivate: true }],
  ] as const)("%s", async (error, options) => {
    const channel = slack.workspace.addChannel({ name: "other", ...options });
    expect(await post({ channel: channel.id })).toMatchObject({ error });
  });

  test("the app can't change other people's messages", async () => {
    const { ts } = slack.people.say({ as: slack.ann, in: slack.general, text: "mine" });
    const place = { channel: slack.general.id, ts };
    expect(await call("chat.update", { ...place, text: "x" })).toMatchObject({ error: "cant_update_message" });
    expect(await call("chat.delete", place)).toMatchObject({ error: "cant_delete_message" });
    expect(await call("chat.delete", { ...place, ts: "1.000001" })).toMatchObject({ error: "message_not_found" });
  });

  test("an ephemeral message is visible to one member, and in no history", async () => {
    const ephemeral = (user: string) =>
      call("chat.postEphemeral", { channel: slack.general.id, user, text: "between us" });
    expect(await ephemeral(slack.ann.id)).toMatchObject({ ok: true });
    expect(slack.see({ in: slack.general, as: slack.ann })).toMatchObject([{ isEphemeral: true, text: "between us" }]);
    expect(slack.see({ in: slack.general, as: slack.ben })).toEqual([]);
    expect(await call("conversations.history", { channel: slack.general.id })).toMatchObject({ messages: [] });
    expect(await ephemeral(slack.workspace.addPerson({ name: "Cat" }).id)).toMatchObject({
      error: "user_not_in_channel",
    });
  });

  test("a person's id leads to their DM", async () => {
    const answer = await post({ channel: slack.ann.id });
    expect(answer.channel).toBe(slack.workspace.direct(slack.ann).id);
    const opened = await call("conversations.open", { users: slack.ann.id });
    expect(opened).toMatchObject({ already_open: true, channel: { id: answer.channel } });
    const group = await call("conversations.open", { users: `${slack.ann.id},${slack.ben.id}`, return_im: true });
    expect(group).toMatchObject({ channel: { is_mpim: true } });
    expect(await call("conversations.open", { users: "U1" })).toMatchObject({ error: "user_not_found" });
  });
});

describe("response URLs", () => {
  const respond = (url: string, body: object) => fetch(url, { method: "POST", body: JSON.stringify(body) });

  test("a click's URL replaces or deletes the message, five times within half an hour", async () => {
    const element = { type: "button", action_id: "go", text: { type: "plain_text", text: "Go" } };
    const { ts } = await post({ blocks: [{ type: "actions", elements: [element] }] });
    const on = { channel: slack.general, ts: String(ts) };
    const { responseUrl } = slack.interactions.click({ as: slack.ann, on, button: "Go" });
    expect(await (await respond(responseUrl, { replace_original: true, text: "done" })).text()).toBe("ok");
    expect(slack.see({ in: slack.general })).toMatchObject([{ ts, text: "done", buttons: [] }]);
    for (let count = 0; count < 3; count += 1) await respond(responseUrl, { text: "between us" });
    expect(slack.see({ in: slack.general, as: slack.ann }).filter((one) => one.isEphemeral)).toHaveLength(3);
    await respond(responseUrl, { delete_original: true });
    expect(slack.see({ in: slack.general })).toEqual([]);
    expect(await (await respond(responseUrl, { text: "once more" })).json()).toMatchObject({ error: "used_url" });
    const late = slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora" });
    slack.clock.advance(30 * 60_000 + 1);
    expect(await (await respond(late.responseUrl, { text: "late" })).json()).toMatchObject({ error: "expired_url" });
  });

  test("a forged client can click a removed button, but not one that never existed", async () => {
    const { ts } = await post();
    const on = { channel: slack.general, ts: String(ts) };
    expect(() => slack.interactions.click({ as: slack.ann, on, button: "Go" })).toThrow("no button Go");
    const { delivery } = slack.interactions.click({ as: slack.ann, on, forged: { actionId: "go", value: "9" } });
    expect(delivery.payload).toMatchObject({ actions: [{ action_id: "go", value: "9" }] });
  });
});

describe("history", () => {
  test("paging returns every message once, newest first, for any page size", async () => {
    slack.limits.isEnforced = false;
    const said = Array.from(
      { length: 23 },
      (_, n) => slack.people.say({ as: slack.ann, in: slack.general, text: `${n}` }).ts,
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 30 }), async (limit) => {
        const seen: unknown[] = [];
        let cursor = "";
        do {
          const answer = await call("conversations.history", { channel: slack.general.id, limit, cursor });
          const messages = answer.messages as JsonObject[];
          expect(messages.length).toBeLessThanOrEqual(limit);
          seen.push(...messages.map((message) => message.ts));
          cursor = String((answer.response_metadata as JsonObject).next_cursor ?? "");
          expect(answer.has_more).toBe(cursor !== "");
        } while (cursor !== "");
        expect(seen).toEqual(said.toReversed());
      }),
      { numRuns: 15 },
    );
  });

  test("oldest and latest are exclusive unless set to inclusive", async () => {
    const [a, b, c] = ["a", "b", "c"].map((text) => slack.people.say({ as: slack.ann, in: slack.general, text }).ts);
    const ask = async (args: JsonObject) => {
      const answer = await call("conversations.history", { channel: slack.general.id, ...args });
      return (answer.messages as JsonObject[]).map((message) => message.text);
    };
    expect(await ask({ oldest: a ?? "" })).toEqual(["c", "b"]);
    expect(await ask({ oldest: a ?? "", latest: c ?? "" })).toEqual(["b"]);
    expect(await ask({ oldest: b ?? "", latest: b ?? "", inclusive: true })).toEqual(["b"]);
    expect(await call("conversations.history", { channel: slack.general.id, oldest: "x" })).toMatchObject({
      error: "invalid_ts_oldest",
    });
  });

  test("replies are in their thread, and metadata is returned on request", async () => {
    const parent = slack.people.say({ as: slack.ann, in: slack.general, text: "parent" });
    const metadata = { event_type: "turn", event_payload: { id: "t1" } };
    const reply = await post({ thread_ts: parent.ts, metadata });
    const channel = slack.general.id;
    const main = await call("conversations.history", { channel });
    expect(main.messages).toMatchObject([
      { ts: parent.ts, thread_ts: parent.ts, reply_count: 1, latest_reply: reply.ts },
    ]);
    const thread = await call("conversations.replies", { channel, ts: parent.ts });
    expect(thread.messages).toMatchObject([{ ts: parent.ts }, { ts: reply.ts, parent_user_id: slack.ann.id }]);
    expect((thread.messages as JsonObject[])[1]?.metadata).toBeUndefined();
    const whole = await call("conversations.replies", { channel, ts: reply.ts, include_all_metadata: true });
    expect(whole.messages).toMatchObject([{ ts: parent.ts }, { metadata }]);
    expect(await call("conversations.replies", { channel, ts: "1.000001" })).toMatchObject({
      error: "thread_not_found",
    });
  });

  test("members and channels are paged too", async () => {
    slack.workspace.addChannel({ name: "old", isArchived: true });
    const listed = await call("conversations.list", { types: "public_channel", exclude_archived: true });
    expect(listed.channels).toMatchObject([{ name: "general", is_member: true, num_members: 3 }]);
    const members = await call("conversations.members", { channel: slack.general.id, limit: 2 });
    expect(members.members).toEqual([slack.ann.id, slack.ben.id]);
    expect(members.response_metadata).toMatchObject({ next_cursor: expect.stringMatching(/./) });
    expect(await call("conversations.list", { types: "rooms" })).toMatchObject({ error: "invalid_types" });
    expect(await call("conversations.list", { limit: 999 })).toMatchObject({ ok: true });
    expect(await call("conversations.list", { limit: 1000 })).toMatchObject({ error: "invalid_limit" });
  });
});

describe("people", () => {
  test("guests, external people, bots and former members are distinguishable", async () => {
    const guest = slack.workspace.addPerson({ name: "Guest", isSingleChannelGuest: true });
    const stranger = slack.workspace.addPerson({ name: "Stranger", isStranger: true });
    const gone = slack.workspace.addPerson({ name: "Gone", isDeleted: true });
    const bot = slack.workspace.addBot("Deployer");
    const info = async (id: string) => (await call("users.info", { user: id })).user;
    expect(await info(guest.id)).toMatchObject({ is_restricted: true, is_ultra_restricted: true });
    expect(await info(stranger.id)).toMatchObject({ is_stranger: true, team_id: stranger.teamId });
    expect(stranger.teamId).not.toBe(slack.ann.teamId);
    expect(await info(gone.id)).toMatchObject({ deleted: true });
    expect(await info(bot.id)).toMatchObject({ is_bot: true });
    expect(await call("bots.info", { bot: bot.botId })).toMatchObject({ bot: { user_id: bot.id, name: "Deployer" } });
    slack.people.join(stranger, slack.general);
    expect(await info(stranger.id)).toMatchObject({ is_stranger: false, team_id: stranger.teamId });
    expect(await call("users.info", { user: "U1" })).toMatchObject({ error: "user_not_found" });
  });

  test("user groups list their people", async () => {
    const group = slack.workspace.addGroup("operators", [slack.ann]);
    expect(await call("usergroups.users.list", { usergroup: group.id })).toMatchObject({ users: [slack.ann.id] });
    expect(await call("usergroups.list")).toMatchObject({ usergroups: [{ handle: "operators", user_count: 1 }] });
    expect(await call("usergroups.users.list", { usergroup: "S1" })).toMatchObject({ error: "no_such_subteam" });
  });

  test("a reaction can be added once", async () => {
    const { ts } = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    const add = (name: string) => call("reactions.add", { channel: slack.general.id, timestamp: ts, name });
    expect(await add("eyes")).toMatchObject({ ok: true });
    expect(await add("eyes")).toMatchObject({ error: "already_reacted" });
    expect(await add("!")).toMatchObject({ error: "invalid_name" });
    expect(slack.see({ in: slack.general })[0]?.reactions).toEqual([{ name: "eyes", users: [slack.workspace.app.id] }]);
  });
});

describe("files", () => {
  test("an upload takes three steps and is visible with its content", async () => {
    const { client } = createDirectClient(slack);
    const parent = slack.people.say({ as: slack.ann, in: slack.general, text: "the log, please" });
    await client.files.uploadV2({
      channel_id: slack.general.id,
      thread_ts: parent.ts,
      filename: "log.txt",
      content: "all is well",
      initial_comment: "here",
    });
    const [, shared] = slack.see({ in: slack.general, thread: parent.ts });
    expect(shared).toMatchObject({ text: "here", files: [{ name: "log.txt", content: "all is well" }] });
  });

  test("a missing, truncated or repeated upload is not a file", async () => {
    const { upload_url, file_id } = await call("files.getUploadURLExternal", { filename: "a.txt", length: 3 });
    const complete = () =>
      call("files.completeUploadExternal", { files: [{ id: file_id }], channel_id: slack.general.id });
    const send = async (body: string) => (await fetch(String(upload_url), { method: "POST", body })).status;
    expect(await complete()).toMatchObject({ error: "file_not_found" });
    expect(await send("ab")).toBe(400);
    expect(await send("abc")).toBe(200);
    expect(await send("abc")).toBe(404);
    expect(await complete()).toMatchObject({ ok: true });
    expect(await complete()).toMatchObject({ error: "file_not_found" });
    expect(await call("files.getUploadURLExternal", { filename: "a", length: 0 })).toMatchObject({
      error: "missing_argument",
    });
  });

  test("what a person shares is downloaded with the token, else there is a login page", async () => {
    const { deliveries } = slack.people.say({
      as: slack.ann,
      in: slack.general,
      text: "see",
      files: [{ name: "plan.md", content: "# Plan", mimetype: "text/markdown" }],
    });
    const event = eventOf(deliveries[0]);
    const [file] = event.files as JsonObject[];
    expect(event).toMatchObject({ subtype: "file_share", text: "see" });
    expect(file).toMatchObject({ name: "plan.md", size: 6, mimetype: "text/markdown" });
    const get = (headers: Record<string, string>) => fetch(String(file?.url_private), { headers });
    expect(await (await get({ authorization: `Bearer ${slack.botToken}` })).text()).toBe("# Plan");
    const page = await get({});
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    botToken().scopes = ["chat:write"];
    expect(await (await get({ authorization: `Bearer ${slack.botToken}` })).text()).toContain("Sign in");
  });

  test("in a shared channel the event names the file, and files.info knows the rest", async () => {
    const channel = slack.workspace.addChannel({ name: "partners", isShared: true });
    const files = [{ name: "plan.md", content: "# Plan" }];
    const { deliveries } = slack.people.say({ as: slack.ann, in: channel, files });
    const [file] = eventOf(deliveries[0]).files as JsonObject[];
    expect(file).toEqual({ id: expect.any(String), mode: "file_access", file_access: "check_file_info" });
    expect(await call("files.info", { file: file?.id })).toMatchObject({ file: { name: "plan.md" } });
    expect(await call("files.info", { file: "F1" })).toMatchObject({ error: "file_not_found" });
  });
});

describe("the assistant pane", () => {
  test("a thread starts where the person stands, and its status goes with the answer", async () => {
    const pane = slack.assistant.open(slack.ann, slack.general);
    expect(pane.deliveries[0]?.payload.event).toMatchObject({
      type: "assistant_thread_started",
      assistant_thread: { user_id: slack.ann.id, thread_ts: pane.threadTs, context: { channel_id: slack.general.id } },
    });
    const place = { channel_id: pane.channel.id, thread_ts: pane.threadTs };
    const thread = () => slack.assistant.thread(pane.channel, pane.threadTs);
    await call("assistant.threads.setTitle", { ...place, title: "Deployments" });
    await call("assistant.threads.setSuggestedPrompts", {
      ...place,
      prompts: [{ title: "Deploy", message: "deploy it" }],
    });
    const said = slack.people.say({ as: slack.ann, in: pane.channel, thread: pane.threadTs, text: "deploy it" });
    expect(said.deliveries[0]?.payload.event).toMatchObject({ channel_type: "im", thread_ts: pane.threadTs });
    await call("assistant.threads.setStatus", { ...place, status: "is looking", loading_messages: ["one moment"] });
    expect(thread()).toMatchObject({ title: "Deployments", status: "is looking", loadingMessages: ["one moment"] });
    await post({ channel: pane.channel.id, thread_ts: pane.threadTs });
    expect(thread()?.status).toBe("");
    const other = slack.workspace.addChannel({ name: "random" });
    expect(slack.assistant.move(pane, other)[0]?.payload.event).toMatchObject({
      type: "assistant_thread_context_changed",
      assistant_thread: { context: { channel_id: other.id } },
    });
  });

  test("a text is a session that works without a stop button, and an empty one ends it", async () => {
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    const place = { channel_id: slack.general.id, thread_ts: said.ts };
    await call("assistant.threads.setStatus", { ...place, status: "is looking" });
    await post({ channel: slack.general.id, thread_ts: said.ts });
    expect(slack.sessions.states(slack.general, said.ts)).toEqual(["processing"]);
    await call("assistant.threads.setStatus", { ...place, status: "" });
    expect(slack.sessions.states(slack.general, said.ts)).toEqual(["processing", "active"]);
    slack.state.agent.hasAssistantThreads = false;
    expect(await call("assistant.threads.setStatus", { ...place, status: "x" })).toMatchObject({
      error: "method_deprecated",
    });
  });

  test("a status stands in any thread for two minutes", async () => {
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    const place = { channel_id: slack.general.id, thread_ts: said.ts };
    expect(await call("assistant.threads.setStatus", { ...place, status: "is looking" })).toMatchObject({ ok: true });
    slack.clock.advance(119_000);
    expect(slack.assistant.thread(slack.general, said.ts)?.status).toBe("is looking");
    slack.clock.advance(1000);
    expect(slack.assistant.thread(slack.general, said.ts)?.status).toBe("");
    expect(await call("assistant.threads.setStatus", { ...place, thread_ts: "1.000001", status: "x" })).toMatchObject({
      error: "invalid_thread_ts",
    });
  });
});

describe("the session of an agent", () => {
  const place = () => {
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    return { channel_id: slack.general.id, thread_ts: said.ts };
  };

  test("is made with title and initiator, can be renamed, and works for an hour", async () => {
    const at = place();
    const begun = { status: "processing", title: "Deploy: now", initiator_user_id: slack.ann.id };
    expect(await call("agents.sessions.rename", { ...at, title: "x" })).toMatchObject({ error: "session_not_found" });
    expect(await call("agents.sessions.setStatus", { ...at, ...begun })).toMatchObject({ agent_status: "processing" });
    await call("agents.sessions.setStatus", { ...at, status: "processing", title: "Another" });
    expect(slack.sessions.list()).toMatchObject([{ title: "Deploy_ now", initiator: slack.ann.id }]);
    expect(await call("agents.sessions.rename", { ...at, title: "Deploy: later" })).toMatchObject({ ok: true });
    for (const title of ["", "x".repeat(201)])
      expect(await call("agents.sessions.rename", { ...at, title })).toMatchObject({ ok: false });
    expect(await call("agents.sessions.setStatus", { ...at, status: "is thinking" })).toMatchObject({ ok: false });
    await post({ channel: slack.general.id, thread_ts: at.thread_ts });
    expect(slack.sessions.states(slack.general, at.thread_ts)).toEqual(["processing*"]);
    slack.clock.advance(3_600_000);
    expect(slack.sessions.states(slack.general, at.thread_ts)).toEqual(["processing*", "active"]);
  });

  test("is refused for apps that are no agents, and has no stop button without the event", async () => {
    const at = { ...place(), status: "processing" };
    slack.state.agent.events.clear();
    expect(await call("agents.sessions.setStatus", at)).toMatchObject({
      ok: true,
      response_metadata: { warnings: ["missing_agent_session_stopped_event_subscription"] },
    });
    expect(slack.sessions.states(slack.general, at.thread_ts)).toEqual(["processing"]);
    slack.state.agent.isDeclared = false;
    expect(await call("agents.sessions.setStatus", at)).toMatchObject({ error: "feature_disabled" });
  });

  test("follows a stream: it works while the stream runs, and is then what the stop says", async () => {
    const { channel_id: channel, thread_ts } = place();
    const recipient = { recipient_user_id: slack.ann.id, recipient_team_id: slack.state.team.id };
    const at = { channel, thread_ts, ...recipient, markdown_text: "Hi" };
    for (const session_status of [undefined, "suspended"]) {
      const { ts } = await call("chat.startStream", at);
      const long = [{ type: "task_update", id: "1", title: "x", status: "pending", details: "x".repeat(257) }];
      expect(await call("chat.appendStream", { channel, ts, chunks: long })).toMatchObject({ error: "invalid_chunks" });
      await call("chat.stopStream", { channel, ts, ...(session_status === undefined ? {} : { session_status }) });
    }
    expect(await call("chat.startStream", { ...at, thread_ts: undefined })).toMatchObject({ ok: false });
    expect(slack.sessions.states(slack.general, thread_ts)).toEqual([
      ...["processing*", "active", "processing*", "suspended"],
    ]);
  });

  test("metadata whose type has a dot is left away with a warning", async () => {
    const metadata = { event_type: "a.b", event_payload: {} };
    const posted = await post({ channel: slack.general.id, metadata });
    expect(posted).toMatchObject({ ok: true, warning: "invalid_metadata" });
    expect(slack.state.messages.at(-1)?.metadata).toBeUndefined();
  });
});
