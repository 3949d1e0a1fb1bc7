/** What Discord refuses, in its own words: each limit at its edge, and the tree of errors that names the field. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runs } from "../../faults/share.ts";
import { type ApiAnswer, call } from "./client.ts";
import { createDiscordDouble, type DiscordDouble } from "./double.ts";

let discord: DiscordDouble;
let messages: string;

beforeAll(async () => {
  discord = await createDiscordDouble({ limits: "none" });
  messages = `/channels/${discord.channel.id}/messages`;
});

afterAll(() => discord.stop());

const x = (length: number) => "x".repeat(length);
const field = (name: number, value: number) => ({ name: x(name), value: x(value) });
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const button = (more: object = {}) => ({ type: 2, style: 1, label: "b", custom_id: `b${Math.random()}`, ...more });
const row = (...components: object[]) => ({ type: 1, components });

/** The errors of a form as `path code`. */
function problems(answer: ApiAnswer): string[] {
  const walk = (node: unknown, path: string): string[] =>
    Object.entries(node ?? {}).flatMap(([key, value]) =>
      key === "_errors"
        ? value.map((one: { code: string }) => `${path} ${one.code}`)
        : walk(value, path === "" ? key : `${path}.${key}`),
    );
  expect(answer).toMatchObject({ status: 400, body: { code: 50035, message: "Invalid Form Body" } });
  return walk(answer.body.errors, "");
}

describe("a message at its limits is accepted", () => {
  test.each<[string, object]>([
    ["2,000 characters", { content: x(2000) }],
    ["10 embeds", { embeds: times(10, () => ({ title: "t" })) }],
    ["a title of 256", { embeds: [{ title: x(256) }] }],
    ["a description of 4,096", { embeds: [{ description: x(4096) }] }],
    [
      "25 fields of 256 and 1,024 at most",
      { embeds: [{ fields: [field(256, 1024), ...times(24, () => field(1, 1))] }] },
    ],
    ["a footer of 2,048", { embeds: [{ description: "d", footer: { text: x(2048) } }] }],
    ["6,000 characters in all embeds", { embeds: [{ description: x(4096) }, { description: x(1904) }] }],
    ["5 rows of 5 buttons", { content: "c", components: times(5, () => row(...times(5, () => button()))) }],
    [
      "a label of 80 and an id of 100",
      { content: "c", components: [row(button({ label: x(80), custom_id: x(100) }))] },
    ],
    ["a nonce of 25", { content: "c", nonce: x(25) }],
    ["components without a text", { components: [row(button())] }],
    ["a link", { content: "c", components: [row({ type: 2, style: 5, label: "l", url: "https://a.example" })] }],
  ])("%s", async (_, body) => {
    expect((await call(discord, "POST", messages, body)).status).toBe(200);
  });
});

