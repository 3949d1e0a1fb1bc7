/**
 * What a person sees of a message, as Slack's markup: its author's own words, what it quotes, and all files. Fields may be
 * missing or of any type: what can be read is read, and the rest is named.
 */
import { firstWord, joined, listIn, maxDepth, recordIn, timeText, wordIn } from "./raw-values.ts";
import { blocksMarkup, buttonMarkup } from "./shown-blocks.ts";
import { type Look, linkTo, literal, textOf } from "./shown-texts.ts";

type Fields = Record<string, unknown>;

/** Words that are somebody else's: a message that is forwarded, or shown because of a link to it, or a preview of a page. */
export interface Quote {
  kind: "quoted message" | "link preview";
  markup: string;
  /** Where the quoted message stands. Absent if Slack does not say so. */
  channel?: string;
  url: string;
  /** A person forwarded it, so everybody here was shown it on purpose. Slack adds what is behind a link by itself. */
  isForwarded: boolean;
  files: QuotedFile[];
}

export interface QuotedFile {
  raw: unknown;
  from: string;
  channel?: string;
}

export interface ShownMarkup {
  own: string;
  quotes: Quote[];
  files: unknown[];
}

interface Parts {
  own: string;
  quotes: Quote[];
}

export interface MessageLike {
  text?: unknown;
  blocks?: unknown;
  attachments?: unknown;
  files?: unknown;
  bot_id?: unknown;
  subtype?: unknown;
}

export function shownMarkup(message: MessageLike, isOwn = false): ShownMarkup {
  const files: unknown[] = [...listIn(message.files)];
  const text = wordIn(message.text) || wordIn(recordIn(message.text).text);
  const look: Look = { isOwn, files, channels: channelsIn(text), depth: 0 };
  const isApps = wordIn(message.bot_id) !== "" || message.subtype === "bot_message";
  const said = once(text, blocksMarkup(message.blocks, look), isOwn);
  const { own, quotes } = attachmentParts(message.attachments, look, isApps);
  return { own: joined([said, own], "\n\n"), quotes, files: distinct(files) };
}

function attachmentParts(attachments: unknown, look: Look, isApps: boolean): Parts {
  const parts: Parts = { own: "", quotes: [] };
  const own: string[] = [];
  for (const raw of listIn(attachments)) {
    const attachment = recordIn(raw);
    // People can't write attachments: Slack has added them to their messages.
    if (isApps && !isQuote(attachment)) {
      const quotedFiles: QuotedFile[] = [];
      own.push(typeof raw === "object" ? attachmentMarkup(attachment, look, quotedFiles) : literal(wordIn(raw)));
      look.files.push(...quotedFiles.map((file) => file.raw));
    } else if (typeof raw === "object") parts.quotes.push(quoteOf(attachment, look));
  }
  return { ...parts, own: joined(own, "\n\n") };
}

function isMessage(attachment: Fields): boolean {
  const flags = [
    attachment.is_share,
    attachment.is_msg_unfurl,
    attachment.is_reply_unfurl,
    attachment.is_thread_root_unfurl,
  ];
  return flags.includes(true) || listIn(attachment.message_blocks).length > 0;
}

function isQuote(attachment: Fields): boolean {
  const urls = [attachment.from_url, attachment.original_url, attachment.app_unfurl_url];
  return isMessage(attachment) || attachment.is_app_unfurl === true || firstWord(...urls) !== "";
}

function quoteOf(attachment: Fields, look: Look): Quote {
  const files: QuotedFile[] = [];
  const isOfMessage = isMessage(attachment) || listIn(attachment.files).length > 0 || urlOf(attachment) === "";
  const channel = wordIn(attachment.channel_id);
  return {
    kind: isOfMessage ? "quoted message" : "link preview",
    markup: attachmentMarkup(attachment, { ...look, files: [] }, files),
    ...(channel === "" ? {} : { channel }),
    url: urlOf(attachment),
    isForwarded: attachment.is_share === true || !isMessage(attachment),
    files,
  };
}

function urlOf({ from_url, original_url, app_unfurl_url }: Fields): string {
  return firstWord(from_url, original_url, app_unfurl_url);
}

/** Everything in an attachment in the order in which Slack shows it. The fallback counts only if there is nothing else. */
function attachmentMarkup(attachment: Fields, outer: Look, files: QuotedFile[]): string {
  if (outer.depth > maxDepth) return "[more attachments, nested too deeply to read]";
  const look: Look = { ...outer, files: [], depth: outer.depth + 1 };
  const author = literal(firstWord(attachment.author_name, attachment.author_subname, attachment.author_id));
  const channel = wordIn(attachment.channel_id);
  const blocks = blocksMarkup(attachment.blocks, look);
  const inner = innerMessages(attachment, look, files);
  const words = once(textOf(attachment.text, look), joined([blocks, inner]), false);
  const before = textOf(attachment.pretext, look);
  const main = joined([
    titleOf(attachment, look),
    words,
    ...listIn(attachment.fields).map((field) => fieldMarkup(field, look)),
    ...listIn(attachment.actions).map((action) => actionMarkup(recordIn(action), look)),
    imageOf(attachment),
    ...listIn(attachment.attachments).map((each) => nestedMarkup(recordIn(each), look, files)),
  ]);
  const own = [...listIn(attachment.files), ...look.files];
  files.push(...own.map((raw) => ({ raw, from: author, ...(channel === "" ? {} : { channel }) })));
  const isEmpty = joined([before, main]) === "" && files.length === 0;
  const foot = joined([textOf(attachment.footer, look), timeText(attachment.ts)], " · ");
  const body = joined([isEmpty ? wordIn(attachment.fallback) : main, foot]);
  return joined([before, byAuthor(attachment, author, body)]);
}

