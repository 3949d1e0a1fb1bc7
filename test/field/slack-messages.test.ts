/** What people see of a message in Slack, in the shapes that the world sends, is what the model reads. */
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { markdownOf } from "../../src/platforms/slack/inbound/canvas.ts";
import type { MessageLike } from "../../src/platforms/slack/inbound/shown-markup.ts";
import { createShownReader, type Seen } from "../../src/platforms/slack/inbound/shown-message.ts";
import type { Author, InboundMessage, JsonObject } from "../../src/ports/message.ts";
import { openedText } from "../doubles/opened-file.ts";
import type { Saying } from "../doubles/slack/people.ts";
import { createTestAgent, type TestAgent } from "../platforms/slack/agent.ts";
import { createSlackWorld, type SlackWorld } from "../platforms/slack/world.ts";

type Openness = "open" | "restricted" | "unknown";
const nameOf = async (id: string) => ({ U1: "Ann", U2: "Ben" })[id] ?? id;

function read(message: MessageLike, openness: Openness = "open", seen: Partial<Seen> = {}) {
  const isOpenIn = async (channel: string, here: string) => (channel === here ? "open" : openness);
  return createShownReader({ nameOf, isOpenIn })(message, { channel: "C1", botUserId: "U9", ...seen });
}

const alert = {
  ...{ subtype: "bot_message", bot_id: "B1", username: "Pager", text: "" },
  attachments: [
    {
      ...{
        fallback: "FIRING disk-full",
        pretext: "Look here",
        title: "FIRING: disk-full",
        title_link: "https://x.dev/a",
      },
      ...{ text: "host <https://x.dev/db-7|db-7>", footer: "Prometheus", ts: 1_700_000_000 },
      fields: [
        { title: "runbook", value: "RB-1" },
        { title: "severity", value: "page" },
      ],
      actions: [{ type: "button", text: "Silence", url: "https://x.dev/silence" }],
    },
  ],
};
const forwarded = {
  text: "<@U9> what is in it?",
  attachments: [
    {
      ...{ is_share: true, is_msg_unfurl: true, author_name: "Ben", text: "the export", channel_id: "C2" },
      files: [
        { id: "F1", name: "export.txt", mimetype: "text/plain", size: 3, url_private: "https://files.slack.com/F1" },
      ],
    },
  ],
};
const section = (...elements: object[]) => ({ type: "rich_text_section", elements });
const rich = (...elements: object[]) => ({ type: "rich_text", elements });
const text = (words: string) => ({ type: "text", text: words });
const plain = (words: string) => ({ type: "plain_text", text: words });
const mrkdwn = (words: string) => ({ type: "mrkdwn", text: words });

describe("an alert", () => {
  test("without text is everything that stands in its attachment, each part apart, and its fallback is left out", async () => {
    const { text: shown } = await read(alert);
    expect(shown.split("\n")).toEqual([
      "Look here",
      "FIRING: disk-full https://x.dev/a",
      "host db-7 (https://x.dev/db-7)",
      "runbook: RB-1",
      "severity: page",
      "[button: Silence] https://x.dev/silence",
      "Prometheus · 2023-11-14 22:13 UTC",
    ]);
  });

  test("with a fallback alone is its fallback", async () => {
    expect((await read({ bot_id: "B1", text: "", attachments: [{ fallback: "disk full on db-7" }] })).text).toBe(
      "disk full on db-7",
    );
  });

  test("that says the same in its text and in blocks says it once", async () => {
    const blocks = [{ type: "section", text: mrkdwn("*Disk full* on db-7") }, { type: "divider" }];
    expect((await read({ bot_id: "B1", text: "Disk full on db-7", blocks })).text).toBe("*Disk full* on db-7\n---");
    const more = { bot_id: "B1", text: "Disk full, call Ann", blocks };
    expect((await read(more)).text).toBe("Disk full, call Ann\n\n*Disk full* on db-7\n---");
  });
});