describe("a message beyond its limits is refused with the faulty field", () => {
  test.each<[string, object, string[]]>([
    ["2,001 characters", { content: x(2001) }, ["content BASE_TYPE_MAX_LENGTH"]],
    ["11 embeds", { embeds: times(11, () => ({ title: "t" })) }, ["embeds BASE_TYPE_MAX_LENGTH"]],
    ["a long title", { embeds: [{ title: x(257) }] }, ["embeds.0.title BASE_TYPE_MAX_LENGTH"]],
    ["a long description", { embeds: [{ description: x(4097) }] }, ["embeds.0.description BASE_TYPE_MAX_LENGTH"]],
    ["26 fields", { embeds: [{ fields: times(26, () => field(1, 1)) }] }, ["embeds.0.fields BASE_TYPE_MAX_LENGTH"]],
    ["a long field name", { embeds: [{ fields: [field(257, 1)] }] }, ["embeds.0.fields.0.name BASE_TYPE_BAD_LENGTH"]],
    [
      "a long field value",
      { embeds: [{ fields: [field(1, 1025)] }] },
      ["embeds.0.fields.0.value BASE_TYPE_BAD_LENGTH"],
    ],
    ["an empty field value", { embeds: [{ fields: [field(1, 0)] }] }, ["embeds.0.fields.0.value BASE_TYPE_REQUIRED"]],
    ["a long footer", { embeds: [{ footer: { text: x(2049) } }] }, ["embeds.0.footer.text BASE_TYPE_MAX_LENGTH"]],
    [
      "6,001 characters",
      { embeds: [{ description: x(4096) }, { description: x(1905) }] },
      ["embeds MAX_EMBED_SIZE_EXCEEDED"],
    ],
    ["a colour that is none", { embeds: [{ title: "t", color: 0x1000000 }] }, ["embeds.0.color NUMBER_TYPE_MAX"]],
    ["6 rows", { components: times(6, () => row(button())) }, ["components BASE_TYPE_BAD_LENGTH"]],
    [
      "6 buttons in a row",
      { components: [row(...times(6, () => button()))] },
      ["components.0.components BASE_TYPE_BAD_LENGTH"],
    ],
    ["an empty row", { components: [row()] }, ["components.0.components BASE_TYPE_BAD_LENGTH"]],
    [
      "a long label",
      { components: [row(button({ label: x(81) }))] },
      ["components.0.components.0.label BASE_TYPE_MAX_LENGTH"],
    ],
    [
      "a long id",
      { components: [row(button({ custom_id: x(101) }))] },
      ["components.0.components.0.custom_id BASE_TYPE_BAD_LENGTH"],
    ],
    [
      "an id that stands twice",
      { components: [row(button({ custom_id: "a" })), row(button({ custom_id: "a" }))] },
      ["components.1.components.0.custom_id COMPONENT_CUSTOM_ID_DUPLICATED"],
    ],
    [
      "a button outside a row",
      { components: [button()] },
      ["components.0.type BASE_TYPE_CHOICES", "components.0.components BASE_TYPE_BAD_LENGTH"],
    ],
    [
      "a script as a link",
      { components: [row({ type: 2, style: 5, label: "l", url: "javascript:x" })] },
      ["components.0.components.0.url URL_TYPE_INVALID_SCHEME"],
    ],
    [
      "a link of more than 512 characters",
      { components: [row({ type: 2, style: 5, label: "l", url: `https://a.example/${x(495)}` })] },
      ["components.0.components.0.url BASE_TYPE_MAX_LENGTH"],
    ],
    ["a long nonce", { content: "c", nonce: x(26) }, ["nonce BASE_TYPE_MAX_LENGTH"]],
    ["text that is an object", { content: { a: 1 } }, ["content STRING_TYPE_CONVERT"]],
    [
      "mentions that contradict themselves",
      { content: "c", allowed_mentions: { parse: ["users"], users: ["1".repeat(18)] } },
      ["allowed_mentions MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE"],
    ],
    [
      "mentions of unknown kinds",
      { content: "c", allowed_mentions: { parse: ["cats"] } },
      ["allowed_mentions.parse.0 BASE_TYPE_CHOICES"],
    ],
    [
      "a reply to nothing",
      { content: "c", message_reference: { message_id: "1".repeat(18) } },
      ["message_reference MESSAGE_REFERENCE_UNKNOWN_MESSAGE"],
    ],
    [
      "two mistakes at once",
      { content: x(2001), nonce: x(26) },
      ["content BASE_TYPE_MAX_LENGTH", "nonce BASE_TYPE_MAX_LENGTH"],
    ],
  ])("%s", async (_, body, expected) => {
    const before = discord.channel.messages().length;
    expect(problems(await call(discord, "POST", messages, { content: "c", ...body }))).toEqual(expected);
    expect(discord.channel.messages()).toHaveLength(before);
  });
});

test("an application has 100 slash commands and 15 commands for messages at most", async () => {
  const register = (type: number, count: number) => {
    const commands = times(count, (index) => ({
      type,
      name: `c${index}`,
      ...(type === 1 ? { description: "d" } : {}),
    }));
    return call(discord, "PUT", `/applications/${discord.bot.id}/commands`, commands);
  };
  for (const [type, most] of [
    [1, 100],
    [3, 15],
  ] as const) {
    expect((await register(type, most)).status).toBe(200);
    expect(problems(await register(type, most + 1))).toEqual([" APPLICATION_COMMANDS_TOO_MANY"]);
  }
});

