/** Writes text objects and rich text as Slack's markup. https://docs.slack.dev/reference/block-kit/blocks/rich-text-block */
import { footerBlock } from "../outbound/footer.ts";
import { escapeText, unescapeText } from "../outbound/safe-text.ts";
import { firstWord, inOneLine, joined, listIn, maxDepth, recordIn, timeText, wordIn } from "./raw-values.ts";

type Fields = Record<string, unknown>;

export interface Look {
  /** The agent posted it. */
  isOwn: boolean;
  /** Gets the files that blocks show. */
  files: unknown[];
  /** Names of channels by their ids, which stand only in the message's text. */
  channels: ReadonlyMap<string, string>;
  depth: number;
}

/** Text that Slack shows as it is. */
export function literal(text: string): string {
  return escapeText(unescapeText(text));
}

/** A text object, or whatever stands where one should be. */
export function textOf(value: unknown, look: Look): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return joined(value.map((each) => textOf(each, { ...look, depth: look.depth + 1 })));
  if (look.depth > maxDepth) return "[more text, nested too deeply to read]";
  const object = recordIn(value);
  if (object.type === "rich_text") return richText(object, look);
  const words = object.text;
  if (typeof words === "object" && words !== null) return textOf(words, { ...look, depth: look.depth + 1 });
  const text = firstWord(words, object.value) || (typeof value === "object" ? "" : wordIn(value));
  return object.type === "mrkdwn" || object.type === undefined ? text : literal(text);
}

export function isFooter(block: Fields): boolean {
  return wordIn(block.block_id).startsWith(footerBlock);
}

export function linkTo(url: string, label: string): string {
  const target = escapeText(unescapeText(url)).replace(/[<>|\s]/g, encodeURIComponent);
  const words = inOneLine(literal(label));
  if (target === "") return words;
  return words === "" || words === target ? `<${target}>` : `<${target}|${words}>`;
}

export function richText({ elements }: Fields, look: Look): string {
  return listIn(elements)
    .map((element) => container(element, { ...look, depth: look.depth + 1 }).replace(/\n$/, ""))
    .join("\n");
}

function container(value: unknown, look: Look): string {
  const element = recordIn(value);
  if (look.depth > maxDepth) return "[more text, nested too deeply to read]";
  const inner = () => inline(element.elements, look);
  switch (element.type) {
    case "rich_text_section":
      return inner();
    case "rich_text_quote":
      return inner().replace(/\n$/, "").replace(/^/gm, "&gt; ");
    case "rich_text_preformatted":
      return `\`\`\`\n${inner().replace(/\n$/, "")}\n\`\`\``;
    case "rich_text_list":
      return listMarkup(element, look);
    case "rich_text":
      return richText(element, look);
    default:
      return inlineElement(value, look);
  }
}

function listMarkup({ elements, style, indent, offset }: Fields, look: Look): string {
  const space = "    ".repeat(Math.min(Math.max(0, Math.floor(Number(indent) || 0)), 10));
  const first = 1 + Math.max(0, Math.floor(Number(offset) || 0));
  const deeper = { ...look, depth: look.depth + 1 };
  return listIn(elements)
    .map((item, index) => {
      const words = container(item, deeper).replace(/\n$/, "");
      const mark = style === "ordered" ? `${first + index}.` : "•";
      return `${space}${mark} ${words.replaceAll("\n", `\n${space}  `)}`;
    })
    .join("\n");
}

function inline(elements: unknown, look: Look): string {
  return listIn(elements)
    .map((element) => inlineElement(element, look))
    .join("");
}

function inlineElement(value: unknown, look: Look): string {
  if (typeof value !== "object") return literal(wordIn(value));
  const element = recordIn(value);
  const type = wordIn(element.type);
  const write = Object.hasOwn(inlineWriters, type) ? inlineWriters[type] : undefined;
  if (write !== undefined) return write(element, look);
  if (/^rich_text/.test(type) && Array.isArray(element.elements) && look.depth <= maxDepth)
    return inline(element.elements, { ...look, depth: look.depth + 1 });
  const name = type === "" ? "[an element without a type]" : `[an element of type ${literal(type)}]`;
  return joined([name, strayTexts(element, look.depth)], " ");
}