describe("blocks", () => {
  test.each<[string, object, string]>([
    [
      "a section",
      { type: "section", text: mrkdwn("Hello"), fields: [plain("one & two"), mrkdwn("*three*")] },
      "Hello\none & two\n*three*",
    ],
    [
      "an accessory",
      {
        type: "section",
        text: plain("Deploy"),
        accessory: { type: "button", text: plain("Go"), url: "https://x.dev" },
      },
      "Deploy\n[button: Go] https://x.dev",
    ],
    ["a header", { type: "header", text: plain("a < b") }, "a < b"],
    [
      "a context",
      {
        type: "context",
        elements: [{ type: "image", alt_text: "a cat", image_url: "https://x.dev/c.png" }, mrkdwn("by <@U2>")],
      },
      "[image: a cat] https://x.dev/c.png · by @Ben (U2)",
    ],
    [
      "an image",
      { type: "image", title: plain("Graph"), alt_text: "load rises", image_url: "https://x.dev/g.png" },
      "[image: Graph, load rises] https://x.dev/g.png",
    ],
    [
      "a video",
      {
        type: "video",
        title: plain("Tour"),
        title_url: "https://x.dev/t",
        description: plain("Of the site"),
        alt_text: "x",
      },
      "[video: Tour] https://x.dev/t\nOf the site",
    ],
    ["a file", { type: "file", external_id: "plan-1", source: "remote" }, "[file: plan-1]"],
    [
      "an input",
      {
        type: "input",
        label: plain("Why?"),
        hint: plain("In short"),
        element: { type: "plain_text_input", initial_value: "because" },
      },
      "Why?\nIn short\n[plain text input: chosen: because]",
    ],
    [
      "actions",
      {
        type: "actions",
        elements: [
          { type: "button", text: plain("Yes") },
          {
            type: "static_select",
            placeholder: plain("Pick"),
            options: [{ text: plain("Tea") }, { text: plain("Juice") }],
          },
        ],
      },
      "[button: Yes] [static select: Pick: Tea, Juice]",
    ],
    ["markdown", { type: "markdown", text: "**Hi** <b> &amp; `a<b`" }, "**Hi** <b> & `a<b`"],
    [
      "a table",
      {
        type: "table",
        rows: [
          [
            { type: "raw_text", text: "host" },
            { type: "raw_text", text: "load" },
          ],
          [
            rich(section({ type: "link", url: "https://x.dev", text: "db" })),
            { type: "raw_number", value: 7, text: "7 %" },
          ],
        ],
      },
      "| host | load |\n| db (https://x.dev) | 7 % |",
    ],
    [
      "a data table",
      {
        type: "data_table",
        caption: "Loads",
        rows: [
          [
            { type: "raw_text", text: "db" },
            { type: "raw_number", value: 7 },
          ],
        ],
      },
      "Loads\n| db | 7 |",
    ],
    [
      "a chart",
      {
        type: "data_visualization",
        title: "Load",
        chart: {
          type: "bar",
          series: [
            {
              name: "db",
              data: [
                { label: "Mon", value: 3 },
                { label: "Tue", value: 9 },
              ],
            },
          ],
        },
      },
      "Load\n[bar chart]\ndb: Mon: 3, Tue: 9",
    ],
    ["an alert block", { type: "alert", level: "error", text: mrkdwn("No space") }, "error: No space"],
    [
      "a carousel",
      {
        type: "carousel",
        elements: [
          {
            type: "card",
            title: mrkdwn("A"),
            body: mrkdwn("first"),
            actions: [{ type: "button", text: plain("Open") }],
          },
          { type: "card", title: mrkdwn("B") },
        ],
      },
      "A\nfirst\n[button: Open]\nB",
    ],
    [
      "a container",
      { type: "container", title: plain("Box"), child_blocks: [{ type: "header", text: plain("in it") }] },
      "Box\nin it",
    ],
    [
      "a plan",
      {
        type: "plan",
        title: "Trip",
        tasks: [
          {
            type: "task_card",
            title: "Book",
            status: "in_progress",
            details: rich(section(text("by train"))),
            sources: [{ type: "url", url: "https://x.dev", text: "Fares" }],
          },
        ],
      },
      "Trip\nBook: in progress\nby train\nFares (https://x.dev)",
    ],
    [
      "a call",
      { type: "call", call_id: "R1", call: { v1: { name: "Standup", join_url: "https://x.dev/j" } } },
      "[call: Standup] https://x.dev/j",
    ],
    ["an unknown block", { type: "hologram", body: { parts: [plain("in 3D")] } }, "[a block of type hologram]\nin 3D"],
  ])("%s is read as a person sees it", async (_name, block, expected) => {
    expect((await read({ bot_id: "B1", text: "", blocks: [block] })).text).toBe(expected);
  });

  test("rich text keeps list items, quotes and code apart, and mentions and links have their targets", async () => {
    const elements = [
      section(text("Buy "), { type: "link", url: "https://x.dev/a?b=1&c=2", text: "these" }, text(":")),
      { type: "rich_text_list", style: "bullet", elements: [section(text("milk")), section(text("eggs"))] },
      { type: "rich_text_list", style: "ordered", indent: 1, offset: 2, elements: [section(text("brown"))] },
      { type: "rich_text_quote", elements: [text("soon")] },
      { type: "rich_text_preformatted", elements: [text("a < b")] },
      section(
        { type: "user", user_id: "U2" },
        text(" "),
        { type: "channel", channel_id: "C5" },
        text(" "),
        { type: "usergroup", usergroup_id: "S1" },
        text(" "),
        { type: "broadcast", range: "here" },
        text(" "),
        { type: "emoji", name: "tada" },
        { type: "date", timestamp: 1_700_000_000, format: "{date}", fallback: "14 Nov" },
        { type: "color", value: "#ff0000" },
        { type: "team", team_id: "T1" },
        { type: "smell", text: "roses" },
      ),
    ];
    expect((await read({ blocks: [rich(...elements)], text: "" })).text.split("\n")).toEqual([
      "Buy these (https://x.dev/a?b=1&c=2):",
      "• milk",
      "• eggs",
      "    3. brown",
      "> soon",
      "```",
      "a < b",
      "```",
      "@Ben (U2) #C5 @S1 @here :tada:14 Nov#ff0000[workspace T1][an element of type smell] roses",
    ]);
  });
});