test("refusals have Discord's texts", async () => {
  expect((await call(discord, "POST", messages, { content: x(2001) })).body).toEqual({
    code: 50035,
    message: "Invalid Form Body",
    errors: { content: { _errors: [{ code: "BASE_TYPE_MAX_LENGTH", message: "Must be 2000 or fewer in length." }] } },
  });
});

test("an empty message is refused, even by an edit", async () => {
  for (const body of [{}, { content: "  \n" }, { embeds: [{}] }]) {
    expect((await call(discord, "POST", messages, body)).body.code).toBe(50006);
  }
  const sent = await call(discord, "POST", messages, { content: "c" });
  expect((await call(discord, "PATCH", `${messages}/${sent.body.id}`, { content: "" })).body.code).toBe(50006);
});

test("a file can have 10 MiB, a request 25 MiB, and a message ten files", async () => {
  const form = (sizes: number[]) => {
    const data = new FormData();
    for (const [index, size] of sizes.entries())
      data.append(`files[${index}]`, new Blob([Buffer.alloc(size)]), `${index}.bin`);
    return data;
  };
  const mebibyte = 1024 * 1024;
  expect((await call(discord, "POST", messages, form([10 * mebibyte]))).status).toBe(200);
  expect(await call(discord, "POST", messages, form([10 * mebibyte + 1]))).toMatchObject({
    status: 413,
    body: { code: 40005 },
  });
  expect((await call(discord, "POST", messages, form([9, 9, 9].map((size) => size * mebibyte)))).status).toBe(413);
  expect((await call(discord, "POST", messages, form(times(10, () => 1)))).status).toBe(200);
  expect(problems(await call(discord, "POST", messages, form(times(11, () => 1))))).toEqual([
    "attachments BASE_TYPE_MAX_LENGTH",
  ]);
});

test("each kind of missing thing has its own code", async () => {
  const nowhere = "1".repeat(18);
  const codes = async (method: string, path: string, body?: object) => {
    const answer = await call(discord, method, path, body);
    return [answer.status, answer.body.code];
  };
  expect(await codes("GET", `/channels/${nowhere}`)).toEqual([404, 10003]);
  expect(await codes("GET", `/guilds/${nowhere}`)).toEqual([404, 10004]);
  expect(await codes("GET", `${messages}/${nowhere}`)).toEqual([404, 10008]);
  expect(await codes("GET", `/users/${nowhere}`)).toEqual([404, 10013]);
  expect(await codes("GET", `/guilds/${discord.guild.id}/members/${nowhere}`)).toEqual([404, 10013]);
  expect(await codes("POST", "/users/@me/channels", { recipient_id: nowhere })).toEqual([400, 50033]);
  expect(await codes("POST", `/interactions/${nowhere}/token/callback`, { type: 4 })).toEqual([404, 10062]);
  expect(await codes("POST", `/webhooks/${discord.bot.id}/token`, { content: "c" })).toEqual([401, 50027]);
  expect(await codes("GET", "/channels/general")).toEqual([400, 50035]);
  expect(await codes("GET", "/no/such/route")).toEqual([404, 0]);
  expect(await codes("DELETE", "/gateway/bot")).toEqual([405, 0]);
});

test("a body that is not JSON is refused", async () => {
  const headers = { authorization: `Bot ${discord.token}`, "content-type": "application/json" };
  const answer = await fetch(`${discord.apiUrl}/v10${messages}`, { method: "POST", headers, body: "{" });
  expect(await answer.json()).toMatchObject({ code: 50109 });
});

test("a thread's name has 1 to 100 characters", async () => {
  const threads = `/channels/${discord.channel.id}/threads`;
  expect((await call(discord, "POST", threads, { name: x(100), type: 11 })).status).toBe(201);
  expect(problems(await call(discord, "POST", threads, { name: x(101), type: 11 }))).toEqual([
    "name BASE_TYPE_BAD_LENGTH",
  ]);
  expect(problems(await call(discord, "POST", threads, { name: "", type: 11 }))).toEqual(["name BASE_TYPE_REQUIRED"]);
  const odd = { name: "n", type: 11, auto_archive_duration: 30 };
  expect(problems(await call(discord, "POST", threads, odd))).toEqual(["auto_archive_duration BASE_TYPE_CHOICES"]);
});

