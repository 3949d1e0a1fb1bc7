/** What the double refuses, with error names: sizes of texts, blocks, modals and streams. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDirectClient } from "./bolt-app.ts";
import { createStandingClock } from "./clock.ts";
import { createSlackDouble, type SlackDouble } from "./double.ts";
import type { JsonObject } from "./wire.ts";

let slack: SlackDouble;
let call: ReturnType<typeof createDirectClient>["call"];
beforeEach(async () => {
  slack = await createSlackDouble({ clock: createStandingClock() });
  slack.limits.isEnforced = false;
  call = createDirectClient(slack).call;
});
afterEach(() => slack.stop());

const plain = (text: string): JsonObject => ({ type: "plain_text", text });
const mrkdwn = (text: string): JsonObject => ({ type: "mrkdwn", text });
const section = (text: string): JsonObject => ({ type: "section", text: mrkdwn(text) });
const markdown = (text: string): JsonObject => ({ type: "markdown", text });
const button = (more: JsonObject = {}): JsonObject => ({ type: "button", text: plain("Go"), action_id: "go", ...more });
const actions = (...elements: JsonObject[]): JsonObject => ({ type: "actions", elements });
const input = (element: JsonObject = {}): JsonObject => ({
  type: "input",
  label: plain("Arguments"),
  element: { type: "plain_text_input", action_id: "json", ...element },
});

const option = (value: string): JsonObject => ({ text: plain(`option ${value}`), value });
const boxes = (count: number, more: JsonObject = {}, initial?: JsonObject[]): JsonObject => ({
  type: "input",
  label: plain("Files"),
  element: {
    type: "checkboxes",
    action_id: "files",
    options: Array.from({ length: count }, (_, index) => ({ ...option(String(index)), ...more })),
    ...(initial === undefined ? {} : { initial_options: initial }),
  },
});
const rich = (text: string): JsonObject => ({
  type: "rich_text",
  elements: [{ type: "rich_text_preformatted", elements: [{ type: "text", text }] }],
});

function post(args: JsonObject): Promise<JsonObject> {
  return call("chat.postMessage", { channel: slack.general.id, text: "hello", ...args });
}

describe("texts", () => {
  test("a message holds 40,000 characters", async () => {
    expect(await post({ text: "a".repeat(40_000) })).toMatchObject({ ok: true });
    expect(await post({ text: "a".repeat(40_001) })).toMatchObject({ ok: true, message: { text: "a".repeat(40_000) } });
  });

  test("an update holds 4,000 bytes, as Slack stores them", async () => {
    const { ts } = await post({});
    const update = (text: string) => call("chat.update", { channel: slack.general.id, ts, text });
    expect(await update("a".repeat(4000))).toMatchObject({ ok: true });
    for (const text of ["a".repeat(4001), "ä".repeat(2001), "<".repeat(1001)]) {
      expect(await update(text)).toMatchObject({ error: "msg_too_long" });
    }
    expect(await update("&lt;".repeat(1000))).toMatchObject({ ok: true });
  });

  test("a text-only update removes the blocks and keeps the metadata", async () => {
    const metadata = { event_type: "turn", event_payload: { id: "t1" } };
    const { ts } = await post({ blocks: [section("hello")], metadata });
    await call("chat.update", { channel: slack.general.id, ts, text: "bye" });
    expect(slack.see({ in: slack.general })[0]).toMatchObject({ text: "bye", blocks: [], metadata, isEdited: true });
  });

  test("an empty message is refused", async () => {
    expect(await post({ text: "" })).toMatchObject({ error: "no_text" });
    expect(await post({ text: "", blocks: [section("hello")] })).toMatchObject({ ok: true });
  });

  test("markdown_text can't be combined, and holds 12,000 characters", async () => {
    expect(await post({ markdown_text: "**hello**" })).toMatchObject({ error: "markdown_text_conflict" });
    expect(
      await call("chat.postMessage", { channel: slack.general.id, markdown_text: "a".repeat(12_001) }),
    ).toMatchObject({ error: "msg_too_long" });
    await call("chat.postMessage", { channel: slack.general.id, markdown_text: "**hello**" });
    expect(slack.see({ in: slack.general })[0]?.readable).toBe("**hello**");
  });

  test("metadata needs a type and a payload", async () => {
    expect(await post({ metadata: "{" })).toMatchObject({ error: "invalid_metadata_format" });
    expect(await post({ metadata: { event_type: "turn" } })).toMatchObject({ error: "invalid_metadata_schema" });
  });
});

describe("blocks", () => {
  const long = (length: number) => "a".repeat(length);
  test.each<[string, JsonObject[], string]>([
    [
      "a section of 3,001",
      [section(long(3001))],
      "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
    ],
    ["an empty section", [section("")], "must be more than 0 characters [json-pointer:/blocks/0/text/text]"],
    ["a header of 151", [{ type: "header", text: plain(long(151)) }], "/blocks/0/text/text]"],
    ["a header in mrkdwn", [{ type: "header", text: mrkdwn("a") }], "/blocks/0/text/type]"],
    ["eleven context elements", [{ type: "context", elements: Array(11).fill(mrkdwn("a")) }], "no more than 10 items"],
    ["51 blocks", Array(51).fill({ type: "divider" }), "no more than 50 items allowed [json-pointer:/blocks]"],
    [
      "26 buttons",
      [actions(...Array.from({ length: 26 }, (_, n) => button({ action_id: `${n}` })))],
      "no more than 25",
    ],
    ["no buttons", [actions()], "no less than 1 items allowed [json-pointer:/blocks/0/elements]"],
    ["a label of 76", [actions(button({ text: plain(long(76)) }))], "/blocks/0/elements/0/text/text]"],
    ["a value of 2,001", [actions(button({ value: long(2001) }))], "/blocks/0/elements/0/value]"],
    ["an action id of 256", [actions(button({ action_id: long(256) }))], "/blocks/0/elements/0/action_id]"],
    ["an action id twice", [actions(button(), button())], "already exists for another element"],
    ["a block id of 256", [{ type: "divider", block_id: long(256) }], "/blocks/0/block_id]"],
    ["a block id twice", Array(2).fill({ type: "divider", block_id: "a" }), "block_id already exists"],
    [
      "a markdown block of 12,001",
      [markdown(long(12_001))],
      "must be less than 12001 characters [json-pointer:/blocks/0/text]",
    ],
    ["a style of its own", [actions(button({ style: "green" }))], "must be one of: primary, danger"],
    ["an unknown block", [{ type: "balloon" }], "unsupported type: balloon [json-pointer:/blocks/0/type]"],
    ["eleven fields", [{ type: "section", fields: Array(11).fill(mrkdwn("a")) }], "no more than 10 items"],
    ["a field of 2,001", [{ type: "section", fields: [mrkdwn(long(2001))] }], "/blocks/0/fields/0/text]"],
  ])("%s is refused with its place", async (_name, blocks, problem) => {
    const answer = await post({ blocks });
    expect(answer.error).toBe("invalid_blocks");
    expect(JSON.stringify(answer.response_metadata)).toContain(`[ERROR]`);
    expect(JSON.stringify(answer.response_metadata)).toContain(problem);
    expect(slack.see({ in: slack.general })).toEqual([]);
  });

  test("a message exactly at every limit is posted", async () => {
    const full = button({ text: plain(long(75)), value: long(2000), action_id: long(255) });
    const blocks = [
      section(long(3000)),
      { type: "header", text: plain(long(150)) },
      { type: "context", elements: Array(10).fill(mrkdwn("a")) },
      { ...actions(full, ...Array.from({ length: 24 }, (_, n) => button({ action_id: `${n}` }))), block_id: long(255) },
    ];
    expect(await post({ blocks })).toMatchObject({ ok: true });
    expect(await post({ blocks: [markdown(long(12_000))] })).toMatchObject({ ok: true });
    expect(await post({ blocks: Array(50).fill({ type: "divider" }) })).toMatchObject({ ok: true });
  });

  test("all blocks together hold about 13,200 characters, of which markdown 12,000", async () => {
    const sections = (count: number) => Array.from({ length: count }, () => section(long(3000)));
    expect(await post({ blocks: sections(4) })).toMatchObject({ ok: true });
    expect(await post({ blocks: sections(5) })).toMatchObject({ error: "msg_blocks_too_long" });
    expect(await post({ blocks: [markdown(long(6000)), markdown(long(6001))] })).toMatchObject({
      error: "msg_blocks_too_long",
    });
    expect(await post({ blocks: [markdown(long(12_000)), section(long(1200))] })).toMatchObject({
      error: "msg_blocks_too_long",
    });
  });

  test("blocks must be a list", async () => {
    expect(await post({ blocks: "no JSON" })).toMatchObject({ error: "invalid_blocks_format" });
    expect(await post({ blocks: { type: "divider" } })).toMatchObject({ error: "invalid_blocks_format" });
  });
});

describe("views", () => {
  const view = (more: JsonObject = {}): JsonObject => ({
    type: "modal",
    title: plain("Edit"),
    submit: plain("Run"),
    blocks: [input()],
    ...more,
  });

  function open(value: JsonObject): Promise<JsonObject> {
    const { triggerId } = slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora" });
    return call("views.open", { trigger_id: triggerId, view: value });
  }

  test.each<[string, JsonObject, string]>([
    ["a title of 25", { title: plain("a".repeat(25)) }, "/view/title/text]"],
    ["a submit of 25", { submit: plain("a".repeat(25)) }, "/view/submit/text]"],
    ["a close of 25", { close: plain("a".repeat(25)) }, "/view/close/text]"],
    ["private metadata of 3,001", { private_metadata: "a".repeat(3001) }, "/view/private_metadata]"],
    ["a callback id of 256", { callback_id: "a".repeat(256) }, "/view/callback_id]"],
    ["an initial value of 3,001", { blocks: [input({ initial_value: "a".repeat(3001) })] }, "/element/initial_value]"],
    ["a length of 3,001", { blocks: [input({ max_length: 3001 })] }, "/element/max_length]"],
    ["a markdown block", { blocks: [markdown("a")] }, "/view/blocks/0/type]"],
    ["101 blocks", { blocks: Array(101).fill({ type: "divider" }) }, "no more than 100 items"],
    ["no title", { title: null }, "/view/title]"],
    [
      "eleven checkboxes",
      { blocks: [boxes(11)] },
      "no more than 10 items allowed [json-pointer:/view/blocks/0/element",
    ],
    ["an option of 76", { blocks: [boxes(1, { text: plain("a".repeat(76)) })] }, "/element/options/0/text/text]"],
    [
      "a description of 76",
      { blocks: [boxes(1, { description: plain("a".repeat(76)) })] },
      "/element/options/0/description/text]",
    ],
    ["a choice that is no option", { blocks: [boxes(1, {}, [option("x")])] }, "must match one of the options"],
    ["no choice at first", { blocks: [boxes(1, {}, [])] }, "no less than 1 items allowed"],
    ["an empty rich text", { blocks: [rich("")] }, "/view/blocks/0/elements/0/elements/0/text]"],
  ])("%s is refused with its place", async (_name, more, problem) => {
    const answer = await open(view(more));
    expect(answer.error).toBe("invalid_arguments");
    expect(JSON.stringify(answer.response_metadata)).toContain(problem);
  });

  test("a view holds 250 kB", async () => {
    const blocks = (length: number) => Array.from({ length }, () => rich("a".repeat(10_000)));
    expect(await open(view({ blocks: blocks(24) }))).toMatchObject({ ok: true });
    expect(await open(view({ blocks: blocks(25) }))).toMatchObject({ error: "view_too_large" });
    expect(await open(view({ blocks: [rich("ä".repeat(42_000))] }))).toMatchObject({ error: "view_too_large" });
  });

  test("checkboxes submit their initial or changed state, and only existing ones can be ticked", async () => {
    const [first, second] = [option("0"), option("1")];
    await open(view({ blocks: [{ ...boxes(2, {}, [first, second]), block_id: "b" }] }));
    const [opened] = slack.views.stack(slack.ann);
    if (opened === undefined) throw new Error("no view");
    const stateFor = (chosen?: JsonObject[]) => {
      const values = chosen === undefined ? {} : { files: { type: "checkboxes", selected_options: chosen } };
      const { delivery } = slack.interactions.submit({ as: slack.ann, view: opened, values });
      return delivery.payload.view;
    };
    expect(stateFor()).toMatchObject({ state: { values: { b: { files: { selected_options: [first, second] } } } } });
    expect(stateFor([second])).toMatchObject({ state: { values: { b: { files: { selected_options: [second] } } } } });
    expect(() => stateFor([])).toThrow("must be filled in");
    expect(() => stateFor([option("7")])).toThrow("no such option");
  });

  test("an input needs a submit button", async () => {
    const { submit: _submit, ...rest } = view();
    expect(JSON.stringify(await open(rest))).toContain("`submit` is required");
  });

  test("a trigger is valid once, for three seconds, and can't be made up", async () => {
    const { triggerId } = slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora" });
    slack.clock.advance(3000);
    expect(await call("views.open", { trigger_id: triggerId, view: view() })).toMatchObject({ ok: true });
    expect(await call("views.open", { trigger_id: triggerId, view: view() })).toMatchObject({
      error: "exchanged_trigger_id",
    });
    const late = slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora" });
    slack.clock.advance(3001);
    expect(await call("views.open", { trigger_id: late.triggerId, view: view() })).toMatchObject({
      error: "expired_trigger_id",
    });
    expect(await call("views.open", { trigger_id: "1.2.3", view: view() })).toMatchObject({
      error: "invalid_trigger_id",
    });
  });

  test("an update finds its view, and detects a concurrent one", async () => {
    const { view: opened } = (await open(view())) as { view: JsonObject };
    const update = (more: JsonObject) =>
      call("views.update", { view_id: opened.id, view: view(more), hash: opened.hash });
    expect(await update({ title: plain("One") })).toMatchObject({ ok: true });
    expect(await update({ title: plain("Two") })).toMatchObject({ error: "hash_conflict" });
    expect(await call("views.update", { view_id: "V1", view: view() })).toMatchObject({ error: "not_found" });
    expect(slack.views.stack(slack.ann)[0]?.view.title).toMatchObject({ text: "One" });
  });

  test("a home tab is published for a person and replaced", async () => {
    const home = (text: string) => ({ type: "home", blocks: [section(text)] });
    await call("views.publish", { user_id: slack.ann.id, view: home("one") });
    await call("views.publish", { user_id: slack.ann.id, view: home("two") });
    expect(slack.views.home(slack.ann)?.view.blocks).toMatchObject([{ text: { text: "two" } }]);
    expect(slack.views.home(slack.ben)).toBeUndefined();
  });

  test("the double sends nothing that a client would not", async () => {
    await open(view({ blocks: [input({ max_length: 5 })] }));
    const [opened] = slack.views.stack(slack.ann);
    if (opened === undefined) throw new Error("no view");
    expect(() => slack.interactions.submit({ as: slack.ann, view: opened })).toThrow("must be filled in");
    expect(() => slack.interactions.submit({ as: slack.ann, view: opened, values: { json: "123456" } })).toThrow(
      "5 characters at most",
    );
  });
});

describe("streams", () => {
  function start(more: JsonObject = {}): Promise<JsonObject> {
    const { ts } = slack.people.say({ as: slack.ann, in: slack.general, text: "go" });
    return call("chat.startStream", {
      channel: slack.general.id,
      thread_ts: ts,
      recipient_user_id: slack.ann.id,
      recipient_team_id: slack.ann.teamId,
      ...more,
    });
  }
  const append = (ts: unknown, more: JsonObject) =>
    call("chat.appendStream", { channel: slack.general.id, ts, ...more });
  const stop = (ts: unknown, more: JsonObject = {}) =>
    call("chat.stopStream", { channel: slack.general.id, ts, ...more });
  const streamed = () => slack.see({ in: slack.general }).find((message) => message.streaming !== undefined);

  test("a stream grows and ends with blocks and metadata", async () => {
    const { ts } = await start({ markdown_text: "**hello" });
    await append(ts, { markdown_text: " world**" });
    expect(streamed()).toMatchObject({ text: "**hello world**", streaming: "in_progress" });
    const metadata = { event_type: "turn", event_payload: {} };
    await stop(ts, { blocks: [actions(button())], metadata });
    expect(streamed()).toMatchObject({ streaming: "completed", buttons: [{ label: "Go" }], metadata });
    expect(await append(ts, { markdown_text: "more" })).toMatchObject({ error: "message_not_in_streaming_state" });
  });

  test("a stream ends after five minutes, whatever is appended, and can then be updated", async () => {
    const { ts } = await start({ markdown_text: "a" });
    slack.clock.advance(4 * 60_000);
    expect(await append(ts, { markdown_text: "b" })).toMatchObject({ ok: true });
    expect(await call("chat.update", { channel: slack.general.id, ts, text: "x" })).toMatchObject({
      error: "streaming_state_conflict",
    });
    slack.clock.advance(60_000);
    expect(await append(ts, { markdown_text: "c" })).toMatchObject({ error: "message_not_in_streaming_state" });
    expect(await stop(ts)).toMatchObject({ error: "message_not_in_streaming_state" });
    expect(streamed()).toMatchObject({ text: "ab", streaming: "errored" });
    expect(await call("chat.update", { channel: slack.general.id, ts, text: "x" })).toMatchObject({ ok: true });
  });

  test("in a channel, a stream needs a recipient and a thread", async () => {
    expect(await start({ recipient_user_id: null })).toMatchObject({ error: "missing_recipient_user_id" });
    expect(await start({ recipient_team_id: null })).toMatchObject({ error: "missing_recipient_team_id" });
    expect(await start({ recipient_team_id: "T1" })).toMatchObject({ error: "team_not_found" });
    expect(await start({ thread_ts: null })).toMatchObject({ error: "invalid_arguments" });
    expect(await start({ thread_ts: "1.000001" })).toMatchObject({ error: "thread_not_found" });
    const dm = slack.workspace.direct(slack.ann);
    const { ts } = slack.people.say({ as: slack.ann, in: dm, text: "go" });
    expect(await call("chat.startStream", { channel: dm.id, thread_ts: ts })).toMatchObject({ ok: true });
  });

  test("a stream call accepts 12,000 characters, the whole message 12,000 bytes", async () => {
    expect(await start({ markdown_text: "a".repeat(12_001) })).toMatchObject({ error: "msg_too_long" });
    const { ts } = await start({ markdown_text: "a".repeat(11_990) });
    expect(await append(ts, { markdown_text: "ä".repeat(5) })).toMatchObject({ ok: true });
    expect(await append(ts, { markdown_text: "a" })).toMatchObject({ error: "msg_too_long" });
    expect(await stop(ts)).toMatchObject({ ok: true });
  });

  test("chunks carry text and task cards, but not together with markdown_text", async () => {
    const task = { type: "task_update", id: "1", title: "Looking", status: "in_progress" };
    const { ts } = await start({ chunks: [task] });
    await append(ts, {
      chunks: [
        { type: "markdown_text", text: "found" },
        { ...task, status: "complete" },
      ],
    });
    expect(streamed()?.blocks).toMatchObject([{ type: "task_card", status: "complete" }, { text: "found" }]);
    expect(await append(ts, { chunks: [task], markdown_text: "a" })).toMatchObject({ error: "invalid_arguments" });
    expect(await append(ts, { chunks: [{ type: "song" }] })).toMatchObject({ error: "invalid_chunks" });
  });

  test("after a person stops a stream, nothing more is accepted", async () => {
    const { ts } = await start({ markdown_text: "a" });
    const [changed, stopped] = slack.people.stopStream(slack.ann, { ts: String(ts), channel: slack.general });
    expect(changed?.payload.event).toMatchObject({ subtype: "message_changed" });
    expect(stopped?.payload.event).toMatchObject({ type: "agent_session_stopped", streaming_message_ts: [ts] });
    expect(await append(ts, { markdown_text: "b" })).toMatchObject({ error: "stopped_by_user" });
  });
});