describe("a forward", () => {
  test("has its words and its file, which are not the author's own", async () => {
    const shown = await read(forwarded);
    expect(shown.own).toBe("what is in it?");
    expect(shown.quotes).toEqual([{ kind: "quoted message", text: "Ben wrote:\nthe export" }]);
    expect(shown.files).toMatchObject([{ id: "F1", name: "export.txt", from: "Ben", bytes: 3 }]);
  });

  test("of a forward has both, with the files of both", async () => {
    const inner = {
      is_share: true,
      author_name: "Cara",
      text: "the first words",
      files: [{ id: "F2", name: "deep.txt" }],
    };
    const message = { blocks: [rich(section(text("see below")))], attachments: [inner] };
    const outer = {
      is_share: true,
      author_name: "Ben",
      text: null,
      message_blocks: [{ channel: "C1", ts: "1.2", message }],
    };
    const shown = await read({ text: "and this?", attachments: [outer] });
    expect(shown.quotes[0]?.text).toBe("Ben wrote:\nsee below\n> Cara wrote:\n> the first words");
    expect(shown.files.map(({ name }) => name)).toEqual(["deep.txt"]);
  });

  test("beside one whose text is null is not lost", async () => {
    const attachments = [{ is_share: true, text: null, author_name: null }, ...forwarded.attachments];
    expect((await read({ ...forwarded, attachments })).text).toContain("the export");
  });

  test("from a conversation that not everybody here can read has its words, which people see, and its file only by name", async () => {
    const { text: shown, files } = await read(forwarded, "restricted");
    expect(shown).toContain("the export");
    expect(files).toMatchObject([
      { name: "export.txt", problem: expect.stringContaining("not everybody here can read") },
    ]);
    expect(files[0]).not.toHaveProperty("url");
  });

  test.each<Openness>(["restricted", "unknown"])(
    "that Slack made of a link to a message elsewhere is left out if that place is %s",
    async (openness) => {
      const [share] = forwarded.attachments;
      const attachments = [{ ...share, is_share: false, from_url: "https://t.slack.com/archives/C2/p1" }];
      const { text: shown } = await read({ text: "see", attachments }, openness);
      expect(shown).not.toContain("the export");
      expect(shown).toContain("https://t.slack.com/archives/C2/p1");
      expect((await read({ text: "see", attachments })).text).toContain("the export");
    },
  );
});