describe("commands beyond their limits are refused", () => {
  const command = (more: object) => ({ name: "remora", description: "d", ...more });
  const option = (more: object) => ({ type: 3, name: "o", description: "d", ...more });
  test.each<[string, object[], string[]]>([
    ["a name with capitals", [command({ name: "Remora" })], ["0.name APPLICATION_COMMAND_INVALID_NAME"]],
    ["a name of 33", [command({ name: x(33) })], ["0.name BASE_TYPE_BAD_LENGTH"]],
    ["no description", [command({ description: "" })], ["0.description BASE_TYPE_REQUIRED"]],
    ["a description of 101", [command({ description: x(101) })], ["0.description BASE_TYPE_BAD_LENGTH"]],
    [
      "26 options",
      [command({ options: times(26, (i) => option({ name: `o${i}` })) })],
      ["0.options BASE_TYPE_MAX_LENGTH"],
    ],
    [
      "an option that must come first",
      [command({ options: [option({ name: "a" }), option({ name: "b", required: true })] })],
      ["0.options.1 APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID"],
    ],
    [
      "subcommands beside options",
      [command({ options: [option({}), option({ type: 1, name: "s" })] })],
      ["0.options APPLICATION_COMMAND_OPTIONS_TYPE_INVALID"],
    ],
    [
      "26 choices",
      [command({ options: [option({ choices: times(26, (i) => ({ name: `c${i}`, value: "v" })) })] })],
      ["0.options.0.choices BASE_TYPE_MAX_LENGTH"],
    ],
    ["one name twice", [command({}), command({})], ["1.name APPLICATION_COMMANDS_DUPLICATE_NAME"]],
  ])("%s", async (_, body, expected) => {
    expect(problems(await call(discord, "PUT", `/applications/${discord.bot.id}/commands`, body))).toEqual(expected);
  });
});

test("messages with only components have their own limits", async () => {
  const layout = (components: object[], more: object = {}) =>
    call(discord, "POST", messages, { flags: 1 << 15, components, ...more });
  const say = (content: string) => ({ type: 10, content });
  const section = () => ({ type: 9, components: [say("s")], accessory: button() });
  const sent = await layout([
    { type: 17, accent_color: 255, components: [say("t"), section(), { type: 14 }, row(button())] },
  ]);
  expect(sent.status).toBe(200);
  expect(discord.message({ id: sent.body.id, channelId: discord.channel.id })?.buttons).toHaveLength(2);
  expect(problems(await layout([say("t")], { content: "c" }))).toEqual([
    "content MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
  ]);
  expect(problems(await layout([say(x(4000)), say("x")]))).toEqual([
    "components COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
  ]);
  expect(problems(await layout(times(14, section)))).toEqual(["components COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED"]);
  expect((await call(discord, "POST", messages, { content: "c", components: [say("t")] })).body.code).toBe(50035);
});

test("every body gets a response in Discord's format", async () => {
  const shapes = fc.record(
    {
      content: fc.anything(),
      embeds: fc.oneof(fc.anything(), fc.array(fc.anything())),
      components: fc.oneof(fc.anything(), fc.array(fc.object())),
      flags: fc.anything(),
      nonce: fc.anything(),
      attachments: fc.anything(),
      allowed_mentions: fc.anything(),
      message_reference: fc.anything(),
    },
    { requiredKeys: [] },
  );
  const json = fc.oneof(shapes, fc.jsonValue()).filter((value) => {
    try {
      return JSON.stringify(value) !== undefined;
    } catch {
      return false;
    }
  });
  await fc.assert(
    fc.asyncProperty(json, async (body) => {
      const answer = await call(discord, "POST", messages, body);
      expect([200, 400, 413]).toContain(answer.status);
    }),
    { numRuns: runs(300) },
  );
});
