/**
 * Writes blocks as Slack's markup (mrkdwn), as readable-text.ts reads it, with every block and element of
 * https://docs.slack.dev/reference/block-kit. What is not known there is named, with the texts that are in it.
 */
import { escapeText, unescapeText } from "../outbound/safe-text.ts";
import { firstWord, inOneLine, joined, listIn, maxDepth, recordIn, wordIn } from "./raw-values.ts";
import { isFooter, type Look, linkTo, literal, richText, strayTexts, textOf } from "./shown-texts.ts";

type Fields = Record<string, unknown>;
type Writer = (block: Fields, look: Look) => string;

/** The line and buttons below an answer, and the buttons of cards, are not something that the agent said. */
const unsaid: ReadonlySet<string> = new Set(["actions", "context_actions", "divider"]);

export function blocksMarkup(blocks: unknown, look: Look): string {
  return joined(listIn(blocks).map((block) => blockMarkup(block, look)));
}

function blockMarkup(value: unknown, look: Look): string {
  if (Array.isArray(value)) return blocksMarkup(value, deeper(look));
  if (typeof value !== "object" || value === null) return literal(wordIn(value));
  const block = recordIn(value);
  const type = wordIn(block.type);
  if (look.depth > maxDepth) return "[more blocks, nested too deeply to read]";
  if (look.isOwn && (unsaid.has(type) || isFooter(block))) return "";
  const write = Object.hasOwn(writers, type) ? writers[type] : undefined;
  if (write !== undefined) return write(block, deeper(look));
  const name = type === "" ? "[a block without a type]" : `[a block of type ${literal(type)}]`;
  return joined([name, strayTexts(block, look.depth)]);
}

function deeper(look: Look): Look {
  return { ...look, depth: look.depth + 1 };
}

const writers: Readonly<Record<string, Writer>> = {
  section: ({ text, fields, accessory }, look) =>
    joined([textOf(text, look), ...listIn(fields).map((field) => textOf(field, look)), elementMarkup(accessory, look)]),
  header: ({ text }, look) => textOf(text, look),
  context: ({ elements }, look) =>
    joined(
      listIn(elements).map((element) => elementMarkup(element, look)),
      " · ",
    ),
  rich_text: richText,
  markdown: ({ text }) => markdownMarkup(wordIn(text) || wordIn(recordIn(text).text)),
  divider: () => "---",
  image: imageMarkup,
  video: (block, look) =>
    joined([
      named("video", textOf(block.title, look), firstWord(block.title_url, block.video_url)),
      joined([firstWord(block.author_name), firstWord(block.provider_name)].map(literal), ", "),
      textOf(block.description, look),
    ]),
  file: (block, look) => {
    const file = recordIn(block.file);
    if (wordIn(file.id) !== "") look.files.push(file);
    const name = firstWord(file.title, file.name, block.external_id, block.file_id, file.id);
    return named("file", literal(name), wordIn(file.permalink));
  },
  input: ({ label, hint, element }, look) =>
    joined([textOf(label, look), textOf(hint, look), elementMarkup(element, look)]),
  actions: elementsMarkup,
  context_actions: elementsMarkup,
  alert: ({ level, text }, look) => joined([literal(wordIn(level)), textOf(text, look)], ": "),
  card: (block, look) =>
    joined([
      ...[block.title, block.subtitle, block.body, block.subtext].map((text) => textOf(text, look)),
      ...[block.hero_image, block.icon].map((image) => elementMarkup(image, look)),
      elementsMarkup({ elements: block.actions }, look),
    ]),
  carousel: ({ elements }, look) => blocksMarkup(elements, look),
  container: (block, look) =>
    joined([
      textOf(block.title, look) || textOf(block.rich_text_title, look),
      textOf(block.subtitle, look),
      blocksMarkup(block.child_blocks, look),
    ]),
  plan: ({ title, tasks }, look) => joined([textOf(title, look), blocksMarkup(listIn(tasks), look)]),
  task_card: (block, look) =>
    joined([
      joined([textOf(block.title, look), literal(wordIn(block.status)).replaceAll("_", " ")], ": "),
      ...[block.details, block.output].map((text) => textOf(text, look)),
      ...listIn(block.sources).map((source) => elementMarkup(source, look)),
    ]),
  table: tableMarkup,
  data_table: tableMarkup,
  data_visualization: ({ title, chart }, look) => joined([textOf(title, look), chartMarkup(recordIn(chart))]),
  call: ({ call, call_id: id }) => {
    const facts = recordIn(recordIn(call).v1 ?? call);
    const people = listIn(facts.all_participants ?? facts.active_participants).length;
    const count = people === 0 ? "" : ` (people: ${people})`;
    return named("call", literal(firstWord(facts.name, facts.title, id)), wordIn(facts.join_url)) + count;
  },
};