test("files that can't be opened are named with the reason", async () => {
  const files = [
    { id: "F1", name: "gone.txt", mode: "tombstone" },
    { id: "F2", name: "old.txt", mode: "hidden_by_limit" },
    { id: "F3", title: "Doc", is_external: true, external_type: "gdrive" },
    { name: 5 },
    "a file",
    null,
  ];
  const shown = await read({ text: "", files });
  expect(shown.files.map(({ name, problem }) => [name, typeof problem])).toEqual([
    ["gone.txt", "string"],
    ["old.txt", "string"],
    ["Doc", "string"],
    ["5", "string"],
    ["a file", "string"],
  ]);
});

test("a canvas is read with its headings, lists, tables and links, and without its scripts", () => {
  const html = `<!DOCTYPE html><head><title>x</title></head><body><script>no()</script><h1>Plan &amp; goals</h1><p>See <a href="https://x.dev">the page</a>.</p>
    <ul><li class="checked">first</li><li>second<ul><li>inner</li></ul></li></ul><table><tr><td>a</td><td>b</td></tr></table><p>end</body>`;
  const lines = markdownOf(html)
    .split("\n")
    .filter((line) => line.trim() !== "");
  expect(lines.map((line) => line.trimEnd())).toEqual([
    ...["# Plan & goals", "See the page (https://x.dev).", "- [x] first", "- second", "  - inner", "| a | b", "end"],
  ]);
});

function nested(depth: number): object {
  return depth === 0
    ? section(text("the innermost"))
    : {
        type: "container",
        title: plain(`level ${depth}`),
        child_blocks: [depth === 1 ? rich(nested(0)) : nested(depth - 1)],
      };
}

/** Good messages; a mutation puts a bad value somewhere in them, or takes something away. */
const good: MessageLike[] = [
  ...[alert, forwarded],
  { text: "hi", blocks: [nested(3), { type: "actions", elements: [{ type: "button", text: plain("Go") }] }] },
  {
    text: "t",
    blocks: [
      { type: "table", rows: [[{ type: "raw_text", text: "a" }, rich(section(text("b")))]] },
      { type: "plan", title: "p", tasks: [{ type: "task_card", title: "t" }] },
    ],
  },
  {
    text: "t",
    blocks: [
      rich({
        type: "rich_text_list",
        style: "ordered",
        elements: [section({ type: "user", user_id: "U1" }, { type: "emoji", unicode: "1f600" })],
      }),
    ],
  },
  {
    text: "f",
    files: [
      { id: "F1", name: "a", mode: "quip", title: "Plan", size: 3 },
      { id: "F2", file_access: "check_file_info" },
    ],
  },
];
const bad = [
  null,
  undefined,
  7,
  true,
  "",
  "words",
  [],
  {},
  [null],
  { type: "x" },
  { text: { text: {} } },
  "<@U1",
  "<>|",
  [[["a"]]],
];

function mutated(value: unknown, picks: readonly number[], replacement: unknown): unknown {
  const [pick = 0, ...rest] = picks;
  if (typeof value !== "object" || value === null || rest.length === 0) return replacement;
  const keys = Object.keys(value);
  const key = keys[pick % Math.max(1, keys.length)];
  if (key === undefined) return replacement;
  const inner = mutated((value as JsonObject)[key], rest, replacement);
  return Array.isArray(value)
    ? value.map((each, at) => (String(at) === key ? inner : each))
    : { ...value, [key]: inner };
}

