/**
 * What a person sees of a Discord message, by the fields of its reference:
 * https://docs.discord.com/developers/resources/message#message-object. Nothing in it is left out without a word, and every
 * field may be null, missing or of another type. Mentions stay as Discord writes them (readable-text.ts).
 */
import { MessageFlags, MessageReferenceType, MessageType } from "discord.js";
import type { ShownFile, ShownMessage } from "../../../ports/shown-message.ts";
import { personName } from "../api/people.ts";
import { withoutFooter } from "../outbound/footer.ts";
import { type Fields, fieldsOf, flagsOf, joined, listOf, nameOf, textOf } from "./fields.ts";
import { serviceLine } from "./service-messages.ts";
import { componentsText, emojiText } from "./shown-components.ts";
import { embedText, storedFile } from "./shown-embed.ts";

/** A file, and the message that has it: Discord gives a new link to a file with its message. */
export interface HeldFile extends ShownFile {
  channelId: string;
  messageId: string;
  /** Recorded in the client. 0 if the length is unknown. */
  voiceSeconds?: number;
}

export interface Quote {
  text: string;
  files: HeldFile[];
  /** The message that this is a copy of. */
  id?: string;
}

/** The parts of a `ShownMessage`: who wrote them differs. */
export interface ShownParts {
  /** What its author says and shows. */
  words: string;
  /** What Discord shows of the pages that are linked. */
  previews: string;
  forwarded: Quote[];
  /** What it answers. Without text if people can't see it any more; `note` says why. */
  answered: (Quote & { by: string; byId: string; note?: string }) | undefined;
  files: HeldFile[];
}

/** A forward holds no forward today. */
const maxDepth = 5;
const unreadable = "[A message without text, of a kind that I can't read.]";

export function shownMessage(raw: unknown): ShownMessage {
  const parts = shownParts(raw);
  const { answered, forwarded } = parts;
  const quote = answered === undefined ? "" : joined([`[in reply to ${answered.by}]`, quoted(answered.text)]);
  return { text: joined([quote, wholeText(parts)]), files: allFiles([parts, ...forwarded, answered]) };
}

/** Without what it answers. */
export function wholeText({ words, previews, forwarded }: ShownParts): string {
  const ofLinks = previews === "" ? "" : `[link preview] ${previews}`;
  return joined([words, ofLinks, ...forwarded.map(({ text }) => `[forwarded] ${text}`)]);
}

export function quoted(text: string): string {
  return text === "" ? "" : `> ${text.replaceAll("\n", "\n> ")}`;
}

function allFiles(holders: readonly (Pick<Quote, "files"> | undefined)[]): HeldFile[] {
  return holders.flatMap((holder) => holder?.files ?? []);
}

/** All that can be opened with this message: its own, and those of forwards, which are kept in it. */
export function filesOf(raw: unknown): HeldFile[] {
  const parts = shownParts(raw);
  return allFiles([parts, ...parts.forwarded]);
}

export function shownParts(raw: unknown, depth = 0): ShownParts {
  const message = fieldsOf(raw);
  if (message === undefined) return { ...nothing, words: textOf(raw) };
  const { id, channel_id: channel } = message;
  const holder = { channelId: textOf(channel), messageId: textOf(id) };
  const service = serviceLine(message);
  const embeds = (flagsOf(message) & MessageFlags.SuppressEmbeds) === 0 ? listOf(message.embeds) : [];
  const isApp = fieldsOf(message.author)?.bot === true || textOf(message.webhook_id) !== "";
  const whole = service.hasContent ? "" : textOf(message.content);
  const content = isApp ? withoutFooter(whole) : whole;
  const components = content === whole ? message.components : listOf(message.components).filter(isNoFooter);
  const isOwn = (embed: unknown) =>
    isApp || isFromService(message) || (!fieldsOf(message.author) && !isPreview(embed, content));
  const textsOf = (chosen: readonly unknown[]) => joined(chosen.map((embed) => embedText(embed, content)));
  const own = embeds.filter(isOwn);
  const forwarded = depth < maxDepth ? forwardsIn(message, holder, depth) : [];
  const files = ownFiles(message, own, holder);
  const words = joined([
    ...[service.line, commandLine(message), content, textsOf(own), componentsText(components)],
    ...[pollText(message.poll), ...otherLines(message), ...files.map(({ about }) => about)],
  ]);
  const previews = textsOf(embeds.filter((embed) => !isOwn(embed)));
  const answered = depth === 0 ? answeredIn(message) : undefined;
  const isEmpty = words + previews === "" && files.length + forwarded.length === 0;
  return {
    words: isEmpty ? unreadable : words,
    previews,
    forwarded,
    answered,
    files: files.map(({ about: _about, ...file }) => file),
  };
}