function elementsMarkup({ elements }: Fields, look: Look): string {
  return joined(
    listIn(elements).map((element) => elementMarkup(element, look)),
    " ",
  );
}

/** What is in a line of blocks: texts, pictures, and what people can click or choose. */
function elementMarkup(value: unknown, look: Look): string {
  const element = recordIn(value);
  const type = wordIn(element.type);
  if (type === "" || isText(type)) return textOf(value, look);
  if (type === "image") return imageMarkup(element, look);
  if (type === "url") return linkTo(wordIn(element.url), firstWord(element.text));
  if (type === "feedback_buttons")
    return joined(
      [element.positive_button, element.negative_button].map((each) => buttonMarkup(recordIn(each), look)),
      " ",
    );
  if (/button$/.test(type)) return buttonMarkup(element, look);
  const choices = choicesIn(element, look);
  if (choices !== "" || isInput(type))
    return named(type.replaceAll("_", " "), joined([textOf(element.placeholder, look), choices], ": "), "");
  if (Object.hasOwn(writers, type)) return blockMarkup(value, look);
  return joined([`[an element of type ${literal(type)}]`, strayTexts(element, look.depth)], " ");
}

function isText(type: string): boolean {
  return ["mrkdwn", "plain_text", "raw_text", "raw_number", "rich_text", "text"].includes(type);
}

function isInput(type: string): boolean {
  return /(?:select|picker|input|overflow|checkboxes|radio_buttons)$/.test(type);
}

/** The options, and what is chosen or entered. */
function choicesIn(element: Fields, look: Look): string {
  const groups = listIn(element.option_groups).flatMap((group) => [
    recordIn(group).label,
    ...listIn(recordIn(group).options),
  ]);
  const options = [...listIn(element.options), ...groups].map((option) => {
    const { text, description } = recordIn(option);
    return joined([textOf(text ?? option, look), textOf(description, look)], " ");
  });
  const chosen = Object.entries(element)
    .filter(([key]) => /^initial_/.test(key))
    .flatMap(([, each]) => listIn(each))
    .map((each) => textOf(recordIn(each).text ?? each, look));
  return joined([joined(options, ", "), ...(chosen.length === 0 ? [] : [`chosen: ${joined(chosen, ", ")}`])], "; ");
}

export function buttonMarkup(button: Fields, look: Look): string {
  return named(
    "button",
    textOf(button.text, look) || literal(firstWord(button.accessibility_label)),
    wordIn(button.url),
  );
}

/** `[kind: words]`, with the address behind it. */
function named(kind: string, words: string, url: string): string {
  const head = words === "" ? `[${kind}]` : `[${kind}: ${inOneLine(words)}]`;
  return url === "" ? head : `${head} ${linkTo(url, "")}`;
}

function imageMarkup(image: Fields, look: Look): string {
  const stored = recordIn(image.slack_file);
  if (wordIn(stored.id) !== "") look.files.push(stored);
  const words = joined([textOf(image.title, look), literal(wordIn(image.alt_text))], ", ");
  return named("image", words, firstWord(image.image_url, stored.url));
}

function tableMarkup({ caption, rows }: Fields, look: Look): string {
  const lines = listIn(rows).map((row) => {
    const cells = Array.isArray(row) ? row : listIn(recordIn(row).cells ?? row);
    return `| ${cells.map((cell) => cellMarkup(cell, look)).join(" | ")} |`;
  });
  return joined([textOf(caption, look), ...lines]);
}

function cellMarkup(cell: unknown, look: Look): string {
  // Within a link the bar belongs to the markup.
  const parts = inOneLine(elementMarkup(cell, look)).split(/(<[^<>]*>)/);
  return parts.map((part, index) => (index % 2 === 1 ? part : part.replaceAll("|", "/"))).join("");
}

function chartMarkup(chart: Fields): string {
  const point = (value: unknown) => {
    const { label, value: amount } = recordIn(value);
    return literal(joined([wordIn(label), wordIn(amount)], ": "));
  };
  const series = listIn(chart.series).map((value) => {
    const { name, data } = recordIn(value);
    return joined([literal(wordIn(name)), joined(listIn(data).map(point), ", ")], ": ");
  });
  const axes = recordIn(chart.axis_config);
  return joined([
    joined([`[${literal(wordIn(chart.type)) || "a"} chart]`, strayTexts(axes, 0)], " "),
    ...listIn(chart.segments).map(point),
    ...series,
  ]);
}

/** Slack reads its own sequences in Markdown, too, and nothing else in angle brackets. */
function markdownMarkup(markdown: string): string {
  const sequence = /(<(?:[@#][A-Z0-9]|![a-z]|(?:https?|mailto|tel|slack):)[^<>\n]*>)/;
  return unescapeText(markdown)
    .split(sequence)
    .map((part, index) => (index % 2 === 1 ? part.replace(/&(?!amp;)/g, "&amp;") : escapeText(part)))
    .join("");
}