const inlineWriters: Readonly<Record<string, (element: Fields, look: Look) => string>> = {
  text: ({ text, style }) => styled(escapeText(wordIn(text)), recordIn(style)),
  link: ({ url, text }) => linkTo(wordIn(url), wordIn(text)),
  user: ({ user_id: id }) => mention("@", wordIn(id)),
  canvas_user_mention: ({ user_id: id }) => mention("@", wordIn(id)),
  usergroup: ({ usergroup_id: id }) => mention("!subteam^", wordIn(id)),
  channel: ({ channel_id: id }, { channels }) => {
    const name = channels.get(wordIn(id)) ?? "";
    return mention("#", name === "" ? wordIn(id) : `${wordIn(id)}|${name}`);
  },
  broadcast: ({ range }) => mention("!", wordIn(range)),
  team: ({ team_id: id }) => `[workspace ${literal(wordIn(id))}]`,
  color: ({ value }) => literal(wordIn(value)),
  emoji: ({ name, unicode }) => (wordIn(name) === "" ? characters(wordIn(unicode)) : `:${literal(wordIn(name))}:`),
  date: ({ fallback, timestamp, url }) => {
    const words = firstWord(fallback, timeText(timestamp)) || "[a date]";
    return wordIn(url) === "" ? literal(words) : linkTo(wordIn(url), words);
  },
  attachment_mention: ({ url, text }) => linkTo(wordIn(url), wordIn(text)),
  message_mention: ({ url, text, channel_id: channel, message_ts: ts }) =>
    linkTo(wordIn(url), firstWord(text) || (wordIn(url) === "" ? `[message ${wordIn(channel)}:${wordIn(ts)}]` : "")),
};

function mention(kind: string, id: string): string {
  return id === "" || /[<>\n]/.test(id) ? literal(`${kind}${id}`) : `<${kind}${id}>`;
}

/** `1f469-200d-1f4bb` */
function characters(unicode: string): string {
  const codes = unicode.split("-").map((each) => Number.parseInt(each, 16));
  const isValid = codes.every((code) => code > 0 && code <= 0x10ffff);
  return isValid ? String.fromCodePoint(...codes) : "[an emoji]";
}

function styled(text: string, { bold, italic, strike, code }: Fields): string {
  const words = text.trim();
  if (words === "" || words.includes("\n")) return text;
  const before = text.slice(0, text.length - text.trimStart().length);
  const after = text.slice(text.trimEnd().length);
  if (code === true) return `${before}\`${words}\`${after}`;
  const marks = `${bold === true ? "*" : ""}${italic === true ? "_" : ""}${strike === true ? "~" : ""}`;
  return `${before}${marks}${words}${[...marks].reverse().join("")}${after}`;
}

const textKeys: ReadonlySet<string> = new Set([
  ...[
    "text",
    "title",
    "subtitle",
    "body",
    "label",
    "description",
    "caption",
    "hint",
    "alt_text",
    "fallback",
    "summary",
  ],
  ...["value", "content", "name", "markdown", "placeholder", "message", "url", "x_axis_label", "y_axis_label"],
]);

/** The texts in something unknown, in their order. */
export function strayTexts(value: unknown, depth: number): string {
  if (depth > maxDepth) return "[more, nested too deeply to read]";
  if (Array.isArray(value)) return joined(value.map((each) => strayTexts(each, depth + 1)));
  if (typeof value !== "object") return literal(wordIn(value));
  const object = recordIn(value);
  if (["mrkdwn", "plain_text", "raw_text", "rich_text"].includes(wordIn(object.type)))
    return textOf(value, { isOwn: false, files: [], channels: new Map(), depth: depth + 1 });
  return joined(
    Object.entries(object).map(([key, inner]) => {
      if (typeof inner === "object") return strayTexts(inner, depth + 1);
      if (!textKeys.has(key)) return "";
      return key === "url" ? linkTo(wordIn(inner), "") : literal(wordIn(inner));
    }),
  );
}