const nothing: ShownParts = { words: "", previews: "", forwarded: [], answered: undefined, files: [] };

/** The buttons below an answer stand with the line above them. */
function isNoFooter(value: unknown): boolean {
  const buttons = listOf(fieldsOf(value)?.components);
  return buttons.length === 0 || buttons.some((button) => textOf(fieldsOf(button)?.custom_id) === "");
}

function isFromService(message: Fields): boolean {
  return serviceLine(message).line !== "" || message.type === MessageType.PollResult;
}

/** People can't send embeds, so theirs are all of links. Of a snapshot, nobody knows the author. */
function isPreview(value: unknown, content: string): boolean {
  const embed = fieldsOf(value);
  const url = textOf(embed?.url);
  const isRich = ["", "rich"].includes(textOf(embed?.type));
  return embed !== undefined && (!isRich || (url !== "" && content.includes(url)));
}

/** Only the old field has the command's name. */
function commandLine(message: Fields): string {
  const [made, old] = [fieldsOf(message.interaction_metadata), fieldsOf(message.interaction)];
  const user = fieldsOf(made?.user) ?? fieldsOf(old?.user);
  if (user === undefined) return "";
  const name = nameOf(made?.name ?? old?.name);
  return name === "" ? `[answers ${authorName(user)}]` : `[answers ${authorName(user)}, who used /${name}]`;
}

function otherLines(message: Fields): string[] {
  const flags = flagsOf(message);
  const named = (kind: string, value: unknown) => `[${kind}: ${nameOf(fieldsOf(value)?.name ?? value)}]`;
  const stickers = listOf(message.sticker_items ?? message.stickers);
  const activity = fieldsOf(message.activity);
  const app = nameOf(fieldsOf(message.application)?.name);
  return [
    ...stickers.map((sticker) => named("sticker", sticker)),
    ...listOf(message.soundboard_sounds).map((sound) => named("sound", sound)),
    activity === undefined ? "" : `[an invitation${app === "" ? "" : ` to ${app}`}]`,
    message.shared_client_theme ? "[a theme for Discord]" : "",
    (flags & MessageFlags.Loading) === 0 ? "" : "[the app is still working on this]",
    (flags & MessageFlags.SourceMessageDeleted) === 0 ? "" : "[the original message was deleted]",
  ];
}

function pollText(value: unknown): string {
  const poll = fieldsOf(value);
  if (poll === undefined) return textOf(value);
  const results = fieldsOf(poll.results);
  const counts = new Map(
    listOf(results?.answer_counts).map((each) => [textOf(fieldsOf(each)?.id), textOf(fieldsOf(each)?.count)]),
  );
  const lines = listOf(poll.answers).map((each) => {
    const answer = fieldsOf(each);
    const votes = counts.get(textOf(answer?.answer_id)) ?? "";
    return `- ${mediaText(answer?.poll_media ?? each)}${votes === "" ? "" : ` (votes: ${votes})`}`;
  });
  const facts = [
    poll.allow_multiselect === true ? " (several answers allowed)" : "",
    results?.is_finalized === true ? " (ended)" : "",
  ];
  return joined([`Poll: ${mediaText(poll.question)}${facts.join("")}`, ...lines]);
}

function mediaText(value: unknown): string {
  const media = fieldsOf(value);
  if (media === undefined) return textOf(value);
  const emoji = fieldsOf(media.emoji);
  return [emoji === undefined ? "" : emojiText(emoji), textOf(media.text)].filter((part) => part !== "").join(" ");
}

function forwardsIn(message: Fields, holder: { channelId: string; messageId: string }, depth: number): Quote[] {
  const reference = fieldsOf(message.message_reference);
  const snapshots = listOf(message.message_snapshots);
  const isForward =
    reference?.type === MessageReferenceType.Forward || (flagsOf(message) & MessageFlags.HasSnapshot) !== 0;
  if (snapshots.length === 0 && !isForward) return [];
  const id = textOf(reference?.message_id);
  const copyOf = id === "" ? {} : { id };
  if (snapshots.length === 0) return [{ ...copyOf, text: "[a message that I can't see]", files: [] }];
  return snapshots.map((value) => {
    const copy = fieldsOf(fieldsOf(value)?.message) ?? value;
    // Its files are opened with the message that holds it.
    const parts = shownParts({ ...fieldsOf(copy), id: holder.messageId, channel_id: holder.channelId }, depth + 1);
    const files = allFiles([parts, ...parts.forwarded]);
    const held = files.map((file) => ({ from: "a forwarded message", ...file }));
    const text = fieldsOf(copy) === undefined ? textOf(copy) : wholeText(parts);
    return { ...copyOf, text: joined([text, ...files.map(fileLine)]), files: held };
  });
}