/** Each part of a forwarded message has the message's blocks, and may quote another message. */
function innerMessages(attachment: Fields, look: Look, files: QuotedFile[]): string {
  const parts = listIn(attachment.message_blocks).map((part) => {
    const message = recordIn(recordIn(part).message ?? part);
    const channel = firstWord(recordIn(part).channel, attachment.channel_id);
    const from = literal(firstWord(attachment.author_name, attachment.author_id));
    files.push(...listIn(message.files).map((raw) => ({ raw, from, ...(channel === "" ? {} : { channel }) })));
    const blocks = blocksMarkup(message.blocks, look);
    const nested = listIn(message.attachments).map((each) => nestedMarkup(recordIn(each), look, files));
    return joined([once(wordIn(message.text), blocks, false), ...nested]);
  });
  return joined(parts);
}

function nestedMarkup(attachment: Fields, look: Look, files: QuotedFile[]): string {
  const text = attachmentMarkup(attachment, look, files);
  return isMessage(attachment) ? text.replace(/^/gm, "&gt; ") : text;
}

function byAuthor(attachment: Fields, author: string, body: string): string {
  if (author === "" || body === "") return body || author;
  if (isMessage(attachment)) return `${author} wrote:\n${body}`;
  const subname = attachment.author_name === undefined ? "" : literal(wordIn(attachment.author_subname));
  const name = joined([author, subname === author ? "" : subname], " ");
  return joined([wordIn(attachment.author_link) === "" ? name : linkTo(wordIn(attachment.author_link), name), body]);
}

function titleOf({ title, title_link: link }: Fields, look: Look): string {
  const words = textOf(title, look);
  // A title may have markup of its own, so its address stands behind it.
  return wordIn(link) === "" ? words : joined([words, linkTo(wordIn(link), "")], " ");
}

function fieldMarkup(field: unknown, look: Look): string {
  if (typeof field !== "object") return wordIn(field);
  const { title, value } = recordIn(field);
  return joined([textOf(title, look), textOf(value, look)], ": ") || textOf(field, look);
}

function actionMarkup(action: Fields, look: Look): string {
  const options = [
    ...listIn(action.options),
    ...listIn(action.option_groups).flatMap((group) => recordIn(group).options),
  ]
    .flat()
    .map((option) => textOf(recordIn(option).text ?? option, look));
  const button = buttonMarkup(action, look);
  return options.length === 0 ? button : `${button} [choices: ${joined(options, ", ")}]`;
}

function imageOf(attachment: Fields): string {
  const url = firstWord(attachment.image_url, attachment.thumb_url);
  const words = literal(firstWord(attachment.alt_text, attachment.image_alt_text));
  const video = firstWord(attachment.video_url);
  return joined(
    [
      url === "" && words === "" ? "" : joined([`[image${words === "" ? "" : `: ${words}`}]`, linkTo(url, "")], " "),
      video === "" ? "" : joined(["[video]", linkTo(video, "")], " "),
    ],
    " ",
  );
}

/** `text` is what notifications say. Where it says nothing else than the blocks, it comes once. */
function once(text: string, blocks: string, isOwn: boolean): string {
  if (blocks.trim() === "") return text;
  if (text.trim() === "" || isOwn) return blocks;
  const [ofText, ofBlocks] = [wordsOf(text), wordsOf(blocks)];
  if (isWithin(ofText, ofBlocks)) return blocks;
  return isWithin(ofBlocks, ofText) ? text : joined([text, blocks], "\n\n");
}

function wordsOf(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}\p{Extended_Pictographic}]+/gu))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function isWithin(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): boolean {
  return [...one].every(([word, count]) => (other.get(word) ?? 0) >= count);
}

function channelsIn(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(/<#([CDG][A-Z0-9]+)\|([^<>\n]+)>/g)].map(([, id = "", name = ""]) => [id, name]));
}

/** A file may be in the message and in its blocks. */
function distinct(files: readonly unknown[]): unknown[] {
  const seen = new Set<string>();
  return files.filter((file) => {
    const id = wordIn(recordIn(file).id);
    const isNew = id === "" || !seen.has(id);
    seen.add(id);
    return isNew;
  });
}
