/** Good messages of many kinds, and the same with one or more fields broken. */
import fc from "fast-check";

const author = { id: "2000000000000000001", username: "ann", global_name: "Ann" };
const app = { id: "2000000000000000009", username: "Deploys", bot: true };
const common = {
  id: "3000000000000000001",
  channel_id: "4000000000000000001",
  type: 0,
  content: "see https://a.example",
  author,
  timestamp: "2026-11-01T08:00:00.000000+00:00",
  edited_timestamp: null,
  mentions: [{ ...author, member: { nick: "A", roles: ["1"] } }],
  mention_roles: [],
  attachments: [],
  embeds: [],
  components: [],
  flags: 0,
};
const file = {
  id: "7",
  filename: "a.csv",
  size: 3,
  content_type: "text/csv",
  description: "numbers",
  url: "https://cdn.discordapp.com/attachments/1/7/a.csv?ex=1",
};
const embed = {
  type: "rich",
  title: "Deploy failed",
  url: "https://a.example/7",
  description: "service tarn-api",
  author: { name: "CI", url: "https://ci.example" },
  provider: { name: "Tarn" },
  fields: [{ name: "step", value: "migrate", inline: true }],
  image: { url: "https://cdn.discordapp.com/attachments/1/8/graph.png", description: "a graph" },
  footer: { text: "run 881" },
  timestamp: "2026-11-01T08:00:00Z",
};
const components = [
  {
    type: 17,
    components: [
      {
        type: 9,
        components: [{ type: 10, content: "two boats" }],
        accessory: { type: 2, style: 5, label: "Go", url: "https://b.example" },
      },
      { type: 12, items: [{ media: { url: "https://b.example/c.png" }, description: "harbour" }] },
      { type: 1, components: [{ type: 3, placeholder: "Size", options: [{ label: "S", value: "s" }] }] },
    ],
  },
];
const poll = {
  question: { text: "Lunch?" },
  answers: [{ answer_id: 1, poll_media: { text: "Soup", emoji: { id: null, name: "🍲" } } }],
  results: { is_finalized: false, answer_counts: [{ id: 1, count: 3, me_voted: false }] },
};
const snapshot = {
  type: 0,
  content: "a plan",
  embeds: [embed],
  attachments: [file],
  components,
  mentions: [author],
  flags: 0,
};

export const goodMessages: readonly object[] = [
  { ...common, attachments: [file, file], sticker_items: [{ id: "1", name: "Wave", format_type: 1 }] },
  {
    ...common,
    author: app,
    webhook_id: app.id,
    embeds: [embed, { type: "video", video: { url: "https://v.example" } }],
  },
  { ...common, embeds: [{ type: "article", url: "https://a.example", title: "Storm" }] },
  { ...common, components, flags: 1 << 15 },
  { ...common, poll },
  {
    ...common,
    flags: 1 << 14,
    message_reference: { type: 1, message_id: "5", channel_id: "6", guild_id: "7" },
    message_snapshots: [{ message: snapshot }, { message: snapshot }],
  },
  {
    ...common,
    type: 19,
    message_reference: { type: 0, message_id: "5", channel_id: common.channel_id },
    referenced_message: { ...common, id: "5", author: app, embeds: [embed] },
  },
  {
    ...common,
    type: 20,
    author: app,
    interaction_metadata: { id: "9", type: 2, user: author },
    interaction: { id: "9", type: 2, name: "deploy", user: author },
  },
  { ...common, guild_id: "8", member: { nick: "Ann", roles: ["1"] }, thread: { id: "3", message_count: 4 } },
];

const odd = fc.constantFrom<unknown>(
  ...[null, undefined, 0, -1, 1e21, true, "", "x", [], {}, [null], [[]], { name: { name: {} } }, [{ type: "?" }]],
  ...["\ud800", "\u0000", { id: {}, url: [] }, [1, "two", { three: 3 }], "9".repeat(30)],
);

type Path = (string | number)[];

function pathsOf(value: unknown, before: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [before];
  return [before, ...Object.entries(value).flatMap(([key, each]) => pathsOf(each, [...before, key]))];
}

function withValue(value: unknown, [key, ...rest]: Path, next: unknown): unknown {
  if (key === undefined) return next;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, unknown>;
  const isMissing = rest.length === 0 && next === undefined;
  // JSON has no holes in lists.
  if (isMissing && Array.isArray(copy)) copy.splice(Number(key), 1);
  else if (isMissing) delete copy[key];
  else copy[key] = withValue(copy[key], rest, next);
  // Fields in another order.
  return Array.isArray(value) ? copy : Object.fromEntries(Object.entries(copy).reverse());
}

/** A good message in which the field at `path`, and perhaps a second one, is another thing. */
export const mutated = fc
  .constantFrom(...goodMessages)
  .chain((original) => {
    const path = fc.constantFrom(...pathsOf(original));
    return fc.record({ original: fc.constant(original), path, value: odd });
  })
  .map(({ original, path, value }) => ({ original, path, message: withValue(original, path, value) }));