describe("bad input", () => {
  test("200 attachments, 20 levels, and 40,000 characters in one field are read to the end", async () => {
    const attachments = Array.from({ length: 200 }, (_, index) => ({ title: `alert ${index}`, text: `host ${index}` }));
    const many = await read({ bot_id: "B1", text: "", attachments });
    for (const index of [0, 100, 199]) expect(many.text).toContain(`alert ${index}\nhost ${index}`);
    expect((await read({ text: "", blocks: [nested(20)] })).text).toContain("level 1\nthe innermost");
    expect((await read({ text: "", blocks: [nested(5_000)] })).text).toContain("nested too deeply");
    expect(
      (await read({ text: "", blocks: [{ type: "section", text: mrkdwn("x".repeat(40_000)) }] })).text,
    ).toHaveLength(40_000);
  });

  test("40,000 blanks, bars or brackets cost no time", async () => {
    for (const word of [" ", "|", "<", "<@", "\n", "*"]) {
      const long = word.repeat(40_000);
      const elements = [
        section({ type: "text", text: `a${long}b`, style: { bold: true } }, { type: "link", url: long, text: long }),
      ];
      const table = { type: "table", rows: [[{ type: "raw_text", text: long }, mrkdwn(long)]] };
      const button = { type: "button", text: plain(`${long}b`) };
      const blocks = [rich(...elements), table, { type: "actions", elements: [button] }];
      expect((await read({ text: long, blocks, attachments: [{ text: long, title: long }] })).text).toContain(
        "[button",
      );
    }
  });

  test("messages with anything anywhere are read, and nobody reads what machines say of them", async () => {
    const mutation = fc.record({
      message: fc.constantFrom(...good),
      changes: fc.array(
        fc.record({
          picks: fc.array(fc.nat(20), { minLength: 1, maxLength: 9 }),
          value: fc.oneof(fc.constantFrom(...bad), fc.jsonValue() as fc.Arbitrary<unknown>),
        }),
        { minLength: 1, maxLength: 4 },
      ),
    });
    const holds = async ({ message, changes }: typeof mutation extends fc.Arbitrary<infer T> ? T : never) => {
      const broken = changes.reduce((now: unknown, { picks, value }) => mutated(now, picks, value), message);
      const { text: shown, files } = await read(
        (typeof broken === "object" && broken !== null ? broken : {}) as MessageLike,
      );
      const said = `${shown}${files.map(({ name, problem }) => `${name}${problem}`.replace(/undefined$/, "")).join()}`;
      const strange = JSON.stringify(changes);
      for (const word of ["[object Object]", "undefined", "NaN"])
        if (!strange.includes(word)) expect(said).not.toContain(word);
    };
    await fc.assert(fc.asyncProperty(mutation, holds), { numRuns: 4_000 });
  });
});