function answeredIn(message: Fields): ShownParts["answered"] {
  const reference = fieldsOf(message.message_reference);
  const isReply = message.type === MessageType.Reply || (message.type === MessageType.ContextMenuCommand && reference);
  if (!isReply) return undefined;
  const value = fieldsOf(message.referenced_message);
  const id = textOf(value?.id ?? reference?.message_id);
  const unseen = (note: string) => ({
    text: "",
    files: [],
    by: "a message",
    byId: "",
    ...(id === "" ? {} : { id }),
    note,
  });
  if (value === undefined)
    return unseen(message.referenced_message === null ? "It was deleted." : "Discord did not send it.");
  const channel = textOf(value.channel_id ?? reference?.channel_id);
  // Of another channel, others here may not be able to read it.
  if (channel !== "" && channel !== textOf(message.channel_id)) return unseen("It is in another channel.");
  if ((flagsOf(value) & MessageFlags.Ephemeral) !== 0) return unseen("Only one person can see it.");
  const parts = shownParts({ ...value, channel_id: textOf(message.channel_id) }, 1);
  const author = fieldsOf(value.author);
  const text = wholeText(parts);
  const by = author === undefined ? "somebody" : `${authorName(author)} (<@${nameOf(author.id)}>)`;
  const files = allFiles([parts, ...parts.forwarded]);
  const held = files.map((file) => ({ from: author === undefined ? by : authorName(author), ...file }));
  return { id, by, byId: nameOf(author?.id), text: joined([text, ...files.map(fileLine)]), files: held };
}

function fileLine({ name }: Pick<ShownFile, "name">): string {
  return `[file: ${name}]`;
}

function authorName(author: Fields): string {
  const { nick, global_name: global, username } = author;
  const user = { global_name: textOf(global) || null, username: textOf(username) || textOf(author.id) || "somebody" };
  return personName(user as Parameters<typeof personName>[0], { nick: textOf(nick) || null });
}

type DescribedFile = HeldFile & { about: string };

function ownFiles(message: Fields, embeds: readonly unknown[], holder: Pick<HeldFile, "channelId" | "messageId">) {
  const isVoice = (flagsOf(message) & MessageFlags.IsVoiceMessage) !== 0;
  const attached = listOf(message.attachments).map((file) => attachedFile(file, isVoice, holder));
  const known = new Set(attached.map(({ id }) => id));
  const shown = storedIn([embeds, message.components], 0).filter(({ id }) => !known.has(id) && known.add(id));
  return [...attached, ...shown.map((file) => ({ ...file, ...holder, about: "" }))];
}

function attachedFile(
  value: unknown,
  isVoice: boolean,
  holder: Pick<HeldFile, "channelId" | "messageId">,
): DescribedFile {
  const file = fieldsOf(value) ?? { filename: value };
  const { id, content_type: type, size, url, duration_secs: seconds, description, title } = file;
  const name = nameOf(file.filename) || nameOf(title) || "file";
  const link = typeof url === "string" && url !== "" ? { url } : { problem: "Discord sent no link to it." };
  const facts = [textOf(title), textOf(description)].filter((fact) => fact !== "" && !name.startsWith(fact));
  return {
    ...{ id: textOf(id), name, ...link, ...holder },
    ...(typeof type === "string" && type !== "" ? { mimeType: type } : {}),
    ...(typeof size === "number" && size >= 0 ? { bytes: size } : {}),
    ...(isVoice ? { voiceSeconds: typeof seconds === "number" ? seconds : 0 } : {}),
    about: facts.length === 0 ? "" : `[${name}: ${facts.join(", ")}]`,
  };
}

/** Files that embeds and components show. They have no other entry. */
function storedIn(value: unknown, depth: number): Pick<HeldFile, "id" | "name" | "url" | "mimeType">[] {
  if (Array.isArray(value)) return depth > 200 ? [] : value.flatMap((each) => storedIn(each, depth + 1));
  const fields = fieldsOf(value);
  if (fields === undefined || depth > 200) return [];
  const file = typeof fields.url === "string" ? storedFile(fields.url) : undefined;
  const type = fields.content_type;
  const known = typeof type === "string" && type !== "" ? { mimeType: type } : {};
  const own = file === undefined ? [] : [{ ...file, url: textOf(fields.url), ...known }];
  return [...own, ...Object.values(fields).flatMap((each) => storedIn(each, depth + 1))];
}