describe("through the listener", () => {
  let world: SlackWorld;
  let agent: TestAgent;
  afterEach(() => world.close());

  async function begin(allowed = ""): Promise<void> {
    world = await createSlackWorld({ changes: { isAllowedBot: (id) => id === allowed || allowed === "*" } });
    agent = createTestAgent();
    await world.platform.connect(agent.handlers, new AbortController().signal);
  }

  async function say(saying: Partial<Saying>): Promise<InboundMessage> {
    const said = world.slack.people.say({
      as: world.slack.ann,
      in: world.slack.general,
      text: "@Remora see",
      ...saying,
    });
    await said.acknowledged();
    return agent.kept.findLast((each) => each.isAddressed) as InboundMessage;
  }

  test("hundreds of messages with anything anywhere are acknowledged, and the next good one is heard", async () => {
    await begin("*");
    const { slack } = world;
    const anything = fc.oneof(fc.constantFrom(...bad), fc.jsonValue() as fc.Arbitrary<unknown>);
    const change = fc.record({ picks: fc.array(fc.nat(20), { minLength: 1, maxLength: 9 }), value: anything });
    const changes = fc.sample(fc.array(change, { minLength: 1, maxLength: 3 }), { numRuns: 300, seed: 7 });
    const sent = changes.flatMap((some, index) => {
      const { text: words = "", ...rest } = good[index % good.length] as JsonObject;
      const said = { type: "message", user: slack.ann.id, ts: slack.state.ts(), thread_ts: null, edited: null };
      const event = { ...said, text: `<@${slack.workspace.app.id}> ${words}`, ...rest };
      const broken = some.reduce((now: unknown, { picks, value }) => mutated(now, picks, value), event);
      const fields = { ...(broken as JsonObject), type: index % 2 === 0 ? "message" : "app_mention" };
      return slack.events.send({ ...fields, channel: slack.general.id, channel_type: "channel" } as never);
    });
    await Promise.all(sent.map((delivery) => delivery.acknowledged()));
    expect(sent.length).toBe(300);
    expect(JSON.stringify(agent.kept)).not.toContain("[object Object]");
    expect((await say({ text: "@Remora still there?" })).text).toBe("still there?");
  });

  test("an alert is read as the first message of a thread, in the history, in an edit, and from an allowed app", async () => {
    await begin("*");
    const { slack, platform } = world;
    const bot = slack.workspace.addBot("Pager");
    const { attachments } = alert;
    const root = slack.people.say({ as: bot, in: slack.general, markup: "", isWebhook: true, attachments });
    await root.acknowledged();
    expect(agent.kept.at(-1)?.text).toContain("runbook: RB-1");
    const message = await say({ thread: root, text: "@Remora what is it?" });
    const wanted = { said: "", maxMessages: 5, channelMessages: 5, channelMs: 60_000 };
    const earlier = await platform.earlier?.(message, wanted, new AbortController().signal);
    expect(earlier?.lines[0]).toMatchObject({ kind: "root", text: expect.stringContaining("runbook: RB-1") });
    const place = { conversationId: message.conversationId, requester: message.author };
    const [first] = (await platform.chat?.history(place, { limit: 5 })) ?? [];
    expect(first).toMatchObject({ author: { name: "Pager" }, text: expect.stringContaining("host db-7") });
    const reply = await say({ as: bot, thread: root, markup: "", isWebhook: true, attachments });
    expect(reply.text).toContain("FIRING: disk-full");
  });

  test("the file of a forwarded message is opened, and one of a private channel is not opened in public", async () => {
    await begin();
    const { slack, platform } = world;
    const secret = slack.workspace.addChannel({ name: "secret", members: [slack.ann], isPrivate: true });
    const forwardOf = (from: typeof secret) => {
      const said = slack.people.say({
        as: slack.ann,
        in: from,
        text: "the export",
        files: [{ name: "export.txt", content: "a,b" }],
      });
      return slack.people.forwardOf(said);
    };
    const open = await say({ attachments: [forwardOf(slack.general)] });
    expect(await openedText(platform, open.attachments[0])).toBe("a,b");
    expect(open.attachments[1]?.text).toContain("the export");
    const closed = await say({ attachments: [forwardOf(secret)] });
    expect(closed.attachments[0]).toMatchObject({
      name: "export.txt",
      problem: expect.stringContaining("not everybody"),
    });
    expect(closed.attachments[0]).not.toHaveProperty("source");
    const alone = await say({ in: slack.workspace.direct(slack.ann), attachments: [forwardOf(secret)] });
    expect(await openedText(platform, alone.attachments[0])).toBe("a,b");
    const requester: Author = open.author;
    const found = await platform.chat?.files?.({ conversationId: open.conversationId, requester }, open.id);
    expect(found).toMatchObject([{ name: "export.txt", source: { id: expect.any(String) } }]);
  });

  test("a canvas is opened as its text, and a sign-in page in its place is a refusal", async () => {
    await begin();
    const { slack, platform } = world;
    const canvas = { name: "Plan", content: "<html><body><h1>Plan</h1><p>Ship it.</p></body></html>", isCanvas: true };
    const message = await say({ files: [canvas] });
    expect(message.attachments[0]).toMatchObject({ name: "Plan.md", mimeType: "text/markdown" });
    expect(await openedText(platform, message.attachments[0])).toBe("# Plan\n\nShip it.\n");
    const token = slack.tokens.get(slack.botToken);
    if (token !== undefined) token.scopes = token.scopes.filter((scope) => scope !== "files:read");
    expect(await openedText(platform, message.attachments[0])).toContain("files:read");
  });
});
